//! The transports, with the time that the software above NIC and shared memory takes.

use crate::names::Names;
use crate::node::OnNode;
use crate::software::SoftwareCosts;
use btl::{
    Access, Arrival, Atomic, Btl, Busy, Event, FastPath, Flushed, Full, Limits, Loss, Peer, Refusal, Remote,
    RemoteKey, RemoteMemory, Sleep,
};
use btl_ugni::Ugni;
use btl_vader::Vader;
use gni::Time;
use gni_timed::{RankClock, TimedNic};
use mem::{Source, UserMem};
use shm::area::Owner;
use std::ops::Range;

type Network = Ugni<TimedNic, RankClock>;

/// What a transport that is not there is asked to carry, at most.
const NOTHING: Limits = Limits::of_messages(0, 0);

/// Passes every call on to the transport of its peer and lets the rank's clock go on by what sending, receiving and
/// copying cost: vader within a node whose ranks share memory, ugni elsewhere.
pub struct Charged {
    /// `None`: the rank's program sends to no other node.
    ugni: Option<Box<Network>>,
    pub(crate) node: Option<OnNode>,
    /// The message layer's peers; all peers of its calls are such.
    pub(crate) names: Names,
    clock: RankClock,
    costs: SoftwareCosts,
    /// The arrival that is out came through shared memory.
    out_of_node: bool,
}

impl Charged {
    pub(crate) fn new(
        ugni: Option<Box<Network>>,
        node: Option<OnNode>,
        clock: RankClock,
        costs: SoftwareCosts,
    ) -> Charged {
        Charged { clock, ugni, node, names: Names::default(), costs, out_of_node: false }
    }

    /// The transport between nodes; `None` for a rank whose program sends to its node alone.
    pub fn ugni(&self) -> Option<&Network> {
        self.ugni.as_deref()
    }

    /// Bytes that the rank has registered, with its part of the queue that the `here` ranks of its node share.
    pub(crate) fn registered(&self, here: usize) -> u64 {
        let of = |ugni: &Network| ugni.nic().stats().registered_bytes + ugni.stats().msgq_bytes / here as u64;
        self.ugni().map_or(0, of)
    }

    /// Payload sent through shared memory, and payload copied directly between ranks of the node, in bytes.
    pub fn node_traffic(&self) -> (u64, u64) {
        self.node.as_ref().and_then(|node| node.vader.as_ref()).map_or((0, 0), |vader| vader.traffic())
    }

    /// Shared memory and place, if `peer` is reached there.
    fn near(&self, peer: Peer) -> Option<(&Vader, Peer)> {
        let node = self.node.as_ref()?;
        let vader = node.vader.as_deref()?;
        let place = node.place_of(self.names.rank(peer).0).filter(|&place| vader.reaches(place))?;
        Some((vader, place))
    }

    /// Whether shared memory leads to `peer`.
    pub(crate) fn is_near(&self, peer: Peer) -> bool {
        self.near(peer).is_some()
    }

    fn near_mut(&mut self, peer: Peer) -> Option<(&mut Vader, Peer)> {
        let place = self.near(peer)?.1;
        Some((self.node.as_mut()?.vader.as_deref_mut()?, place))
    }

    /// The transport between nodes, and `peer` as it calls it.
    fn far(&mut self, peer: Peer) -> Option<(&mut Network, Peer)> {
        Some((self.ugni.as_deref_mut()?, self.names.rank(peer)))
    }

    pub(crate) fn spend(&self, nanoseconds: f64) {
        self.clock.spend(Time(nanoseconds.round() as u64));
    }

    pub(crate) fn costs(&self) -> &SoftwareCosts {
        &self.costs
    }

    fn copying(&self, bytes: usize) -> f64 {
        bytes as f64 / self.costs.copy_rate
    }

    fn received(&mut self, arrival: Option<Arrival>, out_of_node: bool) -> Option<Arrival> {
        let mut arrival = arrival?;
        let lines = match out_of_node {
            // What does not fit a slot lies elsewhere; its further lines come with the copy.
            true if size_of::<u64>() * 2 + arrival.payload.len() > SLOT => 2.0,
            true => 1.0,
            false => 0.0,
        };
        let line = self.node.as_ref().filter(|_| out_of_node).map_or(self.costs.line, |node| {
            let place = node.place_of(arrival.peer.0).unwrap_or(Peer(0));
            node.line_from(Owner::Member(place.0 as usize), &self.costs)
        });
        self.spend(self.costs.pml_recv + lines * line);
        self.out_of_node = out_of_node;
        arrival.peer = self.names.of(arrival.peer.0);
        Some(arrival)
    }

