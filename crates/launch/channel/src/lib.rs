//! The control channel of a job: what mpiexec and its daemons send each other, and over what.
//!
//! ```text
//!   values ── wire ──► bytes ── link ──► frames, encrypted and signed, on one TCP connection
//!                                call    finds the address of a port at which its owner answers, and proves the job's secret
//! ```
//!
//! Messages themselves are those of `rte`.

pub mod call;
pub mod link;
mod waits;
pub mod wire;
