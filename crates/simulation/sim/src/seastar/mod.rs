//! Virtual ranks on Red Storm and on the XT4: the message layers over Portals, unchanged, on virtual time.
//!
//! ```text
//!   Program                    what a rank does: a ping-pong, a stream, a skeleton of an application
//!     └─ Rank                  its message layer, memory and clock
//!          pml_cm, mtl_portals ┐
//!          mtl_shmem, shmem    ├ the library's own code
//!          pml_ob1, btl_portals┘
//!     └─ portals_timed         the NIC and the network
//!   Cluster                    all ranks of a job; runs the one whose moment comes first
//! ```
//!
//! A rank's clock is advanced by the calls of its NIC, by interrupts ([`portals_timed::Costs`]) and by its own code
//! ([`Software`]): a time for each send and each receive, and copies. One rank runs on a node, and of an application as many
//! as [`Machine::cores`] says.
//!
//! [`paper`] and its file say which costs are fitted to which of the papers' points; all other figures are predictions.

pub mod applications;
mod cluster;
pub mod experiments;
mod fitted;
pub mod machine;
mod programs;
mod rank;
mod raw_pair;
mod stack;
mod system;

pub use cluster::{Cluster, Program, Step};
pub use fitted::paper;
pub use machine::Machine;
pub use programs::Mode;
pub use rank::Rank;
pub use system::{Software, System};
