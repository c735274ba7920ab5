//! The run-time environment of a job on one node: starting ranks, wiring them up, forwarding what they
//! read and write, and ending them all. `mpiexec` is a command line around [`run`].
//!
//! ```text
//!   JobSpec ── prepare ──► Prepared ── supervisor: fork ──► proxy ── spawn ──► ranks
//!   (spec.rs)  programs,   (checked)   (mpiexec        event loop: PMI server (pmi::server), output
//!              placement,               itself)        (lines.rs, console.rs), deaths, time
//!              files
//! ```

pub mod binding;
#[cfg(test)]
mod binding_tests;
mod call;
mod cgroup;
mod closed;
mod console;
mod control;
mod daemon;
mod elf;
mod environment;
mod error;
mod failure;
mod foreign;
mod head;
mod host_name;
mod inquest;
mod limits;
mod lines;
mod link;
mod look;
mod messages;
mod outlet;
mod output_file;
mod patience;
mod pattern;
mod poller;
mod prepare;
mod process;
mod proxy;
mod pty;
mod resolve;
mod signals;
mod slots;
mod spawn;
pub mod spec;
mod status;
mod stdin;
mod summons;
mod supervisor;
mod traces;
mod tree;
mod wire;

pub use cgroup::Cgroup;
pub use daemon::{SEARCH, daemon, worker};
pub use error::Error;
pub use hardware::{CpuSet, Unit};
pub use host_name::{BadHostName, HostName};
pub use limits::{BESIDES, FOR_EACH};
pub use slots::Slots;
pub use supervisor::run;
