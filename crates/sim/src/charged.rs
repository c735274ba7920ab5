//! The transport, with the time that the software above the NIC takes.

use crate::software::SoftwareCosts;
use btl::{Access, Arrival, Btl, Busy, Event, FastPath, Limits, Loss, Peer, Refusal, RemoteKey, Sleep};
use btl_ugni::Ugni;
use gni::Time;
use gni_timed::{RankClock, TimedNic};
use mem::{Source, UserMem};

/// Passes every call on and lets the rank's clock go on by what sending, receiving and copying cost.
pub struct Charged {
    ugni: Ugni<TimedNic, RankClock>,
    clock: RankClock,
    costs: SoftwareCosts,
}

impl Charged {
    pub(crate) fn new(ugni: Ugni<TimedNic, RankClock>, costs: SoftwareCosts) -> Charged {
        Charged { clock: ugni.nic().clock().clone(), ugni, costs }
    }

    /// The transport.
    pub fn ugni(&self) -> &Ugni<TimedNic, RankClock> {
        &self.ugni
    }

    fn spend(&self, nanoseconds: f64) {
        self.clock.spend(Time(nanoseconds.round() as u64));
    }

    fn copying(&self, bytes: usize) -> f64 {
        bytes as f64 / self.costs.copy_rate
    }

    fn received(&self, arrival: Option<Arrival>) -> Option<Arrival> {
        if arrival.is_some() {
            self.spend(self.costs.pml_recv);
        }
        arrival
    }
}

/// Bytes that the transport puts before the header words of an inline message.
const INLINE_HEAD: usize = 4;

impl Btl for Charged {
    fn reaches(&self, peer: Peer) -> bool {
        self.ugni.reaches(peer)
    }

    fn is_flushed(&self) -> bool {
        self.ugni.is_flushed()
    }

    fn limits(&self, peer: Peer) -> &Limits {
        self.ugni.limits(peer)
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let before = self.clock.read();
        let (bytes, whole) = (payload.remaining(), INLINE_HEAD + size_of_val(header) + payload.remaining());
        // An inline message is stored straight into the NIC's window; a longer one is copied into a buffer first.
        let copied = if whole > self.ugni.plan().smsg_limit { self.copying(bytes) } else { 0.0 };
        self.spend(self.costs.pml_send + copied);
        let sent = self.ugni.send(peer, header, payload);
        if sent.is_err() {
            self.clock.rewind(before);
        }
        sent
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let arrival = self.ugni.next_arrival();
        self.received(arrival)
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        let arrival = self.ugni.next_arrival_from(peer);
        self.received(arrival)
    }

    fn release(&mut self, arrival: Arrival) {
        self.spend(self.copying(arrival.payload.len()));
        self.ugni.release(arrival);
    }

    fn next_event(&mut self) -> Option<Event> {
        let event = self.ugni.next_event();
        if event.is_some() {
            self.spend(self.costs.pml_event);
        }
        event
    }

    fn loss(&self, peer: Peer) -> Loss {
        self.ugni.loss(peer)
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.ugni.expose(peer, memory, access)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        self.ugni.conceal(peer, key);
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.ugni.get(peer, local, key, offset, cookie)
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.ugni.put(peer, local, key, offset, cookie)
    }

    fn congested(&self, peer: Peer) -> bool {
        self.ugni.congested(peer)
    }

    fn is_full(&self, peer: Peer) -> bool {
        self.ugni.is_full(peer)
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        self.ugni.advertise_congestion(on)
    }

    fn arm(&mut self) -> Option<Sleep> {
        self.ugni.arm()
    }

    fn disarm(&mut self) {
        self.ugni.disarm();
    }
}

/// What the fast verbs cost is not known.
impl FastPath for Charged {}
