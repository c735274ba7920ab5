//! The route table: which transport reaches which peer.
//!
//! A record rather than a layer. The table is filled once, when the job is known; afterwards a send is one
//! predictable `match` on the peer's route and the transport's own code, inlined. To add a transport: a variant
//! of [`Reached`], a field of [`Bml`], and a line in each `match` below.
#![forbid(unsafe_code)]

mod selection;

use core::fmt;
use core::ops::Range;

pub use selection::{BtlParams, Selection};

use btl::{
    Access, Arrival, Asleep, Btl, Busy, Event, FastPath, Limits, Loss, Peer, Refusal, RemoteKey, Route,
    Sleep, Take,
};
use btl_self::Loopback;
use btl_ugni::Ugni;
use btl_vader::Vader;
use gni::Time;
use gni_soft::SoftNic;
use gni_soft::host::HostNic;
use mem::{Source, UserMem};
use shm::doorbell::Doorbell;

/// How a peer is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reached {
    /// It is this process.
    Itself,
    /// It is on this node.
    Vader,
    /// By Gemini, wherever it is.
    Gemini,
}

/// The route of a process to itself. No other transport has such a place.
const TO_ITSELF: Route = Route(u32::MAX - 1);

/// The transport over Gemini as processes use it: over the NIC of their host, told the time by the host's clock.
pub type Gemini = Ugni<SoftNic<HostNic>, fn() -> Time>;

/// All transports of a process behind one table.
#[derive(Debug)]
pub struct Bml {
    routes: Box<[Reached]>,
    loopback: Loopback,
    /// In place, so that the straight line finds its links at a fixed address.
    vader: Option<Vader>,
    gemini: Option<Box<Gemini>>,
    /// Whether Gemini is asked before vader for the next arrival; they take turns.
    gemini_first: bool,
    /// Whose turn it is to be asked first for an arrival.
    loopback_first: bool,
}

/// Payload that this process moved, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// To itself.
    pub to_self: u64,
    /// Sent through shared memory.
    pub sent: u64,
    /// Fetched from or stored into the memory of other processes of the node.
    pub copied: u64,
    /// Sent over Gemini in messages: through mailboxes, the node's shared queue, and buffers that the peer fetches.
    pub gemini_sent: u64,
    /// Fetched from or stored into other processes' memory over Gemini.
    pub gemini_moved: u64,
}

/// A peer that no transport reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreachable(pub Peer);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "choosing a transport for rank {} failed\nit is on another node, and the parameter btl allows none that \
             reaches it there\nstart all ranks on one node, or allow Gemini: mpiexec --mca btl self,vader,ugni",
            self.0.0
        )
    }
}

impl std::error::Error for Unreachable {}

impl Bml {
    /// The table of a process that is alone: [`Peer`] 0 is itself.
    pub fn solo() -> Bml {
        let doorbell: &'static Doorbell = Box::leak(Box::default());
        if !platform::membarrier::register() {
            doorbell.ask_for_fences();
        }
        Bml {
            routes: [Reached::Itself].into(),
            loopback: Loopback::new(Peer(0), doorbell),
            vader: None,
            gemini: None,
            gemini_first: false,
            loopback_first: false,
        }
    }

    /// The table of process `me` of `size` processes: those of its node are reached by `vader` where there is one,
    /// all others by `gemini`. Where both are there, they sleep on one doorbell.
    ///
    /// # Errors
    /// [`Unreachable`]: the first peer that nothing reaches.
    pub fn new(
        me: Peer,
        size: usize,
        vader: Option<Vader>,
        gemini: Option<Gemini>,
    ) -> Result<Bml, Unreachable> {
        let route = |peer: Peer| match peer {
            _ if peer == me => Ok(Reached::Itself),
            _ if vader.as_ref().is_some_and(|vader| vader.reaches(peer)) => Ok(Reached::Vader),
            _ if gemini.is_some() => Ok(Reached::Gemini),
            _ => Err(Unreachable(peer)),
        };
        let routes = (0..size as u32).map(|peer| route(Peer(peer))).collect::<Result<_, _>>()?;
        let doorbell = match (&vader, &gemini) {
            (Some(vader), _) => vader.doorbell(),
            (None, Some(gemini)) => gemini.nic().fabric().lasting_doorbell(),
            (None, None) => return Ok(Bml::solo()),
        };
        Ok(Bml {
            routes,
            loopback: Loopback::new(me, doorbell),
            vader,
            gemini: gemini.map(Box::new),
            gemini_first: false,
            loopback_first: false,
        })
    }

