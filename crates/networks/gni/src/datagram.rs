//! Datagrams: 128 bytes each way between two endpoints, to exchange what a connection needs.

use crate::limits::DATAGRAM_MAX;
use crate::{InstId, PeAddr};

/// Where an exchange stands (`gni_post_state_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum PostState {
    /// Posted; the peer has not been seen, or the last packet is still to be transmitted.
    Pending = 0,
    /// Both sides have each other's bytes.
    Completed = 1,
    /// The exchange failed.
    Error = 2,
    /// The peer did not answer within the retransmission limit.
    Timeout = 3,
    /// Cancelled on this side.
    Terminated = 4,
    /// The peer's datagram came first; nothing has been posted here for it yet.
    RemoteData = 5,
}

impl PostState {
    /// Whether the record will not change any more, so that a test collects it.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, PostState::Pending | PostState::RemoteData)
    }
}

/// An exchange as a test or probe shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Where it stands.
    pub state: PostState,
    /// The peer's node; for a wildcard known once it has matched.
    pub pe: PeAddr,
    /// The peer.
    pub inst: InstId,
    bytes: [u8; DATAGRAM_MAX],
    len: u8,
}

impl Datagram {
    /// A record of `state` with the peer's `bytes`, cut to what a datagram holds.
    pub fn new(state: PostState, pe: PeAddr, inst: InstId, bytes: &[u8]) -> Datagram {
        let len = bytes.len().min(DATAGRAM_MAX);
        let mut copy = [0; DATAGRAM_MAX];
        copy[..len].copy_from_slice(&bytes[..len]);
        Datagram { state, pe, inst, bytes: copy, len: len as u8 }
    }

    /// The peer's bytes; empty unless the state is `Completed`.
    pub fn data(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
