//! The route table: which transport reaches which peer.
//!
//! A record rather than a layer. Each peer has a route of one byte, found out when it is added; afterwards a send is one
//! predictable `match` on it and the transport's own code, inlined. To add a transport: a line in [`transports!`], a field
//! of [`Bml`], an argument of [`Bml::new`].
#![forbid(unsafe_code)]

mod error;
mod selection;
mod sleep;
mod slot;
mod traffic;
mod variables;

use core::ops::Range;
use std::os::fd::BorrowedFd;

pub use error::{SetupError, Unreachable};
pub use selection::{BtlParams, Selection};
pub use sleep::AtNode;
pub use traffic::Traffic;
pub use variables::VARIABLES;

use bell::Bell;
use btl::{
    Access, Arrival, Asleep, Atomic, Btl, Busy, Event, FastPath, Flushed, Limits, Loss, Peer, Refusal,
    Remote, RemoteKey, RemoteMemory, Route, Sleep, Take,
};
use btl_ofi::Ofi;
use btl_portals::Portals;
use btl_self::Loopback;
use btl_tcp::Tcp;
pub use btl_tcp::connects;
use btl_ugni::Ugni;
use btl_vader::Vader;
use gni::Time;
use gni_soft::SoftNic;
use gni_soft::host::HostNic;
use mem::{Source, UserMem};
use portals_soft::wire::Wire;
use slot::Slot;

/// Hands the list of transports to the macro `$then`, after its own arguments: the variant of [`Reached`] and the field of
/// [`Bml`]. Where several reach a peer, the one that declares the least time is its route ([`btl::Pace`]).
macro_rules! transports {
    ($then:ident $args:tt) => {
        $then! { $args
            Itself loopback,
            Vader vader,
            Gemini gemini,
            Portals portals,
            Ofi ofi,
            Tcp tcp,
        }
    };
}

macro_rules! declare {
    (() $($name:ident $field:ident,)*) => {
        /// How a peer is reached.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Reached {
            $($name),*
        }

        impl Reached {
            const ALL: &[Reached] = &[$(Reached::$name),*];
        }
    };
}
transports!(declare());

/// Evaluates `$call` with `$btl` bound to the transport `$which`, as `$get` gives it.
macro_rules! on {
    ($bml:ident.$get:ident($which:expr), $btl:ident => $call:expr) => {
        transports!(on_one($bml, $get, $which, $btl, $call))
    };
}
macro_rules! on_one {
    (($bml:ident, $get:ident, $which:expr, $btl:ident, $call:expr) $($name:ident $field:ident,)*) => {
        match $which {
            $(Reached::$name => {
                let $btl = $bml.$field.$get();
                $call
            })*
        }
    };
}

/// The transports that reach `$peer`, with how long each declares that a typical message takes.
macro_rules! all_that_reach {
    (($bml:ident, $peer:expr) $($name:ident $field:ident,)*) => {
        [$($bml.$field.there().filter(|btl| btl.reaches($peer)).map(|btl| {
            (Reached::$name, btl.pace($peer).time(TYPICAL))
        })),*]
    };
}

/// Payload in bytes of the message by which ways are compared: between those where latency counts alone, and bandwidth.
const TYPICAL: u64 = 16 << 10;

/// Evaluates `$call` with `$btl` bound to each transport that is there, in turn.
macro_rules! on_each {
    ($bml:ident.$there:ident(), $btl:ident => $call:expr) => {
        transports!(on_every($bml, $there, $btl, $call))
    };
}
macro_rules! on_every {
    (($bml:ident, $there:ident, $btl:ident, $call:expr) $($name:ident $field:ident,)*) => {
        $(if let Some($btl) = $bml.$field.$there() {
            $call;
        })*
    };
}

/// The route of a process to itself. No other transport has such a place.
const TO_ITSELF: Route = Route(u32::MAX - 1);

/// The transport over Gemini as processes use it: over the NIC of their host, told the time by the host's clock.
pub type Gemini = Ugni<SoftNic<HostNic>, fn() -> Time>;

/// The transport over Portals as processes use it: over a NIC whose wire is a table of transports of its own.
pub type OverPortals = Portals<portals::Shared<SoftPortals>>;

/// A Portals NIC of a process.
pub type SoftPortals = portals_soft::SoftNic<Wire<Bml>>;

/// The transports that a table is made of, beside that of a process to itself.
#[derive(Debug, Default)]
pub struct Transports<'n> {
    /// Through shared memory.
    pub vader: Option<Vader>,
    /// Over Gemini.
    pub gemini: Option<Gemini>,
    /// Over Portals.
    pub portals: Option<OverPortals>,
    /// Over libfabric.
    pub ofi: Option<Ofi>,
    /// Over TCP.
    pub tcp: Option<Tcp>,
    /// A descriptor that is slept on beside theirs: that of a network that matches.
    pub network: Option<BorrowedFd<'n>>,
}

