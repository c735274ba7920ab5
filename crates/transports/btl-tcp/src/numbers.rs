//! The numbers of conversations: a peer, and above [`PEER_BITS`] bits the lane.
//!
//! ```text
//!   31    28 27                    0
//!   [ lane  | peer                 ]     lane 0 carries all messages ([`crate::lanes`])
//! ```

/// Bits of a peer's number.
const PEER_BITS: u32 = 28;
const PEER: u32 = (1 << PEER_BITS) - 1;

/// The number of a lane to a peer.
pub(crate) const fn lane_to(peer: u32, lane: u32) -> u32 {
    peer | lane << PEER_BITS
}

/// The peer of a conversation.
#[inline]
pub(crate) const fn peer_of(at: u32) -> u32 {
    at & PEER
}

/// The lane of a conversation.
#[inline]
pub(crate) const fn lane_of(at: u32) -> u32 {
    at >> PEER_BITS
}

/// Whether a conversation is not the first with its peer.
#[inline]
pub(crate) const fn is_lane(at: u32) -> bool {
    at > PEER
}
