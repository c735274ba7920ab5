//! Files (MPI-5.0 chapter 14) without MPI objects: what is left when communicators, requests and handles are taken away.
//!
//! ```text
//!   files        handles, pointers, the ranks that take part, messages between ranks
//!      │
//!      ├─ View      which bytes of a file a process sees: a displacement and an endless row of items
//!      ├─ Access    moves bytes between memory and a file through a view, a block at a time
//!      ├─ plan      two-phase access: which process writes what, in which rounds
//!      ├─ batch     bytes of several views in one window, written together
//!      ├─ Stage     data that is taken over at once and written behind, from memory or a log on a local path
//!      ├─ Hints     what a program may state about its accesses, and what is in force
//!      └─ Storage   the driver: positional reads and writes, size, locks ──► Posix, by system calls
//! ```
//! Calls that may block need a proof that the thread holds nothing which others wait for (`platform::Blocking`).
//!
//! Nothing here flattens a type: a position of a view is found by a descent of its pack program (`datatype::Tiles`). All
//! that moves bytes goes through [`Storage`], so tests run it on a simulated file that is short, interrupts and refuses.
//!
//! # File systems of several hosts
//!
//! On Lustre each storage target has one aggregator, which accesses the target's stripes and alone takes its locks. The
//! hints `striping_unit` and `striping_factor` are asked for when a file is made, by the client's ioctl, and are read
//! from its attribute `lustre.lov`. No Lustre was at hand; tests have a file system that answers as its header has it.
//!
//! Hosts with caches of their own (NFS, SMB, 9P, FUSE, Ceph, AFS, by `statfs`): a process that has written waits for
//! the device at a sync and a close, and a sync ends with a lock that is given back at once, on which the host drops
//! what it caches. No such system was at hand; tests have one that answers as NFS does.
//!
//! An access whose view is one run is one system call from the program's memory. The position at a byte is found by a
//! binary search over descents of the pack program.
#![deny(unsafe_code)]

mod access;
mod batch;
mod error;
mod held;
mod hints;
mod log;
mod lustre;
mod params;
mod plan;
mod posix;
mod stage;
mod staging;
mod storage;
mod sync;
mod view;

pub use access::{Access, Direction, Memory, Tuning, read_each};
pub use batch::{Part, Scratch, is_sparse, pieces_of, span_of};
pub use error::class_of;
pub use hints::{Choice, Hints};
pub use log::Log;
pub use lustre::Stripes;
pub use params::IoParams;
pub use plan::{AccessPlan, Course, Cover, Extent, interleave};
pub use posix::{Calls, How, Kind, Posix};
pub use stage::{Counts, Piece, Refusal, Stage, Worked};
pub use staging::{Staging, Where};
pub use storage::{Moved, Sink, Storage, read_fully};
pub use view::View;
