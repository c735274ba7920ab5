//! What went by which transport.

use crate::Bml;

/// Payload that this process moved, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// To itself.
    pub to_self: u64,
    /// Sent through shared memory.
    pub sent: u64,
    /// Fetched from or stored into the memory of other processes of the node.
    pub copied: u64,
    /// Sent over Gemini in messages: through mailboxes, the node's shared queue, and buffers that the peer fetches.
    pub gemini_sent: u64,
    /// Fetched from or stored into other processes' memory over Gemini.
    pub gemini_moved: u64,
    /// Atomic operations on other processes' memory over Gemini.
    pub gemini_atomics: u64,
    /// Sent over Portals in frames.
    pub portals_sent: u64,
    /// Fetched from or stored into other processes' memory over Portals.
    pub portals_moved: u64,
    /// Frames sent over Portals again, since their target had no room.
    pub portals_again: u64,
    /// Sent over libfabric in messages.
    pub ofi_sent: u64,
    /// Fetched from or stored into other processes' memory over libfabric.
    pub ofi_moved: u64,
    /// Sent over TCP.
    pub tcp_sent: u64,
    /// Fetched from or stored into other processes' memory over TCP, by network of this host; all after the third in
    /// the last.
    pub tcp_moved: [u64; 4],
}

impl Bml {
    /// Payload moved so far, by transport.
    pub fn traffic(&self) -> Traffic {
        let (sent, copied) = self.vader.as_ref().map_or((0, 0), |vader| vader.traffic());
        let gemini = self.gemini.as_ref().map(|gemini| gemini.stats());
        let portals = self.portals.as_ref().map(|portals| *portals.stats()).unwrap_or_default();
        let ofi = self.ofi.as_ref().map(|ofi| *ofi.stats()).unwrap_or_default();
        Traffic {
            to_self: self.loopback.bytes_moved(),
            sent,
            copied,
            gemini_sent: gemini.map_or(0, |stats| stats.copied_bytes),
            gemini_moved: gemini.map_or(0, |stats| stats.direct_bytes),
            gemini_atomics: gemini.map_or(0, |stats| stats.atomics),
            portals_sent: portals.sent_bytes,
            portals_moved: portals.moved_bytes,
            portals_again: portals.retransmissions,
            ofi_sent: ofi.sent_bytes,
            ofi_moved: ofi.moved_bytes,
            tcp_moved: self.tcp.as_ref().map_or([0; 4], |tcp| tcp.bytes_moved()),
            tcp_sent: self.tcp.as_ref().map_or(0, |tcp| tcp.bytes_sent()),
        }
    }
}
