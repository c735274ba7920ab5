//! Processes of other jobs become peers, part, and cease to be peers.
//!
//! ```text
//!   this process                                                    the peer
//!     parts: nothing is in common any more ── apart (meetings) ──►   its end is no loss here, unless the peer
//!                                                                   has had more meetings by then
//!     meets it again: the same peer, the same connection
//!     the peer's process ends ─► no loss while apart; the number is free
//! ```
//! **A peer is one until its process ends.** Each side finds out by itself that nothing is in common any more, and other
//! threads may let the same two processes meet at that moment. So parting changes nothing that the two sides must see alike:
//! neither the number, nor the secret, nor the connection, nor what the message layer counts. Where nothing was ever sent,
//! there is no such thing, and the number is free at once.

use crate::conversation::Conversation;
use crate::conversations::Conversations;
use crate::foreign::Acquaintance;
use crate::frame::Control;
use crate::network::Contact;
use crate::numbers::peer_of;
use crate::pair::State;
use crate::transport::Tcp;
use crate::{Card, Foreign, JobProof, Listening, SetupError, TcpParams};
use btl::{Event, Peer};

impl Tcp {
    /// A transport of process `me`, one of `peers` that are all reached by other ways: for processes that it meets later.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn for_strangers(
        me: Peer,
        peers: u32,
        job: JobProof,
        params: &TcpParams,
        report: Option<fn(&str)>,
    ) -> Result<Tcp, SetupError> {
        let contacts = vec![None; peers as usize];
        Ok(Listening::new(params)?.open_to(me, job, contacts, params, report))
    }

    /// What others must know to call this process.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// A process of another job is peer `peer` from now on: the next one, or one that was forgotten.
    pub fn meet(&mut self, peer: Peer, card: Card, foreign: Foreign) {
        let place = peer.0 as usize;
        if place >= self.network.contacts.len() {
            self.network.contacts.resize(place + 1, None);
        }
        self.network.foreigners.add(&foreign, peer.0);
        let acquaintance = Acquaintance { foreign, meetings: 1, is_apart: false };
        self.network.contacts[place] = Some(Contact { card, acquaintance: Some(acquaintance) });
    }

    /// The groups of this process and of `peer`, a process of another job that it knows, have met once more.
    pub fn meet_again(&mut self, peer: Peer) {
        let was_no_loss = self.is_no_loss(peer.0);
        let Some(acquaintance) = self.network.acquaintance_mut(peer.0) else { return };
        acquaintance.meetings += 1;
        acquaintance.is_apart = false;
        let is_lost = |conversation: &Conversation| conversation.loss.is_some();
        if was_no_loss && self.peers.get(peer.0).is_some_and(is_lost) {
            self.events.push_back(Event::PeerLost(peer));
        }
    }

    /// Parts from a process of another job: neither side has anything to send to the other any more, and its end is no loss.
    /// Once its process has ended, the number is free ([`Tcp::next_gone`]).
    pub fn part_from(&mut self, peer: Peer) {
        let at = peer.0;
        let Some(acquaintance) = self.network.acquaintance_mut(at) else { return };
        if core::mem::replace(&mut acquaintance.is_apart, true) {
            return;
        }
        let meetings = acquaintance.meetings;
        let Some(conversation) = &mut self.peers[at] else { return self.is_gone(at) };
        match conversation.pair.state() {
            State::Lost => self.is_gone(at),
            _ if conversation.is_untouched() => self.with_pair(at, |pair, network, _| pair.abandon(network)),
            State::Open(_) if conversation.closing.is_none() => {
                conversation.output.add_control(Control::Apart { meetings });
                self.flush(at);
            }
            _ if !conversation.output.is_empty() => {
                conversation.output.add_control(Control::Apart { meetings });
            }
            // No connection whose end could be taken for a loss.
            _ => {}
        }
    }

    /// Whether this process has parted from a process of another job, and has not met it since.
    pub fn is_apart(&self, peer: Peer) -> bool {
        self.network.is_apart(peer.0)
    }

    /// Whether the end of a peer's process is no loss: this process has parted from it, or has met it no more since the peer has.
    pub(crate) fn is_no_loss(&self, peer: u32) -> bool {
        let Some(acquaintance) = self.network.acquaintance(peer) else { return false };
        let parted_at = self.peers.get(peer).and_then(|conversation| conversation.peer_parted_at);
        acquaintance.is_apart || parted_at.is_some_and(|meetings| meetings >= acquaintance.meetings)
    }

    /// A peer from which this process has parted is lost, or was never talked to.
    pub(crate) fn is_gone(&mut self, peer: u32) {
        let Some(acquaintance) = self.network.acquaintance(peer) else { return };
        self.network.foreigners.remove(&acquaintance.foreign.clone());
        self.network.contacts[peer as usize] = None;
        self.gone.push(peer);
    }

    /// A peer that is gone for good: its number is free. What was kept of it goes now, when nothing is under way.
    pub fn next_gone(&mut self) -> Option<Peer> {
        let is_out = |peer: u32| self.lent.is_some_and(|(at, _)| peer_of(at) == peer);
        let place = self.gone.iter().position(|&peer| !is_out(peer))?;
        let peer = self.gone.swap_remove(place);
        self.events.retain(|event| *event != Event::PeerLost(Peer(peer)));
        for at in Conversations::all_with(peer) {
            self.forget(at);
        }
        Some(Peer(peer))
    }

    fn forget(&mut self, at: u32) {
        if self.peers[at].is_some() {
            *self.peers.slot(at) = None;
        }
        self.network.lane_places.remove(&at);
        self.unsettled.retain(|&other| other != at);
        self.ready.retain(|&other| other != at);
        self.watch.forget(at);
        if self.recent == Some(at) {
            self.recent = None;
        }
    }
}
