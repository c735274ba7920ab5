//! Several connections with a peer, each over another of the networks that both hosts have: large gets and puts are
//! divided among them.
//!
//! ```text
//!   lane 0      all messages, and gets and puts of less than `btl_tcp_striping`; its end is the end of the peer
//!   lane 1, …   parts of large gets and puts; at its end what was under way there goes over lane 0
//! ```
//!
//! A lane is a conversation as any other, with a number of its own ([`crate::conversations`]). The lower rank of two
//! makes them when the first large get or put of either begins. How much of it each lane carries follows from how
//! long the parts before took, at first from the speeds that the interfaces declare.
//!
//! The peer learns a lane's end over lane 0, before the parts that come again there, and closes its side: no byte
//! of a put that was under way on the lane is written after its part has come again.

use crate::conversations::Conversations;
use crate::direct::Part;
use crate::frame::Control;
use crate::hello::LANES;
use crate::network::{COUNTED, Network};
use crate::numbers::{is_lane, lane_of, lane_to, peer_of};
use crate::output::Lender;
use crate::pair::State;
use crate::transport::Tcp;
use btl::{Peer, Refusal, RemoteKey};
use mem::UserMem;
use std::net::SocketAddr;
use std::time::Instant;

/// Gets and puts that may be under way with a peer, over all lanes together: the process that asks keeps to it, and the
/// peer that answers ends a connection on which more answers wait. So a peer can neither ask for ever without reading,
/// nor be turned out for what its program has asked for.
pub(crate) const MOST_ASKED: usize = 1 << 13;
/// A lane that would have less of a get or put than so many bytes has nothing of it.
const LEAST: usize = 32 << 10;
/// One of so many divisions gives such a lane this much all the same: what kept it slow may be over.
const TRIED_AGAIN: u32 = 64;
/// Parts are multiples of this, where they can be.
const PAGE: usize = 4096;

impl Network {
    /// The interface of this host over which the system sends to an address.
    fn interface_towards(&self, place: SocketAddr) -> Option<usize> {
        self.interface_of(platform::interfaces::source_towards(place).ok()?)
    }

    /// Ways to a peer, one over each of this host's interfaces that leads there: interface and where to call. The one over
    /// `first` is the first.
    fn ways(&self, peer: u32, first: usize) -> Vec<(usize, SocketAddr)> {
        let mut ways: Vec<(usize, SocketAddr)> = Vec::new();
        for place in self.places(peer) {
            let Some(interface) = self.interface_towards(place) else { continue };
            // An address of this host's own leads to processes of this host, by no link of its own.
            let is_own = self.own.iter().any(|one| one.address == place.ip()) && interface != first;
            if !is_own && ways.iter().all(|&(other, _)| other != interface) {
                ways.push((interface, place));
            }
        }
        ways.sort_by_key(|&(interface, _)| interface != first);
        ways
    }
}

impl Tcp {
    /// Names of the interfaces over which large gets and puts to and from `peer` go, where those addresses answer;
    /// the first one carries all else.
    pub fn networks(&self, peer: Peer) -> Vec<&str> {
        let network = &self.network;
        let Some(&first) = network.places(peer.0).first() else { return Vec::new() };
        let mut ways = network.ways(peer.0, network.interface_towards(first).unwrap_or(0));
        ways.truncate(if self.striping == 0 { 1 } else { LANES as usize });
        ways.iter().map(|&(interface, _)| network.interfaces[interface].as_str()).collect()
    }

    /// Payload that this process has fetched and stored over each of its networks, in bytes.
    pub fn bytes_moved(&self) -> [u64; COUNTED] {
        self.bytes_moved
    }

    /// Whether a get or put is to be divided.
    pub(crate) fn is_large(&self, len: usize) -> bool {
        self.striping > 0 && len >= self.striping
    }