/// All transports of a process behind one table.
#[derive(Debug)]
pub struct Bml {
    /// By peer; grows with them.
    routes: Vec<Reached>,
    loopback: Loopback,
    bell: Bell,
    /// In place, so that the fast path finds its links at a fixed address.
    vader: Option<Vader>,
    gemini: Option<Box<Gemini>>,
    portals: Option<Box<OverPortals>>,
    ofi: Option<Box<Ofi>>,
    tcp: Option<Box<Tcp>>,
    /// Whether there are transports beside the loopback and vader.
    is_mixed: bool,
    /// Counts turns: the transports take turns in being asked first.
    turn: usize,
}

impl Bml {
    /// The table of a process that is alone: [`Peer`] 0 is itself.
    pub fn solo() -> Bml {
        let bell = Bell::of(sleep::own_doorbell());
        let loopback = Loopback::new(Peer(0), bell);
        let routes = vec![Reached::Itself];
        let (vader, gemini, portals, ofi, tcp) = (None, None, None, None, None);
        Bml { routes, loopback, bell, vader, gemini, portals, ofi, tcp, is_mixed: false, turn: 0 }
    }

    /// The table of process `me` of `size` processes. Each is reached by the fastest transport that reaches it, as they
    /// declare. There is one doorbell: that of the node, which areas ring without any transport, or a transport's, or else
    /// one of its own. Beside it the descriptors of transports end a sleep, and those of the message layer's `network`.
    ///
    /// # Errors
    /// [`SetupError`]; [`Unreachable`] names the first peer that nothing reaches.
    pub fn new(
        me: Peer,
        size: usize,
        node: Option<AtNode>,
        transports: Transports<'_>,
    ) -> Result<Bml, SetupError> {
        let Transports { vader, gemini, portals, ofi, tcp, network } = transports;
        let bell = match &portals {
            // Its wire sleeps on what there is, `network` included.
            Some(portals) => portals.nic().with(|nic| nic.fabric().transport().bell()),
            None => {
                sleep::bell(node, &vader, &gemini, (&ofi, &tcp), network).map_err(SetupError::Sleeping)?
            }
        };
        let loopback = Loopback::new(me, bell);
        let (gemini, portals) = (gemini.map(Box::new), portals.map(Box::new));
        let (ofi, tcp) = (ofi.map(Box::new), tcp.map(Box::new));
        let routes = Vec::with_capacity(size);
        let mut bml =
            Bml { routes, loopback, bell, vader, gemini, portals, ofi, tcp, is_mixed: false, turn: 0 };
        let fast = 1 + usize::from(bml.vader.is_some());
        let mut all = 0;
        on_each!(bml.there(), _btl => all += 1);
        bml.is_mixed = all > fast;
        for _ in 0..size {
            bml.add_peer()?;
        }
        Ok(bml)
    }

    /// Adds the next peer, which a transport reaches: one of this process's job, or one that was met later and that the
    /// transport has learned of.
    ///
    /// # Errors
    /// [`Unreachable`]; nothing was added.
    pub fn add_peer(&mut self) -> Result<Peer, Unreachable> {
        let peer = Peer(self.routes.len() as u32);
        let route = self.ways(peer).min_by_key(|&(_, time)| time);
        self.routes.push(route.ok_or(Unreachable(peer))?.0);
        Ok(peer)
    }

    /// The transports that reach a peer, with how long each declares that a typical message takes, in nanoseconds. Of
    /// those that declare the same, the first is the route.
    fn ways(&self, peer: Peer) -> impl Iterator<Item = (Reached, u64)> + use<> {
        let ways: [Option<(Reached, u64)>; Reached::ALL.len()] = transports!(all_that_reach(self, peer));
        ways.into_iter().flatten()
    }

