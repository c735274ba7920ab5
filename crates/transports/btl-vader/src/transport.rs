//! The transport's state, and how it answers to the contract.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use btl::{
    Access, Arrival, Asleep, Btl, Busy, Event, FastPath, Limits, Loss, Pace, Peer, Refusal, RemoteKey,
    RemoteMemory, Route, Sleep, Take,
};
use mem::{Source, UserMem};
use node::{NOWHERE, Node, ring};
use shm::bounce::Pool;
use shm::doorbell::Doorbell;
use shm::{Segment, queue};

use crate::arrivals::Found;
use crate::joint_copy::Offers;
use crate::link::{End, Link};
use crate::single_copy::Copy;

/// One process's end of the shared-memory transport; see [`Vader::new`].
#[derive(Debug)]
pub struct Vader {
    /// Place on the node of each peer by its index above; the node's own table.
    pub(crate) local_of: Arc<[u32]>,
    /// By place on the node; our own one is there and unused.
    pub(crate) links: Box<[Link]>,
    /// Our place on the node.
    pub(crate) me: u32,
    /// Places on the node of the peers that send by fastbox.
    pub(crate) active: Vec<u32>,
    /// Which of our fastboxes a peer has announced.
    pub(crate) admitted: Box<[bool]>,
    /// Which of the active peers is served; the place after the last of them stands for the queue.
    pub(crate) cursor: usize,
    /// Messages it may still deliver before the next one's turn.
    pub(crate) burst: u32,
    /// What the rarer paths leave for the fast one to return.
    pub(crate) found: Found,
    pub(crate) inbox: queue::Receiver<'static>,
    pub(crate) doorbell: &'static Doorbell,
    /// A send since the last `arm` found a full fastbox or no bounce buffer: the peer that gives such back will ring.
    pub(crate) room_was_missing: bool,
    /// The last `arm` asked for that ring.
    pub(crate) armed_for_room: bool,
    /// A send since the last `arm` found a full receive queue.
    pub(crate) queue_was_full: bool,
    /// A send since the last `arm` found no bounce buffer of this pool, of which it tried only a few.
    pub(crate) bounce_was_missing: [bool; 2],
    /// Our bounce buffers, small and large.
    pub(crate) bounce_buffers: [Pool<'static>; 2],
    /// Single copies under way.
    pub(crate) copies: VecDeque<Copy>,
    /// Bytes of them that are moved at once.
    pub(crate) chunk: usize,
    /// Whether long messages are copied together with their owner.
    pub(crate) cooperative: bool,
    /// Help offered with memory that was exposed.
    pub(crate) offers: Offers,
    /// Tables of exposed memory in several runs; peers read them where they are.
    pub(crate) tables: Vec<Box<[u64]>>,
    pub(crate) events: VecDeque<Event>,
    /// Whether there are copies, offers or events.
    pub(crate) busy: bool,
    /// Payload of all single copies that were reported, in bytes.
    pub(crate) copied: u64,
    pub(crate) limits: Limits,
    /// The node's, at hand.
    pub(crate) segment: Segment,
    pub(crate) node: Arc<Node>,
}

impl Vader {
    /// Whether `peer` is another process of this node.
    pub fn reaches(&self, peer: Peer) -> bool {
        self.local_of.get(peer.0 as usize).is_some_and(|&local| local != NOWHERE && local != self.me)
    }

    /// What this process sleeps on.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.doorbell
    }

    /// Payload sent so far through shared memory, and payload fetched from or stored into peers' memory, in bytes.
    pub fn traffic(&self) -> (u64, u64) {
        (self.links.iter().map(|link| link.sent).sum(), self.copied)
    }

    /// Reports `event` at the next occasion.
    pub(crate) fn report(&mut self, event: Event) {
        self.events.push_back(event);
        self.busy = true;
    }

    /// Whether polls have something to do that no sender announces.
    fn has_work(&self) -> bool {
        !self.events.is_empty() || !self.copies.is_empty() || self.offers.has_work()
    }
}

impl RemoteMemory for Vader {}

impl Btl for Vader {
    fn reaches(&self, peer: Peer) -> bool {
        Vader::reaches(self, peer)
    }

    #[inline(always)]
    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    /// As measured between two cores of one socket.
    fn pace(&self, _peer: Peer) -> Pace {
        Pace { latency: 300, bandwidth: 9000 }
    }

