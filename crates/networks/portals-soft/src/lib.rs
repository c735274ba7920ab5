//! A Portals NIC in software, faithful where a program can notice.
//!
//! ```text
//!      program ── portals::Portals ──┐
//!                                 SoftNic          one per process: match lists, descriptors, event rings,
//!                                 (engine)         thresholds, access table, faults on demand
//!                                    │ Fabric      headers with data, in order between two processes
//!                     ┌──────────────┴─────────────┐
//!                  InProc                         Wire
//!               NICs of one process            NICs of processes: over any transport of the `btl` contract,
//!               (tests, virtual time)          shared memory on a node, TCP between nodes
//! ```
//!
//! The engine holds the semantics and no clock, thread or global. Headers that arrive wait in the fabric until the
//! target's owner gives its NIC a turn; then the engine does with each what the interrupt handler of the generic mode
//! does on a SeaStar: it walks the match list, and the data goes to its place or nowhere.
//!
//! Between processes there is no second shared memory and no second socket: the crate `portals-wire` sends headers and
//! data as frames of a transport that the library has anyway.
//!
//! # What differs from the hardware
//!
//! * The target's turns do the matching, inside calls of its owner. A process that never calls its NIC accepts nothing.
//! * The network holds back a sender whose target gives no turns, as a full link does; a NIC that has more operations
//!   waiting for the network than [`NicConfig::operations`] refuses further ones with `NO_SPACE`.
#![forbid(unsafe_code)]

mod config;
mod engine;
mod fabric;
mod fault;
pub mod inproc;
mod params;

pub use chance::BadFault;
pub use config::{Mode, NicConfig, XT_LIMITS};
pub use engine::SoftNic;
pub use fabric::{Arrival, Data, End, Fabric, Header, Identity, Sent, Spot};
pub use fault::FaultPlan;
pub use params::PortalsParams;
