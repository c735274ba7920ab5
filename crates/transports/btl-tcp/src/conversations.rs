//! The conversations of a process, by their numbers ([`crate::numbers`]).

use crate::conversation::Conversation;
use crate::hello::LANES;
use crate::numbers::{lane_of, lane_to, peer_of};
use core::ops::{Index, IndexMut};

type Slot = Option<Box<Conversation>>;

/// A conversation is made with its first message, and a lane with the first large get or put.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    by_lane: [Vec<Slot>; LANES as usize],
}

/// So many places, the new ones empty.
#[cold]
fn lengthen(lane: &mut Vec<Slot>, places: usize) {
    lane.resize_with(places, || None);
}

/// What is found where nothing was made.
static NONE: Slot = None;

impl Conversations {
    /// Places for so many peers.
    pub(crate) fn new(peers: usize) -> Conversations {
        let mut all = Conversations::default();
        all.by_lane[0].resize_with(peers, || None);
        all
    }

    /// The place of a conversation.
    #[inline]
    pub(crate) fn slot(&mut self, at: u32) -> &mut Slot {
        let lane = &mut self.by_lane[lane_of(at) as usize];
        let place = peer_of(at) as usize;
        if place >= lane.len() {
            lengthen(lane, place + 1);
        }
        &mut lane[place]
    }

    /// A conversation that there is.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<&Conversation> {
        self[at].as_deref()
    }

    /// All conversations.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Conversation> {
        self.by_lane.iter().flatten().filter_map(Option::as_deref)
    }

    /// All that there are with a peer, the first one and its lanes.
    pub(crate) fn with_peer(&mut self, peer: u32) -> impl Iterator<Item = &mut Conversation> {
        self.by_lane.iter_mut().filter_map(move |lane| lane.get_mut(peer as usize)?.as_deref_mut())
    }

    /// The numbers of the first conversation with a peer and of all lanes, made or not.
    pub(crate) fn all_with(peer: u32) -> impl Iterator<Item = u32> {
        (0..LANES).map(move |lane| lane_to(peer, lane))
    }

    /// The numbers of all conversations, in one order.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let lanes = (0..).zip(&self.by_lane);
        let numbers = |(lane, slots): (u32, &Vec<Slot>)| {
            let made = (0..).zip(slots).filter(|(_, slot)| slot.is_some());
            made.map(move |(peer, _)| lane_to(peer, lane)).collect::<Vec<u32>>()
        };
        lanes.flat_map(numbers).collect()
    }
}

impl Index<u32> for Conversations {
    type Output = Slot;

    #[inline]
    fn index(&self, at: u32) -> &Slot {
        self.by_lane[lane_of(at) as usize].get(peer_of(at) as usize).unwrap_or(&NONE)
    }
}

impl IndexMut<u32> for Conversations {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Slot {
        self.slot(at)
    }
}
