//! The verdict on a job that has failed: which rank failed first, how, and the three lines about it.
//!
//! ```text
//!   proxies, daemons, mpiexec ── Candidate ──► Inquest ── Finding ──► message, code
//!       (a Failure, and the Culprit)             which was the first     three lines, mpiexec's exit code
//! ```
//!
//! Each proxy holds an inquest over the ranks of its host, and mpiexec one over all hosts. In a job that goes on after
//! failures [`Accusations`] decide which of two that do not reach each other has to go.
//!
//! Nothing here ends a process, waits or sends: `rte` does.
#![forbid(unsafe_code)]

mod accusations;
mod ending;
mod failure;
mod first;
pub mod signal;
mod status;

pub use accusations::Accusations;
pub use ending::is_ending;
pub use failure::{Culprit, Failure, lost, message, ranks_in_words};
pub use first::{Candidate, Finding, Inquest};
pub use status::{Status, code_of_survivors};
