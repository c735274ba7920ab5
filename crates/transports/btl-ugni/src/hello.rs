//! The hello, content of a datagram: its sender, and the sender's mailbox.

use btl::Peer;
use gni::SmsgAttr;

/// The wildcard's id.
pub(crate) const WILDCARD: u64 = 0;
/// Set in the id of a directed datagram, beside its connection.
pub(crate) const DIRECTED: u64 = 1 << 63;
/// Set, too, where the datagram is a probe: a hello may be sent beside it.
pub(crate) const PROBE: u64 = 1 << 62;

/// The content of a directed datagram.
pub(crate) struct Hello {
    /// The sender's number in the job.
    pub(crate) peer: Peer,
    /// The sender's number for this connection: the word of events that are to be seen there.
    pub(crate) connection: u32,
    /// The sender's mailbox; kind `Invalid` in a wildcard.
    pub(crate) attr: SmsgAttr,
}

impl Hello {
    pub(crate) const BYTES: usize = 8 + SmsgAttr::WIRE;

    /// One that brings no mailbox.
    pub(crate) fn empty(peer: Peer) -> Hello {
        Hello { peer, connection: 0, attr: SmsgAttr::default() }
    }

    pub(crate) fn to_bytes(&self) -> [u8; Hello::BYTES] {
        let mut bytes = [0; Hello::BYTES];
        bytes[..4].copy_from_slice(&self.peer.0.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.connection.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.attr.to_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Hello> {
        let (peer, rest) = bytes.split_first_chunk()?;
        let (connection, rest) = rest.split_first_chunk()?;
        Some(Hello {
            peer: Peer(u32::from_ne_bytes(*peer)),
            connection: u32::from_ne_bytes(*connection),
            attr: SmsgAttr::from_bytes(rest)?,
        })
    }
}
