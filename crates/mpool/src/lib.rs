//! Pooled memory: large blocks on huge pages, each registered once with every transport that wants it registered, and
//! given out in parts. What `MPI_Alloc_mem` hands out where a transport registers memory.
//!
//! ```text
//!   block (a multiple of 2 MiB, on huge pages, one registration)
//!   ├─ part ─┬─ free ───┬─ part ────┬─ free ─────────────┤
//!            └ first fit, neighbours joined when given back
//! ```
//!
//! A registration of a whole block costs one memory descriptor and, of a NIC's relocation table with pages of 2 MiB,
//! one entry per huge page, however many parts there are. The pool keeps its promise to the registrar by not
//! unmapping a block before it is forgotten.

mod block;
mod free;
mod pool;

pub use block::HugePages;
pub use free::FreeList;
pub use pool::{Keep, Pool, Stats};
