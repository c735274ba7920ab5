//! MPICH-1.2.6's device over SHMEM: a network that matches, as the contract `mtl` has it, whose matching is a list of
//! the library.
//!
//! ```text
//!   receiver's heap   ring of sender 0   │ slot │ slot │ ...        a ring for each sender: envelope, short payload
//!                     ring of sender 1   │ slot │ slot │ ...
//!                     ...
//!   sender's heap     credits of receiver 0, 1, ...                 a word each, which the receiver puts
//! ```
//! A message is two puts: the slot, and behind it the word that shows that the slot is filled. So a slot is never read
//! half.
//!
//! # Protocols
//!
//! | payload | on the wire | complete for the sender |
//! |---|---|---|
//! | up to a slot's, while there are credits | slot, word | at once |
//! | else | an offer; at the match the receiver opens a window on the user's memory and grants it; puts of `mtl_shmem_piece` there, two under way at a time, and a word that it is done | when they have left |
//!
//! # Flow control
//!
//! Two counts travel in a receiver's word of credits: slots that it has emptied, and short messages that it has
//! received. A sender fills a slot only if it is empty, and sends payload early only while less than `mtl_shmem_early`
//! short messages of its own wait at the receiver. So what a sender can make a receiver keep is bounded, and so is what
//! both take of the NIC: the eight descriptors and the queue of [`shmem::Room`], whatever is under way. Nothing runs
//! out.
//!
//! A window is open only between grant and end, both of which are the doing of processes that have matched; so the two
//! windows of a process never wait for a receive that may not come.
//!
//! # Order
//!
//! A sender's slots are read in the order in which it filled them, and messages are matched in that order.
//!
//! What another process has put is read once and checked: lengths, kinds, numbers of sends and windows.
//!
//! Source: Brightwell et al., the comparison of three MPIs on Red Storm, for the design (fixed descriptors, matching
//! and flow control in the library); the protocol's details are this crate's own.
#![deny(unsafe_code)]

mod arrivals;
mod lists;
mod network;
mod outbound;
mod params;
mod ring;
pub mod shmem;

pub use network::ShmemMtl;
pub use params::MtlShmemParams;
