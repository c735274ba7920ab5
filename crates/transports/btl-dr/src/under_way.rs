//! Gets and puts that are under way, and the questions about them that wait for room.

use std::collections::{BTreeMap, VecDeque};

use btl::{Limits, Peer, Way, Ways};
use copies::Table;

/// A header and its payload.
type Frame = (Vec<u64>, Vec<u8>);

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Gets {
    pub(crate) table: Table,
    /// Questions and answers, with their payload, that wait for room, by peer.
    pub(crate) waiting: BTreeMap<Peer, VecDeque<Frame>>,
    /// Gets that were made again.
    pub(crate) again: u64,
}

impl Gets {
    /// Whether a question or an answer for `peer` waits.
    pub(crate) fn owes(&self, peer: Peer) -> bool {
        self.waiting.contains_key(&peer)
    }

    /// Whether none waits.
    pub(crate) fn is_flushed(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The way to `peer` that gets and puts take.
pub(crate) fn direct<B: Ways>(below: &B, peer: Peer) -> Option<Way> {
    let has_any = |limits: &Limits| limits.get || limits.put;
    below.ways(peer).into_iter().find(|&way| has_any(below.limits_by(way, peer)))
}
