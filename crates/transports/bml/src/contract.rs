//! The table as one transport: each call goes to the transport of its peer.

use core::ops::Range;

use btl::{
    Access, Arrival, Asleep, Atomic, Btl, Busy, Event, FastPath, Flushed, Full, Limits, Loss, Peer, Refusal,
    Remote, RemoteKey, RemoteMemory, Route, Sleep, Take,
};
use mem::{Source, UserMem};

use crate::slot::Slot;
use crate::{Bml, Reached, TO_ITSELF};

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

    fn full(&self, peer: Peer) -> Option<Full> {
        by_route!(self.routed(peer), btl => btl.full(peer))
    }

    fn must_look_for_losses(&self) -> bool {
        let mut must = false;
        on_each!(self.there(), btl => must |= btl.must_look_for_losses());
        must
    }

    /// Each transport looks after those whose route it is.
    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        let mut found = false;
        let mut routed = Vec::new();
        for &which in Reached::ALL {
            routed.clear();
            routed.extend(awaited.iter().filter(|&&peer| self.reached(peer) == which));
            found |= on!(self.there_mut(which), btl => btl.is_some_and(|btl| btl.look_for_losses(&routed)));
        }
        found
    }

    fn has_ended(&mut self, peer: Peer) {
        by_route!(self.routed_mut(peer), btl => btl.has_ended(peer));
    }

    fn is_flushed(&self) -> bool {
        let mut flushed = true;
        on_each!(self.there(), btl => flushed &= btl.is_flushed());
        flushed
    }

    fn owes(&self, peer: Peer) -> bool {
        by_route!(self.routed(peer), btl => btl.owes(peer))
    }

    fn reaches_away(&self, peer: Peer) -> bool {
        by_route!(self.routed(peer), btl => btl.reaches_away(peer))
    }

    /// Any transport may have made a connection, also one that is no route.
    fn would_miss(&self, peer: Peer) -> bool {
        let mut would = false;
        on_each!(self.there(), btl => would |= btl.reaches(peer) && btl.would_miss(peer));
        would
    }

    /// Where one transport has no such word, the layer above sends messages to its peers, and those that see another's
    /// word learn it twice.
    fn advertise_congestion(&mut self, on: bool) -> bool {
        let mut seen_by_all = true;
        on_each!(self.there_mut(), btl => seen_by_all &= btl.advertise_congestion(on));
        seen_by_all
    }

    /// All doorbells are one word, which has the value of the transport that armed last. The loopback rings it, too, and
    /// arms only where no other transport does. Descriptors are slept on as in [`node::wakeup`].
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
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = Reached> + use<> {
        let count = Reached::ALL.len();
        let first = self.turn % count;
        (first..first + count).map(move |place| Reached::ALL[place % count])
    }
}
