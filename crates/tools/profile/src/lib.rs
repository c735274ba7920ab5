//! The profiler: a tool over the wrappers that counts each rank's MPI calls by place and function.
//!
//! ```text
//!   a rank                                        mpiexec, after all ranks have ended
//!     Profiler (this file)                          holds the memory, whatever happened to the rank
//!       finds the row of the place and function     alhena profile reads it: tables::Snapshot
//!       adds count, time, bytes with plain stores
//!     tables: words of 64 bits in shared memory ──►
//! ```
//!
//! So a job that is killed, aborts or hangs leaves its profile up to the last call that ended, and names the call in which
//! it was. A call costs two readings of the clock and some twenty stores; where `MPI_THREAD_MULTIPLE` is in force, they are
//! atomic additions.

mod classes;
mod persistent;
mod profiler;
mod sites;
pub mod tables;

pub use profiler::PROFILER;
