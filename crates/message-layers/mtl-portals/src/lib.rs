//! A network that matches, over Portals: the NIC's match list is the list of posted receives.
//!
//! ```text
//!   index 32   posted receives ... ──▶ long ──▶ block ──▶ block ──▶ block ──▶ catch-all
//!                                      0 bytes  15 MiB    15 MiB    15 MiB    0 bytes: out of room
//!   index 33   one entry for each long message that has not been taken
//! ```
//!
//! A [`Device`] states what differs between the message layers that matched in a Portals NIC: Open MPI's (the picture
//! above) and three devices of MPICH, whose list is `posted receives ... | marker | buffers | long | catch-all`.
//!
//! # Protocols
//!
//! | payload | sender | complete |
//! |---|---|---|
//! | up to `copy_block_len` | a copy, put without acknowledgement | at once |
//! | up to `eager_limit` | a put from the user's memory | SEND_END |
//! | longer | an entry on index 33, and a put of the whole with acknowledgement | two of SEND_END, ACK, GET_END |
//!
//! A long message that meets its receive goes straight there and is acknowledged. One that does not is cut to nothing
//! by the entry *long*, which acknowledges nothing: its data has crossed the network for nothing, and crosses it again
//! when the receive comes and fetches it from index 33. Short ones lie in blocks until then.
//!
//! With [`Long::Rendezvous`] the put of a long message has no data: its receive fetches it, posted or not, and it is
//! complete at SEND_END and GET_END.
//!
//! # The race between a receive and its message
//!
//! A receive first searches what has arrived, then takes the events of unexpected messages, and then is posted by
//! `PtlMEMDPost`, which does nothing if the queue of unexpected messages has got another event. So no message slips
//! between the search and the post. Older devices insert an entry that accepts nothing and arm it by `PtlMDUpdate`
//! under the same test.
//!
//! # Bits
//!
//! The highest four of the match bits show whether a message is short or long; receives ignore them. The upper half of
//! `hdr_data` names a long message's entry on index 33. The lower half is data of the user, or the length where a
//! header goes first.
//!
//! # Running out
//!
//! A short message that finds all blocks full is lost, as in the original, which then ended the job. Here the network
//! gives up all peers and names the parameter to raise; [`PortalsMtl::must_end`] returns whether the process is to
//! end as it did then.
#![forbid(unsafe_code)]

mod arrivals;
mod blocks;
mod device;
mod events;
mod network;
mod params;
mod queues;
mod sends;

pub use device::{Device, Kept, List, Long, Parameters, Post};
pub use network::{Exhausted, PortalsMtl};
pub use params::{LongMessages, MpichDevice, MpichParams, MtlPortalsParams};
