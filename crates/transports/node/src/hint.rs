//! Scheduling hints: whose turn comes next among processes that share processors and wait for messages, see
//! [`shm::hint`].

use btl::Peer;
use shm::hint::{Waiting, is_next};

use crate::Node;

impl Node {
    /// This process waits for a message of `peer`. Whether it had better keep polling for a while than yield; not if
    /// `peer` is no other process of this node.
    pub fn is_next_after(&self, peer: Peer) -> bool {
        let Some(awaited) = self.place_of(peer).filter(|&place| place != self.me) else { return false };
        if let Some(own) = self.waiting(self.me) {
            own.wait_on(platform::processor::current(), awaited);
        }
        is_next(self.me, awaited, self.members.len() as u32, |place| self.waiting(place))
    }

    /// This process goes on after it waited.
    pub fn went_on(&self) {
        if let Some(first) = self.waiting(0) {
            first.tell_latest(self.me);
        }
    }

    /// What the process at a place on the node states of its waiting.
    fn waiting(&self, place: u32) -> Option<&'static Waiting> {
        ((place as usize) < self.members.len()).then(|| self.segment.doorbell(place as usize).waiting())
    }
}
