//! Files (MPI-5.0 chapter 14) without MPI objects: what is left when communicators, requests and handles are taken away.
//!
//! ```text
//!   core::file   handles, pointers, who takes part, messages between ranks
//!      │
//!      ├─ View      which bytes of a file a process sees: a displacement and an endless row of items
//!      ├─ Access    moves bytes between memory and a file through a view, a block at a time
//!      ├─ plan      two-phase access: who writes what, in which rounds
//!      ├─ Hints     what a program may say about its accesses, and what is in force
//!      └─ Storage   the driver: positional reads and writes, size, locks ──► Posix, by system calls
//! ```
//!
//! Nothing here flattens a type: a position of a view is found by a descent of its pack program (`datatype::Tiles`). All
//! that moves bytes goes through [`Storage`], so tests run it on a simulated file that is short, interrupts and refuses.
#![deny(unsafe_code)]

mod access;
mod error;
mod hints;
mod plan;
mod posix;
mod storage;
mod view;

pub use access::{Access, Direction, Memory, Tuning, read_each, write_each};
pub use error::class_of;
pub use hints::{Choice, Hints};
pub use plan::{Cover, Extent, Plan, interleave};
pub use posix::{How, Kind, Posix};
pub use storage::{Moved, Storage, read_fully, write_fully};
pub use view::View;
