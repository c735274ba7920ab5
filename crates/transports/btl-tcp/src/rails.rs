//! Each network that two hosts have in common as a way of its own for messages, under a layer that sends again what is lost.
//!
//! ```text
//!   rail 0      a conversation as any other ([`crate::numbers`]: lane 0), whose connection goes over the first common network
//!   rail 1, …   the same over the others; both sides number them alike (`platform::interfaces::common_networks`)
//! ```
//!
//! A rail whose connection breaks, or is given up ([`crate::watch`]), makes another one: either side calls, and the other one takes
//! the new connection for the old one. What was on its way is lost, and sent again by the layer above. Where no attempt
//! succeeds the rail is lost ([`Turn::Lost`]); as long as another rail leads to the peer it is tried again, after pauses
//! that grow. So a network may go and come back, and a process that has ended refuses the attempts. Where no rail leads to a process of the
//! job that has been reached before, and none is refused, the last one is not reported as lost: mpiexec knows whether the host is there.

use std::net::IpAddr;
use std::time::Instant;

use btl::{Arrival, Busy, Loss, MOST_RAILS, Peer, Rails, Turn};
use mem::Source;
use platform::interfaces::common_networks;
use platform::tcp::Answered;

use crate::network::Network;
use crate::numbers::{lane_of, lane_to, peer_of};
use crate::pair::{ConnectLimits, Pair, State};
use crate::tracks::{LONGEST_AWAY, PAUSES, Tracks};
use crate::transport::Tcp;

impl Network {
    /// The common networks with a peer: this process's address and the peer's.
    fn common_with(&self, peer: u32) -> Vec<(IpAddr, IpAddr)> {
        let Some(contact) = self.contact(peer) else { return Vec::new() };
        let ours: Vec<IpAddr> = self.own.iter().map(|one| one.address).collect();
        let theirs = &contact.card.addresses;
        let pairs = common_networks(&ours, theirs, !self.comes_second(peer));
        let all = pairs.into_iter().map(|(at, there)| (ours[at], theirs[there]));
        all.take(usize::from(MOST_RAILS)).collect()
    }

    /// The pair of a rail, which calls at the peer's address in its network.
    pub(crate) fn rail(&mut self, at: u32, connect_limits: ConnectLimits) -> Pair {
        let place = self.common_with(peer_of(at)).get(lane_of(at) as usize).map(|&(_, theirs)| theirs);
        let port = self.contact(peer_of(at)).map(|contact| contact.card.port);
        if let Some((place, port)) = place.zip(port) {
            self.lane_places.insert(at, (place, port).into());
        }
        Pair::new(at, self.comes_second(peer_of(at)), 1, connect_limits, Instant::now()).into_rail()
    }
}

impl Tcp {
    /// From now on each network is a way of its own: before the first message.
    pub(crate) fn run_on_rails(&mut self) {
        self.rails = Some(Tracks::default());
    }

    /// A conversation has a connection.
    pub(crate) fn rail_is_open(&mut self, at: u32) {
        let Some(tracks) = &mut self.rails else { return };
        tracks.lost.remove(&at);
        if self.conversation(at).loss.take().is_some() {
            self.turn(at, Turn::Returned);
        }
    }

    /// A conversation is lost, and with it the gets and puts over it. It is tried again where another one leads to the peer, or the peer may
    /// be there.
    pub(crate) fn rail_is_lost(&mut self, at: u32) {
        self.fail_all(at);
        let peer = peer_of(at);
        let leads = |tcp: &Tcp, other: u32| tcp.peers.get(other).is_none_or(|one| one.loss.is_none());
        let others = (0..self.rails(Peer(peer))).map(|rail| lane_to(peer, rail.into()));
        let is_only = !others.into_iter().any(|other| other != at && leads(self, other));
        let conversation = self.conversation(at);
        let may_be_there = conversation.was_open && conversation.pair.may_be_there();
        let is_away = is_only && may_be_there && self.network.is_of_job(peer);
        if !is_away {
            self.turn(at, Turn::Lost);
        }
        let Some(tracks) = &mut self.rails else { return };
        if is_only && !is_away {
            tracks.lost.retain(|&other, _| peer_of(other) != peer);
            return;
        }
        let pause = tracks.lost.get(&at).map_or(PAUSES.0, |&(_, pause)| pause);
        let longest = if is_away { LONGEST_AWAY } else { PAUSES.1 };
        tracks.lost.insert(at, (Instant::now() + pause, (2 * pause).min(longest)));
    }

