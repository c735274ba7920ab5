//! The processors of this machine: which a process may use, and which of them share a core, a cache, a memory node, a
//! package. From the kernel's own description; nothing is kept.
#![forbid(unsafe_code)]

mod cpuset;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod topology;

pub use cpuset::CpuSet;
pub use topology::{Topology, Unit};