    /// Begins a get, or a put where it `stores`, in as many parts as there are lanes for it.
    pub(crate) fn begin_move(
        &mut self,
        peer: Peer,
        (local, stores): (UserMem, bool),
        (key, offset): (&RemoteKey, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.end_burst();
        let name = self.part_of(peer, key, offset, local)?;
        let (shares, whole) = (self.shares(peer.0, local.len()), [(peer.0, local.len())]);
        let shares = if shares.len() > 1 { &shares[..] } else { &whole };
        // What was asked for before ends, which is progress, and then this is tried again.
        if self.conversation(peer.0).asked + shares.len() > MOST_ASKED {
            return Err(Refusal::Busy);
        }
        let pending = self.direct.begin(cookie, shares.len()).ok_or(Refusal::Busy)?;
        let mut start = 0;
        for &(at, len) in shares {
            let place = (name, offset + start as u64);
            self.begin_part(Part { at, pending, place, memory: local.part(start, len), stores });
            self.make_room_unless_full(at);
            start += len;
        }
        Ok(())
    }

    /// Asks for a part, or sends it.
    fn begin_part(&mut self, part: Part) {
        let Part { at, place: (name, offset), memory, stores, .. } = part;
        let what = self.direct.add(part);
        self.conversation(peer_of(at)).asked += 1;
        let output = &mut self.conversation(at).output;
        if stores {
            output.add_control(Control::Store { name, offset, put: what, len: memory.len() });
            output.lend(memory, Lender::Put);
        } else {
            output.add_control(Control::Fetch { name, offset, len: memory.len() as u64, get: what });
        }
    }

    /// The peer has reported that a part is over.
    pub(crate) fn part_over(&mut self, at: u32, what: u32, succeeded: bool) {
        let Some(part) = self.direct.end(at, what) else { return };
        self.conversation(peer_of(at)).asked -= 1;
        if let Some(State::Open(wire)) = self.peers[at].as_ref().map(|one| one.pair.state())
            && let Some(link) = self.network.links.get(wire)
            && succeeded
        {
            self.bytes_moved[link.interface.min(COUNTED - 1)] += part.memory.len() as u64;
        }
        let Some((event, rates)) = self.direct.over(&part, succeeded) else { return };
        self.events.push_back(event);
        let weights: Vec<f64> = rates.iter().map(|&(at, _)| self.weight(at)).collect();
        for ((at, _), weight) in rates.iter().zip(weighed(&weights, &rates)) {
            self.conversation(*at).weight = Some(weight);
        }
    }

    /// How much of what is divided a lane carries, compared with others: in the beginning the declared speed.
    fn weight(&mut self, at: u32) -> f64 {
        let network = &self.network;
        let Some(conversation) = &mut self.peers[at] else { return 0.0 };
        let State::Open(wire) = conversation.pair.state() else { return 0.0 };
        *conversation.weight.get_or_insert_with(|| network.declared_speed(wire))
    }

    /// Which conversations with a peer carry a get or put of `len` bytes, and how much of it each; none where it is
    /// not divided.
    fn shares(&mut self, peer: u32, len: usize) -> Vec<(u32, usize)> {
        if !self.is_large(len) {
            return Vec::new();
        }
        self.want_lanes(peer);
        let lanes = Conversations::all_with(peer);
        let is_open = |at: &u32| {
            self.peers[*at].as_ref().is_some_and(|one| {
                one.closing.is_none() && one.ending.is_none() && matches!(one.pair.state(), State::Open(_))
            })
        };
        let open: Vec<u32> = lanes.filter(is_open).collect();
        if open.first() != Some(&peer) || open.len() < 2 {
            return Vec::new();
        }
        let weights: Vec<f64> = open.iter().map(|&at| self.weight(at)).collect();
        self.divisions = self.divisions.wrapping_add(1);
        let shares = divide(len, &weights, self.divisions.is_multiple_of(TRIED_AGAIN));
        let shares = open.into_iter().zip(shares);
        shares.filter(|&(_, share)| share > 0).collect()
    }

    /// A large get or put with a peer begins: makes the lanes if that is this side's part. It tries once: a way that
    /// did not lead to the peer then is not tried again.
    pub(crate) fn want_lanes(&mut self, peer: u32) {
        let (most, links) = (self.network.most / 2, self.links_each);
        if self.network.comes_second(peer) {
            return;
        }
        let conversation = self.conversation(peer);
        let State::Open(wire) = conversation.pair.state() else { return };
        if core::mem::replace(&mut conversation.has_asked_for_lanes, true) {
            return;
        }
        let first = self.network.links.get(wire).map_or(0, |link| link.interface);
        let ways = self.network.ways(peer, first);
        // One of them is there.
        let there = usize::from(ways.first().is_some_and(|&(interface, _)| interface == first));
        let places: Vec<SocketAddr> = ways.iter().map(|&(_, place)| place).collect();
        let places = places.iter().cycle().take(places.len() * links).skip(there);
        for (lane, &place) in (1..LANES).zip(places) {
            // They are the first to be done without where descriptors are few.
            if self.network.used() >= most {
                return;
            }
            let at = lane_to(peer, lane);
            self.network.lane_places.insert(at, place);
            self.with_pair(at, |pair, network, _| pair.want(Instant::now(), network));
        }
    }

    /// A peer gets or puts over a connection.
    pub(crate) fn hear_of_transfer(&mut self, at: u32, len: usize) {
        if self.is_large(len) && !is_lane(at) {
            self.want_lanes(at);
        }
    }

    /// A lane is lost: what was under way there goes over lane 0.
    pub(crate) fn fall_back(&mut self, at: u32) {
        let (peer, lane) = (peer_of(at), lane_of(at));
        if self.conversation(peer).loss.is_some() {
            return self.fail_all(at);
        }
        let parts = self.end_parts(at);
        let conversation = self.conversation(peer);
        conversation.output.add_control(Control::LaneLost { lane });
        for part in parts {
            self.direct.disturb(&part);
            self.begin_part(Part { at: peer, ..part });
        }
        self.flush(peer);
        self.with_pair(peer, |pair, network, _| pair.want(Instant::now(), network));
    }

    /// All parts on a connection that is over.
    fn end_parts(&mut self, at: u32) -> Vec<Part> {
        let parts = self.direct.end_all(at);
        self.conversation(peer_of(at)).asked -= parts.len();
        parts
    }

    /// All gets and puts over a connection with a lost peer fail.
    pub(crate) fn fail_all(&mut self, at: u32) {
        let parts = self.end_parts(at);
        let over = parts.iter().filter_map(|part| self.direct.over(part, false));
        self.events.extend(over.map(|(event, _)| event));
    }

    /// The peer is lost, and all lanes with it.
    pub(crate) fn end_lanes(&mut self, peer: u32) {
        for at in Conversations::all_with(peer).skip(1) {
            if self.peers[at].is_some() {
                self.end_lane(at, "its peer is lost");
            }
        }
    }

    /// Ends a lane; nothing that has come on it and was not taken is taken any more.
    pub(crate) fn end_lane(&mut self, at: u32, why: &str) {
        match self.conversation(at).pair.state() {
            State::Open(_) => self.end(at, why),
            State::Lost => {}
            _ => self.with_pair(at, |pair, network, _| pair.abandon(network)),
        }
    }
}

/// Parts of `len` bytes for lanes of these weights; with `all`, no lane goes without.
fn divide(len: usize, weights: &[f64], all: bool) -> Vec<usize> {
    let mut weights = weights.to_vec();
    let fastest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0);
    loop {
        let total: f64 = weights.iter().sum();
        let share = |weight: &f64| (len as f64 * (weight / total)) as usize / PAGE * PAGE;
        let mut shares: Vec<usize> = weights.iter().map(share).collect();
        let too_small = |lane: &usize| *lane != fastest && weights[*lane] > 0.0 && shares[*lane] < LEAST;
        let slowest = (0..shares.len()).filter(too_small).min_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        match slowest {
            Some(lane) => weights[lane] = 0.0,
            None => {
                if all && len >= 2 * LEAST * shares.len() {
                    shares.iter_mut().filter(|share| **share == 0).for_each(|share| *share = LEAST);
                    shares[fastest] = 0;
                }
                shares[fastest] += len - shares.iter().sum::<usize>();
                return shares;
            }
        }
    }
}

/// New weights of lanes that have these and have moved parts at these rates: halfway to those with which all would have
/// ended together. Their sum stays, so that they compare with those of lanes that had no part.
fn weighed(weights: &[f64], rates: &[(u32, f64)]) -> Vec<f64> {
    let (weight, rate): (f64, f64) = (weights.iter().sum(), rates.iter().map(|(_, rate)| rate).sum());
    weights.iter().zip(rates).map(|(old, (_, its))| (old + weight * its / rate) / 2.0).collect()
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