    /// The transports that reach a peer beside the one that is its route, by name.
    pub fn slower_ways(&self, peer: Peer) -> Vec<&'static str> {
        let route = self.reached(peer);
        self.ways(peer).filter(|&(way, _)| way != route).map(|(way, _)| way.name()).collect()
    }

    /// Whether the fast verbs lead anywhere: they are vader's.
    pub fn has_fast_verbs(&self) -> bool {
        self.vader.is_some()
    }

    /// The transport over Gemini, for what it counts.
    pub fn gemini(&self) -> Option<&Gemini> {
        self.gemini.as_deref()
    }

    /// The transport over Gemini, to keep memory registered with it.
    pub fn gemini_mut(&mut self) -> Option<&mut Gemini> {
        self.gemini.as_deref_mut()
    }

    /// The transport over libfabric, for what it runs on.
    pub fn ofi(&self) -> Option<&Ofi> {
        self.ofi.as_deref()
    }

    /// The transport over TCP, for the networks that lead to a peer.
    pub fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_deref()
    }

    /// Whether processes must stay until all of them have sent what they had: one that is gone answers nothing.
    pub fn ends_together(&self) -> bool {
        [self.gemini.is_some(), self.portals.is_some(), self.ofi.is_some(), self.tcp.is_some()]
            .contains(&true)
    }

    /// The transports in use, each with the peers that it reaches.
    pub fn table(&self) -> Vec<(&'static str, Vec<Peer>)> {
        let reached_by = |one: Reached| {
            let peers = self.routes.iter().enumerate().filter(move |(_, route)| **route == one);
            peers.map(|(index, _)| Peer(index as u32)).collect()
        };
        let all = Reached::ALL.iter().map(|&one| (one.name(), reached_by(one)));
        all.filter(|(_, peers): &(_, Vec<Peer>)| !peers.is_empty()).collect()
    }

    /// What the threads of this process sleep on, whatever transports there are.
    pub fn bell(&self) -> Bell {
        self.bell
    }

    #[inline(always)]
    fn reached(&self, peer: Peer) -> Reached {
        self.routes[peer.0 as usize]
    }
}

impl Reached {
    /// The name that the parameter `btl` has for it.
    fn name(self) -> &'static str {
        match self {
            Reached::Itself => "self",
            Reached::Vader => "vader",
            Reached::Gemini => "ugni",
            Reached::Portals => "portals",
            Reached::Ofi => "ofi",
            Reached::Tcp => "tcp",
        }
    }
}

/// Evaluates `$call` with `$btl` bound to the transport of `$peer`.
macro_rules! by_route {
    ($bml:ident.$get:ident($peer:expr), $btl:ident => $call:expr) => {
        on!($bml.$get($bml.reached($peer)), $btl => $call)
    };
}

impl Btl for Bml {
    fn reaches(&self, peer: Peer) -> bool {
        (peer.0 as usize) < self.routes.len()
    }

    #[inline(always)]
    fn limits(&self, peer: Peer) -> &Limits {
        by_route!(self.routed(peer), btl => btl.limits(peer))
    }

    #[inline(always)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        by_route!(self.routed_mut(peer), btl => btl.send(peer, header, payload))
    }

    #[inline(always)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.is_mixed {
            return self.next_of_all();
        }
        // Messages to oneself take turns with the others, and cost nothing while there are none.
        if self.loopback.has_work() {
            self.turn = self.turn.wrapping_add(1);
            if self.turn.is_multiple_of(2)
                && let Some(arrival) = self.loopback.next_arrival()
            {
                return Some(arrival);
            }
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
        by_route!(self.routed_mut(peer), btl => btl.next_arrival_from(peer))
    }

    #[inline(always)]
    fn release(&mut self, arrival: Arrival) {
        let peer = arrival.peer;
        by_route!(self.routed_mut(peer), btl => btl.release(arrival))
    }

    #[inline(always)]
    fn next_event(&mut self) -> Option<Event> {
        if self.is_mixed {
            return self.next_event_of_all();
        }
        if let Some(vader) = &mut self.vader
            && let Some(event) = vader.next_event()
        {
            return Some(event);
        }
        if self.loopback.has_work() { self.loopback.next_event() } else { None }
    }

    fn loss(&self, peer: Peer) -> Loss {
        by_route!(self.routed(peer), btl => btl.loss(peer))
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.expose(peer, memory, access))
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        by_route!(self.routed_mut(peer), btl => btl.conceal(peer, key));
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.get(peer, local, key, offset, cookie))
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.put(peer, local, key, offset, cookie))
    }

    fn takes_runs(&self, peer: Peer) -> bool {
        by_route!(self.routed(peer), btl => btl.takes_runs(peer))
    }

    fn expose_runs(&mut self, peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.expose_runs(peer, runs))
    }

    fn expect_packing(&mut self, peer: Peer, bounds: Range<usize>, runs: u64) {
        by_route!(self.routed_mut(peer), btl => btl.expect_packing(peer, bounds, runs))
    }

    fn get_runs(
        &mut self,
        peer: Peer,
        local: &[UserMem],
        key: &RemoteKey,
        cookie: u64,
    ) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.get_runs(peer, local, key, cookie))
    }

    #[inline(always)]
    fn congested(&self, peer: Peer) -> bool {
        by_route!(self.routed(peer), btl => btl.congested(peer))
    }

    fn is_full(&self, peer: Peer) -> bool {
        by_route!(self.routed(peer), btl => btl.is_full(peer))
    }

    fn is_flushed(&self) -> bool {
        let mut flushed = true;
        on_each!(self.there(), btl => flushed &= btl.is_flushed());
        flushed
    }

    /// Where one transport has no such word, the layer above tells its peers, and those that see another's word hear it
    /// twice.
    fn advertise_congestion(&mut self, on: bool) -> bool {
        let mut seen_by_all = true;
        on_each!(self.there_mut(), btl => seen_by_all &= btl.advertise_congestion(on));
        seen_by_all
    }

    /// All doorbells are one word, which has the value of the transport that armed last. The loopback rings it, too, and
    /// arms only where no other transport does. Descriptors are slept on as [`bell`] says.
    fn arm(&mut self) -> Option<Sleep> {
        if self.loopback.has_work() {
            return None;
        }
        let mut word = None;
        for &which in Reached::ALL.iter().filter(|&&which| which != Reached::Itself) {
            let armed = on!(self.there_mut(which), btl => btl.map(|btl| btl.arm()));
            match armed {
                Some(Some(armed @ Sleep::Word { .. })) => word = Some(armed),
                Some(None) => return None,
                Some(Some(Sleep::Descriptor(_))) | None => {}
            }
        }
        let word = word.or_else(|| self.loopback.arm())?;
        self.bell.arm(word)
    }

    fn must_arm_again(&self) -> bool {
        let mut again = self.loopback.has_work();
        on_each!(self.there(), btl => again |= btl.must_arm_again());
        again
    }

    fn disarm(&mut self) {
        on_each!(self.there_mut(), btl => btl.disarm());
        self.bell.disarm();
    }
}