    /// The transport of this node's processes, for what they share beyond messages.
    pub fn vader(&self) -> Option<&Vader> {
        self.vader.as_ref()
    }

    /// The transport over Gemini, for what it counts.
    pub fn gemini(&self) -> Option<&Gemini> {
        self.gemini.as_deref()
    }

    /// The transport over Gemini, to keep memory registered with it.
    pub fn gemini_mut(&mut self) -> Option<&mut Gemini> {
        self.gemini.as_deref_mut()
    }

    /// Whether nothing that was sent still depends on this process's work.
    pub fn is_flushed(&self) -> bool {
        self.gemini.as_ref().is_none_or(|gemini| gemini.is_flushed())
    }

    /// As [`Bml::vader`], to reach into other processes' memory.
    pub fn vader_mut(&mut self) -> Option<&mut Vader> {
        self.vader.as_mut()
    }

    /// Payload moved so far, by transport.
    pub fn traffic(&self) -> Traffic {
        let (sent, copied) = self.vader.as_ref().map_or((0, 0), |vader| vader.traffic());
        let gemini = self.gemini.as_ref().map(|gemini| gemini.stats());
        Traffic {
            to_self: self.loopback.bytes_moved(),
            sent,
            copied,
            gemini_sent: gemini.map_or(0, |stats| stats.copied_bytes),
            gemini_moved: gemini.map_or(0, |stats| stats.direct_bytes),
        }
    }

    /// What the threads of this process sleep on, whatever transports there are.
    pub fn doorbell(&self) -> &'static Doorbell {
        self.loopback.doorbell()
    }

    #[inline(always)]
    fn reached(&self, peer: Peer) -> Reached {
        self.routes[peer.0 as usize]
    }
}

/// Evaluates `$call` with `$btl` bound to the transport of `$peer`.
macro_rules! on_route {
    ($bml:ident, $peer:ident, $btl:ident => $call:expr) => {
        match $bml.reached($peer) {
            Reached::Itself => {
                let $btl = &mut $bml.loopback;
                $call
            }
            Reached::Vader => {
                let $btl = $bml.vader.as_mut().expect(IN_TABLE);
                $call
            }
            Reached::Gemini => {
                let $btl = $bml.gemini.as_mut().expect(IN_TABLE);
                $call
            }
        }
    };
}

/// Why a route's transport is there.
const IN_TABLE: &str = "the table names a transport only if there is one";

impl Btl for Bml {
    #[inline(always)]
    fn limits(&self, peer: Peer) -> &Limits {
        match self.reached(peer) {
            Reached::Itself => self.loopback.limits(peer),
            Reached::Vader => self.vader.as_ref().expect(IN_TABLE).limits(peer),
            Reached::Gemini => self.gemini.as_ref().expect(IN_TABLE).limits(peer),
        }
    }

