//! Processes of other jobs become peers, and cease to be.

use crate::conversations::Conversations;
use crate::numbers::peer_of;
use crate::pair::State;
use crate::transport::Tcp;
use crate::{Bridge, Card, Contact, JobProof, Listening, SetupError, TcpParams};
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
    pub fn meet(&mut self, peer: Peer, card: Card, bridge: Bridge, number: u32) {
        let place = peer.0 as usize;
        if place >= self.network.contacts.len() {
            self.network.contacts.resize(place + 1, None);
        }
        self.network.bridges.add(bridge, number, peer.0);
        self.network.contacts[place] = Some(Contact { card, bridge: Some((bridge, number)) });
    }

    /// Parts from a process of another job: neither side has anything to send to the other any more. What still comes is
    /// dropped, its end is no loss, and the connection is closed, in the way of [`crate::room`]. When that is over, the number
    /// is free ([`Tcp::next_gone`]).
    pub fn part_from(&mut self, peer: Peer) {
        if self.network.contact(peer.0).is_none() || self.network.is_parting(peer.0) {
            return;
        }
        self.network.parting.insert(peer.0);
        self.end_lanes(peer.0, "the two processes part");
        match self
            .peers
            .get(peer.0)
            .map(|conversation| (conversation.pair.state(), conversation.closing.is_some()))
        {
            Some((State::Open(_), false)) => self.begin_to_close(peer.0, false),
            Some((State::Open(_), true)) => {}
            Some(_) => {
                self.with_pair(peer.0, |pair, network, _| pair.abandon(network));
                self.is_gone(peer.0);
            }
            None => self.is_gone(peer.0),
        }
    }

    /// The connection with a peer that this process parts from is over.
    pub(crate) fn is_gone(&mut self, peer: u32) {
        if self.network.parting.remove(&peer) {
            if let Some(Contact { bridge: Some((bridge, number)), .. }) =
                &self.network.contacts[peer as usize]
            {
                self.network.bridges.remove(bridge.id, *number);
            }
            self.network.contacts[peer as usize] = None;
            self.gone.push(peer);
        }
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
