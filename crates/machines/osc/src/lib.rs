//! One-sided communication (MPI-5.0 chapter 12) without handles and without waiting.
//!
//! ```text
//!   epochs      what a process may do with a window right now; decides the error class of a wrong call
//!   control     the words of a window that all its processes share: locks, counters, a barrier
//!   locks       shared and exclusive locks of one target, and of all targets at once, over these words
//!   holders     which ranks of other nodes want or hold locks of this process
//!   operations  what ranks of other nodes were asked for, and what has become of it: for requests, flushes and losses
//!   exposure    post, start, complete, wait, and the barrier of a fence, over these words
//!   side        the data of one side of an operation: a buffer, a count and a datatype
//!   element     what the elements of an accumulate are, and which way makes them atomic
//!   accumulate  accumulates by atomic operations of the processor
//!   packed      accumulates on packed data under a lock, for elements that have no such operation
//!   ways        when elements that have such an operation are combined under that lock, too, because there are many
//!   regions     the memory that a process has attached to a dynamic window
//!   direct      put and get by the kernel, for memory that this process does not map
//!   network     which accesses the network makes of one get
//! ```
//!
//! Nothing here waits: a caller that cannot go on yet gets that answer and polls again, and the caller decides how to
//! spend the time between. Locks and counters are generic over one module's atomics ([`shm::sync`]), so that loom
//! runs them.
//!
//! The words are shared with other processes. A peer that breaks the rules can take locks that it does not have and
//! let others wait; no word is used as an index or as a length.

mod accumulate;
mod control;
#[cfg(not(loom))]
mod direct;
mod element;
mod epochs;
mod exposure;
mod holders;
mod locks;
#[cfg(not(loom))]
mod network;
mod operations;
mod packed;
mod params;
mod regions;
mod side;
mod ways;

pub use accumulate::{accumulate, accumulate_by_loops, compare_and_swap};
#[cfg(not(loom))]
pub use control::Control;
pub use control::{NOTICES, Shape, View};
#[cfg(not(loom))]
pub use direct::Direct;
pub use element::{Change, Combiner, Element};
pub use epochs::{Epochs, Passive};
pub use exposure::Exposure;
pub use holders::Holders;
pub use locks::{Acquire, Announced, Wish, holder, release};
#[cfg(not(loom))]
pub use network::{cut_read, is_one_read};
pub use operations::{NO_TOKEN, Operations, Parts};
pub use packed::{Locked, Waiting, combine, compare};
pub use params::OscParams;
pub use regions::Regions;
pub use side::Side;
pub use ways::{Announcement, Cost, LONG};
