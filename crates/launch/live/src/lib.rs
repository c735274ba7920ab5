//! Running jobs of a user on this host: how tools find them, and how they get to what the ranks show (`observe`).
//!
//! ```text
//!   $XDG_RUNTIME_DIR/alhena/4711        a socket; 4711: the process id of mpiexec, or of its daemon on another host
//!     alhena jobs, top, queues ── connect ──► proxy: is it a process of the same user? (by the kernel's word)
//!                              ◄── one message with descriptors: the description of the job, the observation memory
//!     reads the memory as long as it likes; asks the ranks there; the proxy has no more part in it
//!                                ── question ► proxy ─► mpiexec ─► the proxies of the other hosts, each of which runs the tool's own
//!                                                   command for its ranks: one page of each host comes back (`Question`, `Answer`)
//!                                ── end ────► proxy: no tool is left: takes what was asked of the ranks back
//! ```
//! # Contract
//!
//! - The directory and the sockets belong to the user alone; both sides ask the kernel who is at the other end.
//! - A job is there if its socket answers. One whose proxy was killed leaves a file behind, which the next tool removes.
//! - A description is text that is read as such; nothing in it is believed to be more.
//! - The proxy never waits for a tool: what does not fit into the socket at once is not sent.
#![forbid(unsafe_code)]

pub mod call_site;
mod client;
mod description;
mod directory;
mod question;
mod server;

pub use client::{Asked, Connection, jobs};
pub use description::{Description, RankOf, plain};
pub use question::{Answer, Question};
pub use server::{Listener, answer, send};