    /// The process of a peer has ended: its lost rails are tried no more.
    pub(crate) fn end_lost_rails(&mut self, peer: u32) {
        let Some(tracks) = &self.rails else { return };
        let lost: Vec<u32> = tracks.lost.keys().copied().filter(|&at| peer_of(at) == peer).collect();
        for at in lost {
            self.with_pair(at, |pair, network, _| pair.ended(network));
            self.turn(at, Turn::Lost);
            if let Some(tracks) = &mut self.rails {
                tracks.lost.remove(&at);
            }
        }
    }

    fn turn(&mut self, at: u32, turn: Turn) {
        if let Some(tracks) = &mut self.rails {
            tracks.turns.push_back((Peer(peer_of(at)), lane_of(at) as u8, turn));
        }
    }

    /// When a lost rail is tried next.
    pub(crate) fn next_try(&self) -> Option<Instant> {
        let lost = self.rails.as_ref()?.lost.iter();
        let rests = |at: &u32| self.peers.get(*at).is_some_and(|one| one.pair.state() == State::Lost);
        lost.filter(|(at, _)| rests(at)).map(|(_, &(due, _))| due).min()
    }

    /// Tries the lost rails again whose time has come.
    pub(crate) fn try_lost_rails(&mut self) {
        let Some(tracks) = &self.rails else { return };
        if tracks.lost.is_empty() {
            return;
        }
        let now = Instant::now();
        let due: Vec<u32> =
            tracks.lost.iter().filter(|(_, (due, _))| *due <= now).map(|(&at, _)| at).collect();
        for at in due {
            if self.conversation(at).pair.state() != State::Lost {
                continue;
            }
            let limits = ConnectLimits { rounds: 1, ..self.connect_limits };
            self.conversation(at).pair = self.network.rail(at, limits);
            self.with_pair(at, |pair, network, _| pair.want(now, network));
        }
    }
}

impl Rails for Tcp {
    fn rails(&self, peer: Peer) -> u8 {
        match self.rails {
            Some(_) => self.network.common_with(peer.0).len() as u8,
            None => 1,
        }
    }

    fn send_over<S: Source>(
        &mut self,
        rail: u8,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send_at(lane_to(peer.0, rail.into()), header, payload)
    }

    fn rail_of(&self, _arrival: &Arrival) -> u8 {
        self.lent.map_or(0, |(at, _)| lane_of(at) as u8)
    }

    fn place_of(&self, rail: u8, peer: Peer) -> String {
        let Some(&(ours, theirs)) = self.network.common_with(peer.0).get(usize::from(rail)) else {
            return String::new();
        };
        let name = self.network.own.iter().find(|one| one.address == ours).map_or("", |one| &one.name);
        format!("{name} ({ours}) to {theirs}")
    }

    fn owes_over(&self, rail: u8, peer: Peer) -> bool {
        self.owes_at(lane_to(peer.0, rail.into()))
    }

    fn loss_over(&self, rail: u8, peer: Peer) -> Loss {
        self.loss_of(lane_to(peer.0, rail.into()))
    }

    /// A connection on which something is stuck is made anew: the kernel would try it at times that grow apart.
    fn renew(&mut self, rail: u8, peer: Peer) {
        let at = lane_to(peer.0, rail.into());
        let is_lent = self.lent.is_some_and(|(lent, _)| lent == at);
        let Some(conversation) = self.peers.get(at).filter(|one| !one.is_ready && !is_lent) else { return };
        let State::Open(wire) = conversation.pair.state() else { return };
        let link = self.network.links.get(wire);
        let is_stuck =
            link.is_some_and(|link| link.socket.has_unsent() || link.socket.answered() != Answered::All);
        if is_stuck || !conversation.output.is_empty() {
            self.end(at, "it was silent");
        }
    }

    fn next_turn(&mut self) -> Option<(Peer, u8, Turn)> {
        self.rails.as_mut()?.turns.pop_front()
    }
}
