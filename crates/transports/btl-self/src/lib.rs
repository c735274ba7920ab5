//! Loopback: the transport of a process to itself.
//!
//! A message waits in process memory until it is taken, in the order in which it was sent. Exposed memory is
//! fetched and stored by plain copies, made when they are asked for and reported by the next event.

mod parcel;
mod runs;

use std::collections::VecDeque;

use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Limits, Loss, Pace, Peer, Refusal, RemoteKey, RemoteMemory,
    Route, Sleep, Take,
};
use mem::{Slab, Source, UserMem};
use node::wakeup::Bell;
use parcel::Parcel;
use runs::Exposed;

/// One process's loopback.
#[derive(Debug)]
pub struct Loopback {
    me: Peer,
    limits: Limits,
    /// Sent and not yet asked for, oldest first.
    waiting: VecDeque<Parcel>,
    /// Asked for and, while `is_lent`, not yet released. Boxed, since there are views of it.
    lent: Box<Parcel>,
    is_lent: bool,
    /// Released parcels, whose memory is used again.
    spare: Vec<Parcel>,
    events: VecDeque<Event>,
    exposed: Slab<Exposed, 20, 12>,
    bell: Bell,
    /// Payload moved so far, in bytes.
    moved: u64,
}

/// Largest payload of one message. Longer ones are copied once, from buffer to buffer.
const MAX_SEND: usize = 32 << 10;
/// Messages up to this are copied twice, so that their sender need not wait for the receiver.
const EAGER: usize = 4 << 10;
/// Messages that may wait; beyond that the sender has to receive first.
const MOST_WAITING: usize = 1024;
/// Released parcels that are kept.
const MOST_SPARE: usize = 16;

/// Performance variables of the transport.
pub const VARIABLES: &[mca::Variable<Loopback>] = &[mca::Variable::new(
    "btl_self_bytes",
    mca::Quantity::Sum,
    Loopback::bytes_moved,
    "Payload that went from this process to itself",
)];

impl Loopback {
    /// The loopback of the process that is called `me` above. `bell` is what the process sleeps on when it
    /// waits for its other transports, too.
    pub fn new(me: Peer, bell: Bell) -> Loopback {
        let limits = Limits {
            eager: EAGER,
            max_send: MAX_SEND,
            get: true,
            put: true,
            min_rdma: EAGER + 1,
            min_rdma_answer: EAGER + 1,
            max_get: usize::MAX,
            max_put: usize::MAX,
            get_align: 1,
        };
        Loopback {
            me,
            limits,
            waiting: VecDeque::new(),
            lent: Box::default(),
            is_lent: false,
            spare: Vec::new(),
            events: VecDeque::new(),
            exposed: Slab::new(),
            bell,
            moved: 0,
        }
    }

    /// What the process is called above.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Whether there is an arrival or an event to ask for.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        !self.waiting.is_empty() || !self.events.is_empty()
    }

    /// Payload that went from this process to itself so far, in bytes.
    pub fn bytes_moved(&self) -> u64 {
        self.moved
    }

    fn ring(&self) {
        // A thread of this process may be asleep while another one sends.
        self.bell.ring();
    }

    /// Keeps a parcel's memory for another one.
    fn spare(&mut self, parcel: Parcel) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(parcel);
        }
    }

    fn named(&self, key: &RemoteKey) -> Result<&Exposed, Refusal> {
        slab_key(key).and_then(|key| self.exposed.get(key)).ok_or(Refusal::Unfit)
    }

    fn enter(&mut self, memory: Exposed) -> Result<RemoteKey, Refusal> {
        let key = self.exposed.insert(memory).map_err(|_| Refusal::Busy)?;
        Ok(RemoteKey([MARK, u64::from(key), 0]))
    }

    /// The part of exposed memory that a get or put names.
    fn part(&self, key: &RemoteKey, offset: u64, len: usize) -> Result<UserMem, Refusal> {
        let Exposed::One(memory) = self.named(key)? else { return Err(Refusal::Unfit) };
        let offset = usize::try_from(offset).map_err(|_| Refusal::Unfit)?;
        let part = memory.part(offset, len);
        if part.len() == len { Ok(part) } else { Err(Refusal::Unfit) }
    }

    fn finish(&mut self, cookie: u64) {
        self.events.push_back(Event::Done(cookie));
        self.ring();
    }
}

