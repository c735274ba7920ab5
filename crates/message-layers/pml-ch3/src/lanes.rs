//! What is known of each peer: its place in both sequences, and what waits.

use crate::packet::Packet;
use btl::Peer;
use pml::ReqId;
use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
pub(crate) struct Lanes {
    by_peer: BTreeMap<Peer, Lane>,
    /// Peers for which something waits.
    waiting: usize,
}

/// One peer.
#[derive(Default)]
pub(crate) struct Lane {
    pub on_node: bool,
    pub lost: bool,
    /// The number of the next packet to it with an envelope, and of the next from it.
    pub next_out: u32,
    pub next_in: u32,
    /// Packets that wait for room, in order.
    out: VecDeque<Out>,
    /// Packets from it that wait for those before them.
    pub early: BTreeMap<u32, Early>,
}

/// A packet that waits for room.
pub(crate) enum Out {
    /// The first of a send.
    First(ReqId),
    Packet(Packet),
    /// Fragments of a send for a receive, from an offset.
    Fragments {
        send: u32,
        receive: u32,
        offset: u64,
        len: u64,
    },
    /// Fragments of a message of E1 for a fetch.
    Pieces {
        staged: u32,
        fetch: u32,
        offset: u64,
    },
}

/// A packet that waits for those before it.
pub(crate) struct Early {
    pub packet: Packet,
    pub body: EarlyBody,
}

pub(crate) enum EarlyBody {
    Here(Vec<u8>),
    /// Its fetch.
    Fetching(u32),
}

impl Lanes {
    pub fn of(&mut self, peer: Peer) -> &mut Lane {
        self.by_peer.entry(peer).or_default()
    }

    pub fn get(&self, peer: Peer) -> Option<&Lane> {
        self.by_peer.get(&peer)
    }

    pub fn is_lost(&self, peer: Peer) -> bool {
        self.get(peer).is_some_and(|lane| lane.lost)
    }

    pub fn is_waiting(&self, peer: Peer) -> bool {
        self.get(peer).is_some_and(|lane| !lane.out.is_empty())
    }

    pub fn anyone_waits(&self) -> bool {
        self.waiting > 0
    }

    /// Whether packets wait for those before them.
    pub fn any_early(&self) -> bool {
        self.by_peer.values().any(|lane| !lane.early.is_empty())
    }

    pub fn push(&mut self, peer: Peer, out: Out) {
        let lane = self.by_peer.entry(peer).or_default();
        self.waiting += usize::from(lane.out.is_empty());
        lane.out.push_back(out);
    }

    /// Puts what `Lanes::pop` gave back at the front.
    pub fn push_front(&mut self, peer: Peer, out: Out) {
        let lane = self.by_peer.entry(peer).or_default();
        self.waiting += usize::from(lane.out.is_empty());
        lane.out.push_front(out);
    }

    pub fn pop(&mut self, peer: Peer) -> Option<Out> {
        let lane = self.by_peer.get_mut(&peer)?;
        let out = lane.out.pop_front()?;
        self.waiting -= usize::from(lane.out.is_empty());
        Some(out)
    }

    /// Takes out the first packet of a send that has not left.
    pub fn withdraw(&mut self, peer: Peer, id: ReqId) {
        let Some(lane) = self.by_peer.get_mut(&peer) else { return };
        let before = lane.out.len();
        lane.out.retain(|out| !matches!(out, Out::First(first) if *first == id));
        self.waiting -= usize::from(before > 0 && lane.out.is_empty());
    }

    /// Peers for which something waits.
    pub fn waiting(&self) -> Vec<Peer> {
        self.by_peer.iter().filter(|(_, lane)| !lane.out.is_empty()).map(|(&peer, _)| peer).collect()
    }

    /// Drops all that waits for a peer.
    pub fn clear(&mut self, peer: Peer) {
        while self.pop(peer).is_some() {}
    }
}
