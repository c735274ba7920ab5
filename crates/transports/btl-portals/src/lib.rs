//! The transport over Portals: matching stays in the message layer, the NIC only finds room.
//!
//! ```text
//!   index 30   block ──▶ block ──▶ block ──▶ reject              frames: the first block with room takes them
//!              10 MiB    10 MiB    10 MiB    0 bytes, cuts, acknowledges
//!   index 31   one entry for each exposed piece of memory ──▶ reject      gets and puts: messages, windows
//! ```
//!
//! # Frames
//!
//! A frame is one put with acknowledgement, from a buffer of the sender's pool, whose descriptor lasts as long as the
//! buffer. The first word of the header travels as match bits, so that the shortest frames fit into the packet of the
//! Portals header (12 bytes: one interrupt at the target instead of two).
//!
//! The NIC stores frames one behind the other. A block in which no longest frame would fit unlinks itself; when its last
//! frame has been taken it goes back to the end of the list.
//!
//! # Flow control by retry
//!
//! When all blocks are full, the reject entry takes a frame, cuts it to nothing, and acknowledges 0 bytes. The sender sees
//! that less was taken than it sent, and sends the same frame again. So nothing is lost and nothing needs credits; frames
//! may overtake each other, which the contract of transports allows.
//!
//! # Limits
//!
//! A block's descriptor takes at most as many frames as its share of the event queue has room for, so the queue never
//! overruns by itself. If it does all the same, frames are lost, and the transport gives up all peers.
#![deny(unsafe_code)]

mod blocks;
pub mod join;
mod memory;
mod params;
mod rdma;
mod remote;
mod slots;
mod transport;

pub use params::BtlPortalsParams;
pub use transport::{Portals, Stats};