impl RemoteMemory for Bml {
    fn remote(&self, peer: Peer) -> Option<Remote> {
        by_route!(self.routed(peer), btl => btl.remote(peer))
    }

    fn register(&mut self, peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.register(peer, memory))
    }

    fn deregister(&mut self, peer: Peer, key: RemoteKey) {
        by_route!(self.routed_mut(peer), btl => btl.deregister(peer, key));
    }

    fn read(
        &mut self,
        peer: Peer,
        into: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.read(peer, into, key, offset, cookie))
    }

    fn write(&mut self, peer: Peer, from: UserMem, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.write(peer, from, key, offset))
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
        by_route!(self.routed_mut(peer), btl => btl.fetch(peer, change, before, key, offset, cookie))
    }

    fn update(&mut self, peer: Peer, change: Atomic, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        by_route!(self.routed_mut(peer), btl => btl.update(peer, change, key, offset))
    }

    fn flush(&mut self, peer: Peer) -> Flushed {
        by_route!(self.routed_mut(peer), btl => btl.flush(peer))
    }
}

impl FastPath for Bml {
    /// All routes but that of this process to itself are vader's or, where there is no vader, Gemini's; every other
    /// peer is reached the long way.
    fn route(&self, peer: Peer) -> Route {
        match (&self.vader, &self.gemini, self.reached(peer)) {
            (_, _, Reached::Itself) => TO_ITSELF,
            (Some(vader), _, Reached::Vader) => vader.route(peer),
            (None, Some(gemini), Reached::Gemini) => gemini.route(peer),
            _ => Route::NONE,
        }
    }

    /// For vader only: a call of another transport would have the fast path keep its arguments in memory.
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

    /// Receives by vader only, as [`Bml::send_on`] sends. What Gemini brings meanwhile is for
    /// [`FastPath::receive_longer_if`].
    #[inline(always)]
    fn receive_within<T: Take>(&mut self, route: Route, polls: u32, take: T) -> Option<T::Taken> {
        let Some(vader) = &mut self.vader else {
            if route != TO_ITSELF {
                self.poll_by_gemini(route, polls);
            }
            return None;
        };
        vader.receive_within(route, polls, take)
    }

    #[inline(always)]
    fn poll_route(&mut self, route: Route, polls: u32) -> bool {
        match &mut self.vader {
            _ if route == TO_ITSELF => self.loopback.poll_route(route, polls),
            Some(vader) => vader.poll_route(route, polls),
            None => self.poll_by_gemini(route, polls),
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

/// Off the fast path, which is vader's.
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
    fn poll_by_gemini(&mut self, route: Route, polls: u32) -> bool {
        self.gemini.as_mut().is_some_and(|gemini| gemini.poll_route(route, polls))
    }

    #[inline(never)]
    fn next_of_all(&mut self) -> Option<Arrival> {
        self.turn = self.turn.wrapping_add(1);
        self.in_turn().find_map(|which| on!(self.there_mut(which), btl => btl?.next_arrival()))
    }

    #[inline(never)]
    fn next_event_of_all(&mut self) -> Option<Event> {
        self.in_turn().find_map(|which| on!(self.there_mut(which), btl => btl?.next_event()))
    }

    /// All transports, beginning with the one whose turn it is.
    fn in_turn(&self) -> impl Iterator<Item = Reached> + use<> {
        let count = Reached::ALL.len();
        let first = self.turn % count;
        (first..first + count).map(move |place| Reached::ALL[place % count])
    }
}