    #[inline(always)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        on_route!(self, peer, btl => btl.send(peer, header, payload))
    }

    #[inline(always)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        // Messages to oneself take turns with the others, and cost nothing while there are none.
        if self.loopback.has_work() {
            self.loopback_first = !self.loopback_first;
            if self.loopback_first
                && let Some(arrival) = self.loopback.next_arrival()
            {
                return Some(arrival);
            }
        }
        if self.gemini.is_some() {
            return self.next_of_both();
        }
        if let Some(vader) = &mut self.vader
            && let Some(arrival) = vader.next_arrival()
        {
            return Some(arrival);
        }
        if self.loopback.has_work() { self.loopback.next_arrival() } else { None }
    }

    #[inline(always)]
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        on_route!(self, peer, btl => btl.next_arrival_from(peer))
    }

    #[inline(always)]
    fn release(&mut self, arrival: Arrival) {
        let peer = arrival.peer;
        on_route!(self, peer, btl => btl.release(arrival))
    }

    #[inline(always)]
    fn next_event(&mut self) -> Option<Event> {
        let event = match &mut self.vader {
            Some(vader) => vader.next_event(),
            None => None,
        };
        match event {
            None if self.gemini.is_some() => self.next_event_of_gemini(),
            None if self.loopback.has_work() => self.loopback.next_event(),
            event => event,
        }
    }

    fn loss(&self, peer: Peer) -> Loss {
        match self.reached(peer) {
            Reached::Itself => self.loopback.loss(peer),
            Reached::Vader => self.vader.as_ref().expect(IN_TABLE).loss(peer),
            Reached::Gemini => self.gemini.as_ref().expect(IN_TABLE).loss(peer),
        }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        on_route!(self, peer, btl => btl.expose(peer, memory, access))
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        on_route!(self, peer, btl => btl.conceal(peer, key));
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        on_route!(self, peer, btl => btl.get(peer, local, key, offset, cookie))
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        on_route!(self, peer, btl => btl.put(peer, local, key, offset, cookie))
    }

    fn takes_runs(&self, peer: Peer) -> bool {
        match self.reached(peer) {
            Reached::Itself => self.loopback.takes_runs(peer),
            Reached::Vader => self.vader.as_ref().expect(IN_TABLE).takes_runs(peer),
            Reached::Gemini => self.gemini.as_ref().expect(IN_TABLE).takes_runs(peer),
        }
    }

    fn expose_runs(&mut self, peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        on_route!(self, peer, btl => btl.expose_runs(peer, runs))
    }

    fn expect_packing(&mut self, peer: Peer, bounds: Range<usize>, runs: u64) {
        on_route!(self, peer, btl => btl.expect_packing(peer, bounds, runs))
    }

    fn get_runs(
        &mut self,
        peer: Peer,
        local: &[UserMem],
        key: &RemoteKey,
        cookie: u64,
    ) -> Result<(), Refusal> {
        on_route!(self, peer, btl => btl.get_runs(peer, local, key, cookie))
    }

    #[inline(always)]
    fn congested(&self, peer: Peer) -> bool {
        match self.reached(peer) {
            Reached::Itself => self.loopback.congested(peer),
            Reached::Vader => self.vader.as_ref().expect(IN_TABLE).congested(peer),
            Reached::Gemini => false,
        }
    }

    fn is_full(&self, peer: Peer) -> bool {
        self.reached(peer) == Reached::Gemini && self.gemini.as_ref().expect(IN_TABLE).is_full(peer)
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        // Gemini has no such word; the layer above tells its peers, and those that see vader's word hear it twice.
        self.vader.as_mut().is_none_or(|vader| vader.advertise_congestion(on)) && self.gemini.is_none()
    }

    fn arm(&mut self) -> Option<Sleep> {
        // The loopback rings the doorbell that the others sleep on.
        match (&mut self.vader, &mut self.gemini) {
            _ if self.loopback.has_work() => None,
            (Some(vader), None) => vader.arm(),
            (None, Some(gemini)) => gemini.arm(),
            (Some(vader), Some(gemini)) => {
                vader.arm()?;
                // It is the same word, and has the value of the last who armed.
                let armed = gemini.arm();
                if armed.is_none() {
                    vader.disarm();
                }
                armed
            }
            (None, None) => self.loopback.arm(),
        }
    }

    fn disarm(&mut self) {
        match (&mut self.vader, &mut self.gemini) {
            (None, None) => self.loopback.disarm(),
            (vader, gemini) => {
                if let Some(vader) = vader {
                    vader.disarm();
                }
                if let Some(gemini) = gemini {
                    gemini.disarm();
                }
            }
        }
    }
}

