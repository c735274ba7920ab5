//! How a rank reaches the launcher that started it, and what the two send to each other.
//!
//! ```text
//!   attach()
//!     ├─ ALHENA_PMI names our own mpiexec's          → native: one round trip          (hello.rs, native.rs, socket.rs)
//!     │  connection, and its proxy's socket
//!     ├─ PMI_FD or PMI_PORT of another launcher      → PMI-1                           (standard.rs, pmi1.rs)
//!     ├─ PMIX_* of another launcher                  → its library, by dlopen          (pmix.rs, library.rs)
//!     ├─ SLURM_STEP_* alone                          → rank 0 keeps the key space      (slurm.rs, star.rs, munge.rs)
//!     ├─ signs of a launcher of several processes    → error: what was seen, what to run (launcher.rs)
//!     └─ nothing                                     → a job of one rank
//! ```
//!
//! Under launchers of others the ranks of a node get their shared memory from a neighbour over a Unix socket
//! ([`handover`]), and give it what they put, so that the launcher carries one key for each node ([`foreign`]).
//!
//! The launcher's side (`crates/launch/rte`) uses the same modules for the format of messages, and the server: [`wire`],
//! [`mapping`], [`protocol`], [`scm`], [`server`], [`socket`], [`token`], and [`wireup`]. This crate ends in the MPI library, so it
//! needs nothing but std, libc, `platform`, `connect` and `chance`. It starts a thread, and opens network sockets, only where the
//! launcher makes that necessary.
//!
//! # Launchers of others
//!
//! A launcher that is not Alhena's is asked by what it offers, in the order above; PMI-1 is also Slurm's `pmi2` and
//! Flux's. PMIx is asked after PMI-1, since its library starts a thread and does not survive `fork`. Each of them is a
//! key space with a fence (`space::Space`); all else is the same. Every fence brings all keys to all nodes, so there is
//! one record for each node, and a look-up fetches the record of a node once. Where the launcher has no key space, a
//! thread of rank 0 keeps it, with the server that mpiexec's proxies have, too ([`star`]). Then no process watches the
//! ranks: a connection that ends before its rank has finalized ends rank 0, and with it all others. The node of each
//! rank is taken only from what all ranks see alike: Slurm's PMIx gives a rank the numbers of its own node alone.

mod abort;
mod affinity;
mod connection;
mod error;
mod failed;
mod foreign;
mod handover;
mod hello;
mod job;
mod join;
pub mod launch;
mod launcher;
mod library;
pub mod lost;
pub mod mapping;
mod munge;
mod native;
mod pmi1;
mod pmix;
pub mod protocol;
mod random;
pub mod scm;
pub mod server;
mod slurm;
pub mod socket;
mod space;
mod standard;
mod star;
pub mod start_info;
mod text;
pub mod token;
pub mod wire;
pub mod wireup;

pub use abort::{Abort, exit_status};
pub use error::Error;
pub use failed::Failed;
pub use job::{Fence, Job};
pub use join::SegmentBytes;
pub use native::kvs_name;
pub use platform::memory_file::MemoryFile as Segment;
pub use random::random;
use space::Space;

/// Joins the job that this process was started for; a process that no launcher started is rank 0 of 1.
///
/// `segment_bytes` gives the size of the shared memory of a node with so many ranks. It is asked only under
/// launchers of others: our own mpiexec brings the memory along.
///
/// Call it once per process: it takes over the descriptor that the environment names.
pub fn attach(segment_bytes: SegmentBytes) -> Result<Job, Error> {
    if let Some(job) = hello::attach()? {
        return Ok(job);
    }
    if let Some(contact) = standard::contact()? {
        let (server, place) = standard::meet(contact)?;
        return join::join(Space::Pmi(server), place, segment_bytes);
    }
    if let Some(client) = pmix::contact()? {
        let place = pmix::place(&client)?;
        return join::join(Space::Pmix(Box::new(client)), place, segment_bytes);
    }
    if let Some(step) = slurm::step().filter(|_| !launcher::may_be_alone()) {
        let (star, place) = star::meet(&step)?;
        return join::join(Space::Star(star), place, segment_bytes);
    }
    launcher::check_singleton()?;
    launcher::note_lost_environment();
    Job::singleton()
}
