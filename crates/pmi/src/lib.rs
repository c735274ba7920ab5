//! How a rank reaches the launcher that started it, and what the two say to each other.
//!
//! ```text
//!   attach()
//!     ├─ ALHENA_PMI names our own mpiexec's socket   → native: one round trip          (native.rs)
//!     ├─ PMI_FD or PMI_PORT of another launcher      → PMI-1, shared memory by a       (standard.rs,
//!     │                                                neighbour over a Unix socket     handover.rs)
//!     ├─ signs of a launcher of several processes    → error: who was seen, what to run (launcher.rs)
//!     └─ nothing                                     → a job of one rank
//! ```
//!
//! The launcher's side (`crates/rte`) uses the same modules for the format of messages: [`wire`],
//! [`mapping`], [`welcome`], [`scm`]. This crate ends in the MPI library, so it needs nothing
//! but std, libc and `platform`, starts no thread and opens no network socket unless `PMI_PORT` asks for one.

mod abort;
mod affinity;
mod connection;
mod error;
mod handover;
mod job;
mod launcher;
pub mod mapping;
mod native;
pub mod scm;
mod standard;
pub mod told;
pub mod welcome;
pub mod wire;

pub use abort::Abort;
pub use error::Error;
pub use job::{Job, exit_status};
pub use launcher::ALLOW_SINGLETON;
pub use native::kvs_name;
pub use platform::memory_file::MemoryFile as Segment;
pub use standard::SegmentBytes;

/// Joins the job that this process was started for; a process that no launcher started is rank 0 of 1.
///
/// `segment_bytes` gives the size of the shared memory of a node with so many ranks. It is asked only under
/// launchers of others: our own mpiexec brings the memory along.
///
/// Call it once per process: it takes over the descriptor that the environment names.
pub fn attach(segment_bytes: SegmentBytes) -> Result<Job, Error> {
    if let Some(connection) = native::connection()? {
        return native::join(connection);
    }
    if let Some(contact) = standard::contact()? {
        return standard::join(contact, segment_bytes);
    }
    launcher::check_singleton()?;
    Job::singleton()
}

/// A random number from the system.
pub fn random() -> Result<u64, Error> {
    platform::random::number().map_err(|source| Error::Io { step: "getrandom", source })
}