impl FastPath for Bml {
    /// All routes but that of this process to itself are vader's or, where there is no vader, Gemini's; every other peer is
    /// reached the long way.
    fn route(&self, peer: Peer) -> Route {
        match (&self.vader, &self.gemini, self.reached(peer)) {
            (_, _, Reached::Itself) => TO_ITSELF,
            (Some(vader), _, Reached::Vader) => vader.route(peer),
            (None, Some(gemini), Reached::Gemini) => gemini.route(peer),
            _ => Route::NONE,
        }
    }

    /// For vader only: a call of another transport would have the straight line keep its arguments in memory.
    #[inline(always)]
    fn send_on<S: Source>(&mut self, route: Route, header: &[u64], payload: &mut S) -> Result<Asleep, Busy> {
        self.vader.as_mut().ok_or(Busy)?.send_on(route, header, payload)
    }

    fn finds_room(&mut self, route: Route) -> bool {
        self.vader.as_mut().is_some_and(|vader| vader.finds_room(route))
    }

    #[cold]
    #[inline(never)]
    fn wake(&mut self, route: Route) {
        if let Some(vader) = &mut self.vader {
            vader.wake(route);
        }
    }

    #[inline]
    fn send_eager_on<S: Source>(
        &mut self,
        route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        match &mut self.vader {
            _ if route == TO_ITSELF => self.loopback.send_eager_on(route, header, payload),
            Some(vader) => vader.send_eager_on(route, header, payload),
            None => self.send_by_gemini(route, header, payload).map(drop),
        }
    }

    /// For vader only, as [`Bml::send_on`].
    #[inline(always)]
    fn receive_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        self.vader.as_mut()?.receive_if(route, take)
    }

    /// Receives by vader only, as [`Bml::send_on`] sends. What Gemini brings meanwhile is for [`FastPath::receive_longer_if`].
    #[inline(always)]
    fn receive_within<T: Take>(&mut self, route: Route, looks: u32, take: T) -> Option<T::Taken> {
        let Some(vader) = &mut self.vader else {
            if route != TO_ITSELF {
                self.look_out_by_gemini(route, looks);
            }
            return None;
        };
        vader.receive_within(route, looks, take)
    }

    #[inline(always)]
    fn look_out(&mut self, route: Route, looks: u32) -> bool {
        match &mut self.vader {
            _ if route == TO_ITSELF => self.loopback.look_out(route, looks),
            Some(vader) => vader.look_out(route, looks),
            None => self.look_out_by_gemini(route, looks),
        }
    }

    #[inline(always)]
    fn receive_longer_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        match &mut self.vader {
            _ if route == TO_ITSELF => self.loopback.receive_longer_if(route, take),
            Some(vader) => vader.receive_longer_if(route, take),
            None => self.gemini.as_mut()?.receive_if(route, take),
        }
    }
}

/// Out of the straight line, which is vader's.
impl Bml {
    #[inline(never)]
    fn send_by_gemini<S: Source>(
        &mut self,
        route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<Asleep, Busy> {
        self.gemini.as_mut().ok_or(Busy)?.send_on(route, header, payload)
    }

    #[inline(never)]
    fn look_out_by_gemini(&mut self, route: Route, looks: u32) -> bool {
        self.gemini.as_mut().is_some_and(|gemini| gemini.look_out(route, looks))
    }

    #[inline(never)]
    fn next_of_both(&mut self) -> Option<Arrival> {
        let Bml { vader, gemini, gemini_first, .. } = self;
        *gemini_first = !*gemini_first;
        let by_vader = |vader: &mut Option<Vader>| vader.as_mut()?.next_arrival();
        let by_gemini = |gemini: &mut Option<Box<Gemini>>| gemini.as_mut()?.next_arrival();
        let arrival = match gemini_first {
            true => by_gemini(gemini).or_else(|| by_vader(vader)),
            false => by_vader(vader).or_else(|| by_gemini(gemini)),
        };
        arrival.or_else(|| if self.loopback.has_work() { self.loopback.next_arrival() } else { None })
    }

    #[inline(never)]
    fn next_event_of_gemini(&mut self) -> Option<Event> {
        let event = self.gemini.as_mut()?.next_event();
        event.or_else(|| if self.loopback.has_work() { self.loopback.next_event() } else { None })
    }
}
