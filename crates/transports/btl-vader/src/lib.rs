//! *vader*: the transport between the processes of a node, through shared memory.
//!
//! After the transport of the same name in Open MPI, as described for Cray XE/XK by Gutierrez, Venkata, Hjelm,
//! Shamis and Graham, "Design and implementation of Open MPI's intra- and inter-node transports for Cray
//! systems" (section IV), with other data structures.
//!
//! ```text
//!   payload          path                                            copies
//!   up to a slot     a slot of the pair's fastbox                    2, one or two cache lines moved
//!   longer           a slot, and data of the fastbox                 2
//!   longer still     a slot, and a bounce buffer of the sender                2
//!   without fastbox  the peer's receive queue, and a bounce buffer            2
//!   above eager      expose / get: process_vm_readv, or both sides   1
//!                    (through xpmem, where that is asked for and there)
//! ```
//!
//! A pair has no fastbox at first; after a few messages the sender claims one of the receiver's. The claim is
//! announced through the receive queue behind everything sent before, and everything after it goes through the
//! fastbox. So the messages from one peer arrive in the order in which they were sent: this transport promises
//! more than the contract asks.
//!
//! The mapping, the doorbells and the ways into other processes' memory are the [`Node`](node::Node)'s, on which this
//! transport stands.
//!
//! No helper thread, no signal handler; a forked child does not have the mapping.
//!
//! # Long messages, and room
//!
//! A message above 2 KiB takes a bounce buffer of the sender's pool, in which the receiver may send its answer
//! (`shm::bounce`). Above the eager limit a rendezvous begins: the receiver reads the sender's memory with
//! `process_vm_readv`, and the sender, when it is inside MPI, pushes other chunks of the same message (*cooperative
//! copy*, `joint_copy`).
//!
//! A process that was refused for want of room may sleep: the receiver rings it when it has given back a slot or a
//! bounce buffer.

mod arrivals;
mod attach;
mod joint_copy;
mod link;
mod params;
mod sending;
mod single_copy;
mod transport;
mod variables;

pub use params::{VaderParams, segment_bytes};
pub use transport::Vader;
pub use variables::VARIABLES;
