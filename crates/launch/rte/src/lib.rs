//! The run-time environment of a job on one node: starting ranks, wiring them up, forwarding what they
//! read and write, and ending them all. `mpiexec` is a command line around [`run`].
//!
//! ```text
//!   JobSpec ── prepare ──► Prepared ── supervisor: fork ──► proxy ── spawn ──► ranks
//!   (spec.rs)  programs,   (checked)   (mpiexec        event loop: PMI server (pmi::server), output
//!              placement,               itself)        (lines.rs, console.rs), deaths, time
//!              files
//! ```
//!
//! # Several hosts
//!
//! `mpiexec` starts one daemon on each host by a launcher (ssh by default) and one fixed command, `PREFIX/bin/mpiexec
//! -daemon` (`daemon`). The daemon looks for program, directory and files, calls back, and reports that it is ready.
//! The ranks start when all hosts are ready, so what one host lacks is one message, before anything runs. The daemon
//! then forks a proxy, the same as on one host, and the proxy keeps the connection: so each host is cleaned up by its
//! own proxy and daemon, whatever happens elsewhere. A proxy judges its own ranks and reports; mpiexec (`head`) prints
//! the first failure of all hosts and ends the rest (`inquest`). A proxy answers an inquest when it has read all that
//! its ranks sent and none of them is between the end of its connections and its own. Each proxy holds the key space
//! for its ranks; a barrier brings what is new to mpiexec once for each host, and to all hosts in one message.
//!
//! **Within a host** a proxy is the subreaper of its ranks. It ends the whole descendant tree when a rank, the proxy or
//! mpiexec dies; death is seen by pidfd.
//!
//! **Control is flat.** Each daemon is connected with mpiexec, and none passes on for others. So a connection is a
//! host: which host is dead, whose output waits and which has finished is known without asking a third one, and a host
//! that dies takes no other one along. 64 hosts cost mpiexec and what it starts 1.5 s of processor time
//! (docs/measurements/start.md). What grows is the table of addresses, which mpiexec sends to each host: 525 MB for
//! 1,024 hosts with 49,152 ranks. Jobs of that size need daemons that pass it on; `pmi::wireup` has the tree, and the
//! daemons do not use it.
//!
//! **Wire-up.** What Alhena's ranks put reaches each host as one table of records, one for each host, in which
//! addresses that ranks share are written once: some ten bytes a rank (`pmi::wireup`). The proxy writes it to a sealed
//! file in memory, which all its ranks get with the end of the fence; a look-up reads one record and sends nothing.
//! mpiexec runs `pmi::wireup` with all hosts as children of one root, and a test runs it over trees for 49,152 ranks.
//!
//! **Workers.** With `-listen` mpiexec starts no daemon: `alhena worker` calls by itself and gets the order over its
//! connection. The secret is in a file then, which mpiexec writes with mode 0600 and the user that starts workers hands
//! on.
//!
//! **Dead or only stopped** (`channel`). The kernel probes the connections of daemons each second, and the other kernel
//! answers, also for a process that is stopped. A host is dead that has acknowledged nothing for 4.2 s (`mpiexec
//! -host-silence`) although it was asked. Single probes get lost, and the kernel sends one a second only: so after the
//! first without answer each side sends four bytes that mean nothing, which the kernel repeats within fractions of a
//! second. The kernel's own limits (`TCP_USER_TIMEOUT`, the count of probes) are of no use: two lost packets ended a
//! connection at 1 % loss. Output and input are bounded by credit, 48 KiB for each host, which is less than a first
//! window. So a window is never closed for long, and a pager that does not read does not hold up the news that a rank
//! has died.

mod cgroup;
mod closed;
mod console;
mod control;
mod daemon;
mod deadlocks;
mod environment;
mod error;
mod far_failure;
mod foreign;
mod head;
mod host_name;
mod limits;
mod lines;
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
mod spawn;
mod spawned;
pub mod spec;
mod stdin;
mod summons;
mod supervisor;
pub mod tables;
mod task;
mod traces;
mod tree;

use channel::{call, link, wire};

pub use cgroup::Cgroup;
pub use daemon::{SEARCH, daemon, worker};
pub use error::Error;
pub use host_name::{BadHostName, HostName};
pub use limits::{BESIDES, FOR_EACH};
pub use mpir::is_debugged;
pub use spawned::{adopt, report_failure};
pub use supervisor::run;
pub use traces::of as stack_traces;