    /// A copy between the memories of two ranks of the node.
    fn copied_directly(&self, copied: Result<(), Refusal>, bytes: usize) -> Result<(), Refusal> {
        if copied.is_ok() {
            self.spend(self.costs.single_copy + self.copying(bytes));
        }
        copied
    }
}

/// Bytes of header and payload that cross with the word that announces them.
const SLOT: usize = shm::fastbox::BODY_BYTES;
/// Bytes that the transport puts before the header words of an inline message.
const INLINE_HEAD: usize = 4;

/// Of ranks of other nodes: the memory of a window on one node is mapped, and nothing is asked of a transport.
impl RemoteMemory for Charged {
    fn remote(&self, peer: Peer) -> Option<Remote> {
        self.ugni()?.remote(self.names.rank(peer))
    }

    fn register(&mut self, peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        let (ugni, rank) = self.far(peer).ok_or(Refusal::Unfit)?;
        ugni.register(rank, memory)
    }

    fn deregister(&mut self, peer: Peer, key: RemoteKey) {
        if let Some((ugni, rank)) = self.far(peer) {
            ugni.deregister(rank, key);
        }
    }

    fn read(
        &mut self,
        peer: Peer,
        into: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let (ugni, rank) = self.far(peer).ok_or(Refusal::Unfit)?;
        ugni.read(rank, into, key, offset, cookie)
    }

    fn write(&mut self, peer: Peer, from: UserMem, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        let (ugni, rank) = self.far(peer).ok_or(Refusal::Unfit)?;
        ugni.write(rank, from, key, offset)
    }

    fn fetch(
        &mut self,
        peer: Peer,
        change: Atomic,
        before: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let (ugni, rank) = self.far(peer).ok_or(Refusal::Unfit)?;
        ugni.fetch(rank, change, before, key, offset, cookie)
    }

    fn update(&mut self, peer: Peer, change: Atomic, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        let (ugni, rank) = self.far(peer).ok_or(Refusal::Unfit)?;
        ugni.update(rank, change, key, offset)
    }

    fn flush(&mut self, peer: Peer) -> Flushed {
        self.far(peer).map_or(Flushed::Done, |(ugni, rank)| ugni.flush(rank))
    }
}

impl Btl for Charged {
    fn reaches(&self, peer: Peer) -> bool {
        self.near(peer).is_some() || self.ugni().is_some_and(|ugni| ugni.reaches(self.names.rank(peer)))
    }

    fn is_flushed(&self) -> bool {
        self.ugni().is_none_or(Network::is_flushed)
    }

    fn limits(&self, peer: Peer) -> &Limits {
        match self.near(peer) {
            Some((vader, place)) => vader.limits(place),
            None => self.ugni().map_or(&NOTHING, |ugni| ugni.limits(self.names.rank(peer))),
        }
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let before = self.clock.read();
        let (bytes, whole) = (payload.remaining(), INLINE_HEAD + size_of_val(header) + payload.remaining());
        let near = self.near(peer).is_some();
        // An inline message is stored straight into the NIC's window; a longer one is copied into a buffer first.
        let fits = self.ugni().is_some_and(|ugni| whole <= ugni.inline_limit(self.names.rank(peer)));
        let copied = if near || !fits { self.copying(bytes) } else { 0.0 };
        self.spend(self.costs.pml_send + copied);
        let sent = match self.near_mut(peer) {
            Some((vader, place)) => {
                let sent = vader.send(place, header, payload);
                if let Some(node) = &self.node {
                    node.note_send(place, sent, &self.clock);
                }
                sent
            }
            None => self.far(peer).map_or(Err(Busy), |(ugni, rank)| ugni.send(rank, header, payload)),
        };
        if sent.is_err() {
            self.clock.rewind(before);
        }
        sent
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if let Some(arrival) = self.node.as_mut().and_then(|node| node.next_arrival(&self.clock)) {
            return self.received(Some(arrival), true);
        }
        let arrival = self.ugni.as_deref_mut().and_then(Network::next_arrival);
        self.received(arrival, false)
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        // `next_arrival` finds frames that arrive through shared memory.
        if self.near(peer).is_some() {
            return None;
        }
        let arrival = self.far(peer).and_then(|(ugni, rank)| ugni.next_arrival_from(rank));
        self.received(arrival, false)
    }

