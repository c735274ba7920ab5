//! The transport over UDP: datagrams, which the network may lose, repeat, damage and reorder.
//!
//! It does not keep the contract's *Delivery* by itself: it stands below data reliability (`btl_dr`), which numbers frames, sends
//! lost ones again, and paces what leaves as the network bears. So one lost packet holds up no other frame, as it does
//! in a connection of TCP.
//!
//! ```text
//!   send_over ─► datagram: head, count of words, header, payload, tag ─► the socket's queue ─► sendmmsg, up to 32 at once
//!   socket ─► recvmmsg, up to 32 at once ─► opened (`connect::datagram`), or dropped and counted ─► arrival
//! ```
//!
//! * **Rails.** A process has a socket at each of its addresses. The networks that two processes have in common are the rails
//!   between them (`platform::interfaces::common_networks`), each a way of its own for what stands above.
//! * **A frame is a datagram.** Its longest payload follows from the smallest MTU in the job; longer messages go in
//!   fragments of the message layer, which are sent again one by one. Where a packet is too long all the same the network
//!   cuts it.
//! * **Strangers.** Every datagram is signed with the job's key, and encrypted where that is wished (`btl_udp_security`). What
//!   does not open is dropped; nothing answers it.
//! * **Addresses may change.** A peer whose signed datagram comes from a new address is reached there from then on. A process whose
//!   own address is gone opens a socket at the one that its interface has now.
//! * **Nothing shows an end.** There is no connection to break: that a process has ended the launcher reports.
#![deny(unsafe_code)]

mod card;
mod listening;
mod outgoing;
mod params;
mod port;
mod transport;

pub mod join;

pub use card::Card;
pub use listening::{Listening, SetupError};
pub use params::{Security, UdpParams};
pub use transport::Udp;
