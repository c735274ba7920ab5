//! One endpoint.

use super::mailboxes::Mailboxes;
use crate::fabric::{Fabric, PeerIndex};
use gni::{Cq, InstId, PeAddr};

/// What a program sends to one peer through.
pub(super) struct Endpoint {
    pub(super) source: Option<Cq>,
    pub(super) bound: Option<Bound>,
    /// Word in this side's events; `None`: the peer's instance.
    pub(super) local_word: Option<u32>,
    /// Word in events at the peer; `None`: this NIC's instance.
    pub(super) remote_word: Option<u32>,
    pub(super) mailboxes: Option<Box<Mailboxes>>,
    /// Request slots in use: posts not collected, messages whose local entry was not taken.
    pub(super) requests: u32,
    pub(super) request_limit: u32,
}

/// An endpoint's peer.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) pe: PeAddr,
    pub(super) inst: InstId,
    pub(super) index: Option<PeerIndex>,
}

impl Endpoint {
    /// The word of events in this side's queues.
    pub(super) fn local_word(&self) -> u32 {
        self.local_word.or(self.bound.map(|bound| bound.inst.0)).unwrap_or_default()
    }

    /// The peer in the fabric's terms, looked up once.
    #[inline]
    pub(super) fn peer<F: Fabric>(&mut self, fabric: &mut F) -> Option<PeerIndex> {
        let bound = self.bound.as_mut()?;
        if bound.index.is_none() {
            bound.index = fabric.resolve(bound.pe, bound.inst);
        }
        bound.index
    }

    /// The word of events in the peer's queues.
    pub(super) fn remote_word(&self, own: InstId) -> u32 {
        self.remote_word.unwrap_or(own.0)
    }
}
