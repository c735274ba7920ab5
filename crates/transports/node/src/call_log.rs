//! The call log: what each process called last, kept in the segment and read only by those that wait too long.

use btl::Peer;
use shm::record;

use crate::{Node, ring};

pub use shm::record::WORDS as CALL_WORDS;

impl Node {
    /// Logs what this process calls, under a key that the peers of the call know.
    #[inline(always)]
    pub fn log_call(&self, key: u64, words: [u64; CALL_WORDS]) {
        self.segment.records(self.me as usize)[slot(key)].write(key, words);
    }

    /// What `peer` logged under that key, if that is not too long ago; `None` also if it is not of this node.
    pub fn logged_call(&self, peer: Peer, key: u64) -> Option<[u64; CALL_WORDS]> {
        self.segment.records(self.place_of(peer)? as usize)[slot(key)].read(key)
    }

    /// Drops those of this process's calls whose keys `is_past` names.
    pub fn forget_calls(&self, is_past: impl Fn(u64) -> bool) {
        self.segment.records(self.me as usize).iter().for_each(|record| record.forget(&is_past));
    }

    /// Has `peer` of this node read the call log, and wakes it if it sleeps.
    pub fn alert(&self, peer: Peer) {
        self.segment.alerts(self.places[peer.0 as usize] as usize).add();
        ring(self.doorbell_of(peer));
    }

    /// How often this process was alerted.
    pub fn alerts(&self) -> u32 {
        self.segment.alerts(self.me as usize).count()
    }
}

/// Where calls of a key are; those of consecutive keys do not take each other's place.
fn slot(key: u64) -> usize {
    (key ^ key >> 32) as usize % record::KEPT
}
