//! Peers that this process awaits and has no connection with: only that would show their end.

use std::time::Instant;

use crate::transport::Tcp;
use btl::Peer;

impl Tcp {
    /// Calls those of `awaited` that it has no connection with, as far as no other connection must yield for that.
    pub(crate) fn call_awaited(&mut self, awaited: &[Peer]) {
        for &Peer(at) in awaited {
            if self.network.used() >= self.network.most {
                return;
            }
            // Others are reached by another transport, or not at all any more.
            if self.network.contact(at).is_none() || self.network.is_apart(at) {
                continue;
            }
            let conversation = self.conversation(at);
            if conversation.loss.is_none() && conversation.closing.is_none() {
                self.with_pair(at, |pair, network, _| pair.want(Instant::now(), network));
            }
        }
    }

    /// The process of a peer has ended. A connection that stands shows it by itself, after what came over it.
    pub(crate) fn note_end(&mut self, at: u32) {
        if self.network.contact(at).is_none() {
            return;
        }
        let conversation = self.conversation(at);
        if conversation.loss.is_none() && !conversation.pair.is_known_to_peer() {
            self.with_pair(at, |pair, network, _| pair.ended(network));
        }
        self.end_lost_rails(at);
    }
}
