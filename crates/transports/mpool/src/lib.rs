//! Pooled memory: large blocks, each made (and, where a transport wants that, registered) once, and given out in parts.
//! What `MPI_Alloc_mem` hands out.
//!
//! ```text
//!   block (what its source has made)
//!   ├─ part ─┬─ free ───┬─ part ────┬─ free ─────────────┤
//!            └ best fit, neighbours joined when given back
//! ```
//!
//! A registration of a whole block costs one memory descriptor and, of a NIC's relocation table with pages of 2 MiB,
//! one entry per huge page, however many parts there are; a block that processes share costs one descriptor of a file.
//! The pool gives a block back to its source before the memory goes.

mod block;
mod free;
mod pool;

pub use block::{HUGE_PAGE, HugePages, PrivateBlock};
pub use free::FreeList;
pub use pool::{Pool, Source, Stats};