/// The first word of every key that a loopback made.
const MARK: u64 = u64::from_be_bytes(*b"loopback");

fn slab_key(key: &RemoteKey) -> Option<u32> {
    let [mark, key, _] = key.0;
    if mark == MARK { u32::try_from(key).ok() } else { None }
}

impl RemoteMemory for Loopback {}

impl Btl for Loopback {
    fn reaches(&self, peer: Peer) -> bool {
        peer == self.me
    }

    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    /// Nothing is nearer.
    fn pace(&self, _peer: Peer) -> Pace {
        Pace { latency: 0, bandwidth: u64::MAX }
    }

    fn send<S: Source>(&mut self, _peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        if self.waiting.len() >= MOST_WAITING {
            return Err(Busy);
        }
        self.moved += payload.remaining() as u64;
        let mut parcel = self.spare.pop().unwrap_or_default();
        parcel.fill(header, payload);
        self.waiting.push_back(parcel);
        self.ring();
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.is_lent {
            return None;
        }
        *self.lent = self.waiting.pop_front()?;
        self.is_lent = true;
        // SAFETY: the parcel stays in its box, untouched, until the arrival and with it the views are given back.
        let (header, payload) = unsafe { self.lent.views() };
        Some(Arrival { peer: self.me, header, payload, token: 0 })
    }

    fn next_arrival_from(&mut self, _peer: Peer) -> Option<Arrival> {
        self.next_arrival()
    }

    fn release(&mut self, _arrival: Arrival) {
        self.is_lent = false;
        let parcel = core::mem::take(&mut *self.lent);
        self.spare(parcel);
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        Loss { seen: "a process does not lose itself".into(), advice: "and report this".into() }
    }

    fn expose(&mut self, _peer: Peer, memory: UserMem, _access: Access) -> Result<RemoteKey, Refusal> {
        self.enter(Exposed::One(memory))
    }

    fn takes_runs(&self, _peer: Peer) -> bool {
        true
    }

    fn expose_runs(&mut self, _peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        self.enter(Exposed::Many(runs.into()))
    }

    fn get_runs(
        &mut self,
        _peer: Peer,
        local: &[UserMem],
        key: &RemoteKey,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let copied = runs::copy(self.named(key)?.runs(), 0, local).ok_or(Refusal::Unfit)?;
        self.moved += copied;
        self.finish(cookie);
        Ok(())
    }

    fn conceal(&mut self, _peer: Peer, key: RemoteKey) {
        if let Some(key) = slab_key(&key) {
            self.exposed.remove(key);
        }
    }

    fn get(
        &mut self,
        _peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.moved += match self.named(key)? {
            Exposed::One(_) => self.part(key, offset, local.len())?.copy_to(local) as u64,
            Exposed::Many(runs) => runs::copy(runs, offset, &[local]).ok_or(Refusal::Unfit)?,
        };
        self.finish(cookie);
        Ok(())
    }

    fn put(
        &mut self,
        _peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        local.copy_to(self.part(key, offset, local.len())?);
        self.moved += local.len() as u64;
        self.finish(cookie);
        Ok(())
    }

    /// Never: a process that is short of memory is not helped by holding back what is already in it.
    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        true
    }

    /// Room is missing only while messages wait, and then there is no sleep.
    fn arm(&mut self) -> Option<Sleep> {
        if self.has_work() {
            return None;
        }
        let doorbell = self.bell.doorbell();
        let expected = doorbell.arm(platform::membarrier::barrier)?;
        Some(Sleep::Word { address: doorbell.address(), expected })
    }

    fn disarm(&mut self) {
        self.bell.doorbell().disarm();
    }
}

impl btl::Rails for Loopback {}

impl FastPath for Loopback {
    fn send_eager_on<S: Source>(
        &mut self,
        _route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send(self.me, header, payload)
    }

    fn poll_route(&mut self, _route: Route, _looks: u32) -> bool {
        !self.waiting.is_empty()
    }

    fn receive_longer_if<T: Take>(&mut self, _route: Route, take: T) -> Option<T::Taken> {
        // SAFETY: the parcel stays the first one, untouched, until the message is taken and its views are of no more use.
        let (header, payload) = unsafe { self.waiting.front()?.views() };
        if self.is_lent {
            return None;
        }
        let taken = take.take(header, payload)?;
        if let Some(parcel) = self.waiting.pop_front() {
            self.spare(parcel);
        }
        Some(taken)
    }
}
