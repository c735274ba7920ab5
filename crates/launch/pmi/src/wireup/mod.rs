//! How the processes of a job learn of each other: what each of them puts reaches every node once, and is read there, from
//! memory of the node, when it is needed.
//!
//! ```text
//!   ranks of a node ── put ──► Record ──┐                         one record for each node, some bytes a rank
//!                                       ├── Gather, up a tree ──► all records at the root
//!   ranks of a node ◄─ get ─── Table ◄──┴── down the same tree    the same bytes on every node
//! ```
//!
//! A tree of fan-out k over n nodes takes 2 log_k n rounds. A node sends one message up and at most k down.
//!
//! No sockets, clocks and threads: mpiexec, its daemons and the library move the bytes; tests move those of jobs of any
//! size. Bytes of others are checked: none make a look-up panic.

mod gather;
pub(crate) mod number;
mod record;
mod table;

pub use gather::{Gather, TreePlace};
pub use record::{Record, find};
pub use table::{HEAD, WireupTable, build};
