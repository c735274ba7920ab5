//! The SeaStar network on virtual time: NICs of one process, a mesh between them, and what everything costs.
//!
//! ```text
//!        program ── portals::Portals ── TimedNic        processor time of each call, on the process's own clock
//!                                          │
//!                               portals_soft::SoftNic   the semantics, as everywhere else
//!                                          │
//!                                        Timed          when a header is there, when its data is, and the interrupts
//! ```
//! Nothing here waits. A driver gives each process turns, and when none of them gets on sets the clock of the one that has
//! something to do next to that moment ([`Network::next_wake`], [`Network::idle_until`]).
//!
//! # What is modelled, and what not
//!
//! * A header takes a fixed latency and one hop latency per link. Data holds the sender's and the target's port for its
//!   length divided by their rate. Links in between are not held: two ports are the narrower place unless routes cross.
//! * In interrupt mode each header interrupts the target's processor, and data of more than 12 bytes once more when it is
//!   there. Each entry of a match list that is looked at costs.
//! * The sender's processor gives the NIC one command for each run of memory, on Linux one for each page of it.
//! * Not modelled: other traffic, operating system noise, caches.
#![forbid(unsafe_code)]

mod costs;
mod fabric;
mod mesh;
mod nic;

pub use costs::{Costs, Kernel};
pub use fabric::{Network, Timed};
pub use mesh::Mesh;
pub use nic::TimedNic;

/// A moment or a duration, in picoseconds.
pub type Picos = u64;
