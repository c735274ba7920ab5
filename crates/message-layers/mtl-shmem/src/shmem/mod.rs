//! Symmetric memory: what a process has at a place, all others have at the same place, and each may read and write it
//! there.
//!
//! ```text
//!                 process 0                      process 1
//!   heap          ┌────────┬──────┐              ┌────────┬──────┐        offsets are equal
//!                 │   a    │  b   │ ── put ───▶  │   a    │  b   │        since all allocate alike
//!                 └────────┴──────┘              └────────┴──────┘
//!   statics       globals and statics of the program: equal offsets, wherever the loader put it
//!   windows       memory of a process's own for a while, whose place the others learn
//! ```
//!
//! This is the part of SHMEM that MPICH-1.2.6 stood on at Red Storm: put, get, swap, waiting for a word to change. A
//! room uses **eight memory descriptors and one event queue** of its NIC, which are made when it is set up and stay as
//! long as it does. So what it takes of the NIC does not depend on what is under way.
//!
//! | descriptor | for |
//! |---|---|
//! | heap, statics | what others put and get there |
//! | window 0, window 1 | the same, of memory that changes (`PtlMDUpdate`) |
//! | all memory, twice | what this process puts, and what it gets; no operation of others reaches them |
//! | old word, new word | swaps |
//!
//! # Symmetry under address randomisation
//!
//! Catamount had statics at identical addresses. Elsewhere a position-independent program lies at another address in
//! each process. Its writable segments keep their order and lengths, so an [`Address`] counts from their start. All
//! processes must run the same file.
//!
//! # Order and completion
//!
//! Operations of one process on another take effect in the order in which they were begun: a word that is put behind
//! data is seen after the data. [`Room::next_end`] reports an operation whose own memory is free; [`Room::is_quiet`]
//! returns whether all puts are where they belong.
//!
//! # Who owns which memory when
//!
//! The memory of [`Room::put`] and [`Room::get`] belongs to the room from the call, if that succeeds, until its end is
//! reported. The memory of a window belongs to it until [`Room::close_window`] succeeds.
//!
//! Nothing blocks but [`Room::wait_until`], which calls its caller between two looks. A room needs turns:
//! [`Room::progress`].
//!
//! Sources: Cray's SHMEM technical note (SG-2516) for the calls; Brightwell et al. on Red Storm for what its MPI used
//! of them.

mod address;
mod heap;
mod room;
mod waiting;

pub use address::{Address, Destination, Region, statics};
pub use heap::{Heap, HeapFull};
pub use room::{DESCRIPTORS, End, Pe, QUEUES, Room, Shape, WINDOWS};
pub use waiting::Compare;
