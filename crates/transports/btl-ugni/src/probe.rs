//! Asking whether peers on which this process depends are still there.
//!
//! A failed transaction shows that a peer is gone. But a process that waits for credits, for the fetch of memory that
//! it exposed, or for the end of an Eager GET that it offered, has none under way, nor has one that waits for what the layers
//! above send ([`btl::Btl::look_for_losses`]). So once in a while each such peer
//! is sent a PUT of no bytes, to its mailbox: it changes nothing there, and fails like any other when no NIC answers.
//! Where there is no mailbox, as where nodes share queues and before a connection is made, the peer is sent a datagram,
//! which its wildcard answers.

use crate::connections::{Connection, State};
use crate::transfer::{Purpose, Transfer};
use crate::transport::Ugni;
use btl::Peer;
use gni::{Clock, Gni, PostDescriptor, PostKind, Time};

/// Time between two probes of a peer.
const EVERY: Time = Time::from_millis(1000);

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// Probes the peers on which this process depends, if it is time for that.
    #[inline]
    pub(crate) fn probe_when_due(&mut self, now: Time) {
        if now >= self.next_probe {
            self.probe_all(now);
        }
    }

    /// Probes all peers with which there is a connection, and those that are awaited.
    pub(crate) fn probe_everyone(&mut self, awaited: &[Peer]) {
        let connected = |entry: &&mut Connection| entry.state == State::Connected;
        self.connections.list.iter_mut().filter(connected).for_each(|entry| entry.stalled = true);
        for &peer in awaited {
            // Without an endpoint there is another occasion.
            if let Some(connection) = self.connection_to(peer) {
                self.connections.get_mut(connection).stalled = true;
            }
        }
        let now = self.clock.now();
        self.probe_all(now);
    }

    #[cold]
    fn probe_all(&mut self, now: Time) {
        self.next_probe = now + EVERY;
        for connection in self.eager.depended_on() {
            self.connections.list[connection as usize].stalled = true;
        }
        for connection in 0..self.connections.list.len() as u32 {
            let entry = self.connections.get_mut(connection);
            let depends = core::mem::take(&mut entry.stalled)
                || entry.exposures > 0
                || entry.remote.all > 0
                || !entry.waiting.is_empty();
            // What is being connected has an exchange under way that fails; nodes whose queues are have none.
            let is_asked = matches!(entry.state, State::Connecting | State::Lost);
            if depends && !is_asked && !entry.probing {
                self.probe(connection);
            }
        }
    }

    fn probe(&mut self, connection: u32) {
        let entry = self.connections.get(connection);
        if entry.state == State::Idle || self.plan.msgq && !entry.boxed {
            let begun = self.post_empty_hello(connection).is_ok();
            self.connections.get_mut(connection).probing = begun;
            return;
        }
        let Some(mailbox) = self.connections.get(connection).peers_mailbox().copied() else { return };
        if !self.has_transfer_slot() {
            return;
        }
        let descriptor = PostDescriptor {
            remote_addr: mailbox.buffer + u64::from(mailbox.offset),
            remote_handle: mailbox.handle,
            src_cq: Some(self.queues.transfers),
            ..PostDescriptor::new(PostKind::FmaPut)
        };
        let transfer = Transfer { connection, descriptor, tries: 0, purpose: Purpose::Probe };
        // Without a slot at the NIC there is another occasion.
        let begun = self.begin_transfer(transfer).is_ok();
        self.connections.get_mut(connection).probing = begun;
    }

    /// Whether a probe is under way, whose end only turns show: no NIC rings for it.
    pub(crate) fn is_probing(&self) -> bool {
        self.connections.list.iter().any(|entry| entry.probing)
    }

    /// Notes that memory was exposed to a peer (1), or concealed (-1).
    pub(crate) fn count_exposure(&mut self, peer: Peer, change: i32) {
        if let Some(connection) = self.connections.of(peer) {
            let exposures = &mut self.connections.get_mut(connection).exposures;
            *exposures = exposures.saturating_add_signed(change);
        }
    }

    /// A probe has come to its end; one that failed for good means that the peer is gone.
    pub(crate) fn probed(&mut self, connection: u32, answered: bool) {
        self.connections.get_mut(connection).probing = false;
        if !answered {
            self.lose(connection);
        }
    }
}