    fn release(&mut self, arrival: Arrival) {
        self.spend(self.copying(arrival.payload.len()));
        match (&mut self.node, &mut self.ugni) {
            (Some(node), _) if self.out_of_node => node.release(arrival, &self.clock),
            (_, Some(ugni)) => ugni.release(arrival),
            _ => {}
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        let of_node = self.node.as_mut().and_then(|node| {
            let event = node.vader.as_mut()?.next_event()?;
            Some(if let Event::PeerLost(place) = event {
                Event::PeerLost(node.rank_at(place))
            } else {
                event
            })
        });
        let event = match of_node.or_else(|| self.ugni.as_deref_mut()?.next_event()) {
            Some(Event::PeerLost(rank)) => Some(Event::PeerLost(self.names.of(rank.0))),
            Some(Event::Flushed(rank)) => Some(Event::Flushed(self.names.of(rank.0))),
            event => event,
        };
        if event.is_some() {
            self.spend(self.costs.pml_event);
        }
        event
    }

    fn loss(&self, peer: Peer) -> Loss {
        let unknown = || Loss { seen: "it is on another node".into(), advice: "for more".into() };
        self.ugni().map_or_else(unknown, |ugni| ugni.loss(self.names.rank(peer)))
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        match self.near_mut(peer) {
            Some((vader, place)) => vader.expose(place, memory, access),
            None => {
                let (ugni, rank) = self.far(peer).ok_or(Refusal::Busy)?;
                ugni.expose(rank, memory, access)
            }
        }
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        match self.near_mut(peer) {
            Some((vader, place)) => vader.conceal(place, key),
            None => {
                if let Some((ugni, rank)) = self.far(peer) {
                    ugni.conceal(rank, key);
                }
            }
        }
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let copied = match self.near_mut(peer) {
            Some((vader, place)) => vader.get(place, local, key, offset, cookie),
            None => {
                let (ugni, rank) = self.far(peer).ok_or(Refusal::Busy)?;
                return ugni.get(rank, local, key, offset, cookie);
            }
        };
        self.copied_directly(copied, local.len())
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let copied = match self.near_mut(peer) {
            Some((vader, place)) => vader.put(place, local, key, offset, cookie),
            None => {
                let (ugni, rank) = self.far(peer).ok_or(Refusal::Busy)?;
                return ugni.put(rank, local, key, offset, cookie);
            }
        };
        self.copied_directly(copied, local.len())
    }

    /// Data passes through a buffer of the message layer.
    fn expect_packing(&mut self, _peer: Peer, bounds: Range<usize>, _runs: u64) {
        self.spend(self.costs.staging + self.copying(bounds.len()));
    }

    fn congested(&self, peer: Peer) -> bool {
        match self.near(peer) {
            Some((vader, place)) => vader.congested(place),
            None => self.ugni().is_some_and(|ugni| ugni.congested(self.names.rank(peer))),
        }
    }

    fn full(&self, peer: Peer) -> Option<Full> {
        if self.near(peer).is_some() {
            return None;
        }
        self.ugni()?.full(self.names.rank(peer))
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        let vader = self.node.as_mut().and_then(|node| node.vader.as_mut());
        let near = vader.is_none_or(|vader| vader.advertise_congestion(on));
        self.ugni.as_mut().is_none_or(|ugni| ugni.advertise_congestion(on)) && near
    }

    fn arm(&mut self) -> Option<Sleep> {
        self.ugni.as_mut()?.arm()
    }

    fn must_arm_again(&self) -> bool {
        self.ugni.as_ref().is_some_and(|ugni| ugni.must_arm_again())
    }

    fn disarm(&mut self) {
        if let Some(ugni) = &mut self.ugni {
            ugni.disarm();
        }
    }
}

/// What the fast verbs cost is not known.
impl FastPath for Charged {}
