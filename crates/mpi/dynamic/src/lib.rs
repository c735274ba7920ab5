//! Processes that are started, meet and part while a program runs (MPI-5.0 chapter 11): spawning, ports, names.
//!
//! ```text
//!   MPI_Comm_spawn ──► mpiexec starts a job ──► its MPI_Init connects ──┐
//!   MPI_Comm_accept    a port's listener ◄──── MPI_Comm_connect         ├─► two leaders talk (talk)
//!   MPI_Comm_join      the program's socket                             │    │ what they have agreed on is shared
//!   ─────────────────────────────────────────────────────────────────────┘    ▼
//!     the groups meet (communicators::acquaint) ──► their inter-communicator (communicators::between)
//! ```
//!
//! * **One way to meet.** Spawn, accept, connect and join differ in how two leaders come to a stream. What follows is the
//!   same: each gives the other its group, with how each process is reached, and one gives the key by which they know each
//!   other.
//! * **A leader talks on a thread of the library** ([`meeting::apart`]), so that no lock is held: any number of threads may
//!   accept, at one port or many, while others communicate.
//! * **Errors of a leader reach its group** by the same broadcast as success; so no process waits for ever.
//! * **A port name is a capability**: address and a random token, which is the proof that `connect` asks for.
//! * **A spawned job is a mpiexec of its own**, beside the proxy of the job that has asked for it (`pmi::launch`). What
//!   exists for it ends with it.
//! * **Connected jobs end together.** Each sees the loss of the other's processes; and a spawned job ends with the process
//!   that has asked for it, unless `MPI_Comm_disconnect` has parted them before.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod call;
mod dial;
mod launch;
mod meeting;
mod names;
mod order;
mod parent;
mod parting;
mod port;
mod ports;
mod spawn;
mod table;
mod talk;

pub use call::{accept, connect, join};
pub use names::{lookup_name, publish_name, unpublish_name};
pub use parent::{get_parent, join_parent};
pub use parting::{disconnect, finalize};
pub use ports::{close_port, open_port};
pub use spawn::{spawn, spawn_multiple};