    #[inline(always)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_message(peer, header, payload)
    }

    #[inline(always)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next_of_all()
    }

    #[inline(always)]
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        self.next_of_one(peer)
    }

    #[inline(always)]
    fn release(&mut self, arrival: Arrival) {
        self.give_back(arrival);
    }

    #[inline(always)]
    fn next_event(&mut self) -> Option<Event> {
        if self.busy { self.work() } else { None }
    }

    /// Nothing is sent when a process ends.
    fn must_look_for_losses(&self) -> bool {
        self.links.len() > 1
    }

    fn look_for_losses(&mut self, _awaited: &[Peer]) -> bool {
        for place in 0..self.links.len() as u32 {
            let link = &mut self.links[place as usize];
            match link.end {
                End::No if place != self.me && self.node.has_ended_at(place) => link.end = End::Seen,
                End::Seen => {
                    link.end = End::Reported;
                    let lost = Event::PeerLost(link.peer);
                    self.report(lost);
                }
                _ => {}
            }
        }
        !self.events.is_empty()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        Loss {
            seen:
                "its process is gone, or its part of the node's shared memory holds what no rank writes there"
                    .into(),
            advice: "and, if it still runs, for stores beyond its own memory: run it under a memory checker"
                .into(),
        }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.make_key(peer, memory, access)
    }

    fn conceal(&mut self, _peer: Peer, key: RemoteKey) {
        self.drop_key(&key);
    }

    fn takes_runs(&self, peer: Peer) -> bool {
        // What is mapped is reached without the kernel, which runs need.
        self.limits(peer).get && !self.node.maps_peers()
    }

    fn expose_runs(&mut self, peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        self.make_key_of_runs(peer, runs)
    }

    fn expect_packing(&mut self, _peer: Peer, bounds: Range<usize>, runs: u64) {
        self.node.expect_packing(bounds, runs);
    }

    fn get_runs(
        &mut self,
        peer: Peer,
        local: &[UserMem],
        key: &RemoteKey,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.start_scattered(peer, local, key, 0, cookie)
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.start_copy(peer, local, key, offset, cookie, Access::Read)
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.start_copy(peer, local, key, offset, cookie, Access::Write)
    }

    #[inline(always)]
    fn congested(&self, peer: Peer) -> bool {
        self.links[self.local_of[peer.0 as usize] as usize].doorbell.congested()
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        self.doorbell.set_congested(on);
        true
    }

    fn arm(&mut self) -> Option<Sleep> {
        if self.has_work() {
            return None;
        }
        // No receiver rings when its receive queue has room again.
        if std::mem::take(&mut self.queue_was_full) {
            return None;
        }
        let barrier = platform::membarrier::barrier;
        self.armed_for_room = std::mem::take(&mut self.room_was_missing);
        let expected = match self.armed_for_room {
            true => self.doorbell.arm_for_room(barrier)?,
            false => self.doorbell.arm(barrier)?,
        };
        if self.finds_missed_bounce() {
            // Another thread may be armed, so the announcement stays; at worst a sender wakes no thread.
            return None;
        }
        Some(Sleep::Word { address: self.doorbell.address(), expected })
    }

    fn must_arm_again(&self) -> bool {
        let unannounced = self.room_was_missing && !self.armed_for_room;
        self.has_work() || unannounced || self.queue_was_full || self.lacks_free_bounce()
    }

    fn disarm(&mut self) {
        self.doorbell.disarm();
    }
}

impl btl::Rails for Vader {}

impl FastPath for Vader {
    /// A peer's place on the node.
    fn route(&self, peer: Peer) -> Route {
        if self.reaches(peer) { Route(self.local_of[peer.0 as usize]) } else { Route::NONE }
    }

    #[inline(always)]
    fn send_on<S: Source>(&mut self, route: Route, header: &[u64], payload: &mut S) -> Result<Asleep, Busy> {
        self.send_at_once(route.0, header, payload)
    }

    fn finds_room(&mut self, route: Route) -> bool {
        self.links.get_mut(route.0 as usize).is_some_and(|link| link.outbound.finds_room())
    }

    fn wake(&mut self, route: Route) {
        if let Some(link) = self.links.get(route.0 as usize) {
            ring(link.doorbell);
        }
    }

    #[inline]
    fn send_eager_on<S: Source>(
        &mut self,
        route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send_longer_at_once(route.0, header, payload)
    }

    #[inline(always)]
    fn receive_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        self.next_of_one_if(route.0, take)
    }

    #[inline(always)]
    fn receive_within<T: Take>(&mut self, route: Route, polls: u32, take: T) -> Option<T::Taken> {
        self.next_of_one_within(route.0, polls, take)
    }

    #[inline(always)]
    fn poll_route(&mut self, route: Route, polls: u32) -> bool {
        self.poll_one(route.0, polls)
    }

    #[inline(always)]
    fn receive_longer_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        self.longer_of_one_if(route.0, take)
    }
}
