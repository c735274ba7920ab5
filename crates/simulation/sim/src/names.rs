//! How a rank's message layer calls its peers.
//!
//! The table of peers of a real process has a place for each rank of its job. Tens of thousands of such tables in one
//! process would be terabytes, so a virtual rank numbers its peers in the order in which it meets them. The message layer
//! does not read anything into these numbers.

use btl::Peer;
use std::collections::BTreeMap;

/// The peers of one rank.
#[derive(Default)]
pub(crate) struct Names {
    ranks: Vec<u32>,
    known: BTreeMap<u32, u32>,
}

impl Names {
    /// The peer that `rank` is, a new one if need be.
    pub(crate) fn of(&mut self, rank: u32) -> Peer {
        let next = self.ranks.len() as u32;
        let name = *self.known.entry(rank).or_insert(next);
        if name == next {
            self.ranks.push(rank);
        }
        Peer(name)
    }

    /// The rank that a peer is.
    pub(crate) fn rank(&self, peer: Peer) -> Peer {
        Peer(self.ranks[peer.0 as usize])
    }
}
