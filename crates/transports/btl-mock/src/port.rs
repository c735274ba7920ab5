//! One rank's end of the network.

use std::cell::RefCell;
use std::rc::Rc;

use btl::{
    Access, Arrival, Asleep, Btl, Busy, Event, FastPath, Full, Limits, Loss, MAX_HEADER_WORDS, Peer, Refusal,
    RemoteKey, RemoteMemory, Route, SHORT, Sleep, Take,
};
use mem::{PeerBytes, PeerSpace, Source, UserMem};

use crate::{Exposure, Packet, State, Transfer};

/// The transport of one virtual rank.
pub struct Port {
    rank: u32,
    pub(crate) limits: Limits,
    state: Rc<RefCell<State>>,
    /// The message that is out.
    held: Option<Packet>,
}

impl Port {
    pub(crate) fn new(rank: u32, state: Rc<RefCell<State>>) -> Port {
        let limits = state.borrow().options.limits;
        Port { rank, limits, state, held: None }
    }

    /// Takes a message from any path of `peer`, the first tried at random; returns the path, too.
    fn take_from(&mut self, peer: u32) -> Option<(usize, Arrival)> {
        assert!(self.held.is_none(), "an arrival was asked for while another is out");
        let mut state = self.state.borrow_mut();
        let late = state.options.late;
        if state.chance(late) {
            return None;
        }
        let paths = state.options.paths;
        let start = state.random.below(paths as u64) as usize;
        let (path, packet) = (0..paths)
            .map(|n| (start + n) % paths)
            .find_map(|path| Some((path, state.path(peer, self.rank, path).pop_front()?)))?;
        drop(state);
        let packet = self.held.insert(packet);
        // SAFETY: `held` keeps both buffers, whose heap memory does not move, until `release`; the contract
        // makes the user drop the views then.
        let (header, payload) = unsafe {
            (
                PeerBytes::new(packet.header.as_ptr(), packet.header.len()),
                PeerBytes::new(packet.payload.as_ptr(), packet.payload.len()),
            )
        };
        Some((path, Arrival { peer: Peer(peer), header, payload, token: 0 }))
    }

    fn start(
        &mut self,
        access: Access,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        if state.dead[peer.0 as usize] {
            return Err(Refusal::Unfit);
        }
        state.transfers.push(Transfer {
            rank: self.rank,
            peer,
            local,
            key: key.0[0],
            offset,
            access,
            cookie,
        });
        Ok(())
    }
}

impl State {
    fn refuse(&mut self) -> Result<(), Refusal> {
        let (busy, unfit) = (self.options.busy, self.options.unfit);
        if self.chance(busy) {
            return Err(Refusal::Busy);
        }
        if self.chance(unfit) {
            return Err(Refusal::Unfit);
        }
        Ok(())
    }
}

impl RemoteMemory for Port {}

impl Btl for Port {
    fn reaches(&self, peer: Peer) -> bool {
        peer.0 < self.state.borrow().options.ranks
    }

    fn limits(&self, _: Peer) -> &Limits {
        &self.limits
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let len = payload.remaining();
        assert!(header.len() <= MAX_HEADER_WORDS && len <= self.limits.max_send);
        let mut state = self.state.borrow_mut();
        let (busy, slots, paths) = (state.options.busy, state.options.slots, state.options.paths);
        if state.chance(busy) {
            return Err(Busy);
        }
        let path = state.random.below(paths as u64) as usize;
        if state.path(self.rank, peer.0, path).len() >= slots {
            return Err(Busy);
        }
        let header = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = vec![0; len];
        payload.fill(PeerSpace::of(&mut bytes));
        if !state.dead[peer.0 as usize] {
            state.path(self.rank, peer.0, path).push_back(Packet { header, payload: bytes });
        }
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let (ranks, start) = {
            let mut state = self.state.borrow_mut();
            let ranks = state.options.ranks as u64;
            (ranks, state.random.below(ranks))
        };
        (0..ranks).find_map(|n| self.take_from(((start + n) % ranks) as u32)).map(|(_, arrival)| arrival)
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        self.take_from(peer.0).map(|(_, arrival)| arrival)
    }

    fn release(&mut self, _: Arrival) {
        assert!(self.held.take().is_some(), "no arrival is out");
    }

    fn next_event(&mut self) -> Option<Event> {
        let mut state = self.state.borrow_mut();
        let late = state.options.late;
        if !state.chance(late) {
            state.run_transfer(self.rank);
        }
        state.events[self.rank as usize].pop_front()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        Loss { seen: "the simulation killed it".into(), advice: "and at the test".into() }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        state.keys += 1;
        let key = state.keys;
        state.exposed.insert(key, Exposure { owner: self.rank, peer, memory, access });
        Ok(RemoteKey([key, 0, 0]))
    }

    fn conceal(&mut self, _: Peer, key: RemoteKey) {
        self.state.borrow_mut().exposed.remove(&key.0[0]);
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let align = self.limits.get_align;
        assert!(self.limits.get && local.len() <= self.limits.max_get, "a get that the limits forbid");
        assert!(
            local.address().is_multiple_of(align) && local.len().is_multiple_of(align),
            "alignment of a get"
        );
        self.start(Access::Read, peer, local, key, offset, cookie)
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        assert!(self.limits.put && local.len() <= self.limits.max_put, "a put that the limits forbid");
        self.start(Access::Write, peer, local, key, offset, cookie)
    }

    fn congested(&self, peer: Peer) -> bool {
        self.state.borrow().congested[peer.0 as usize]
    }

    /// Rings belong to one pair each.
    fn full(&self, peer: Peer) -> Option<Full> {
        let mut state = self.state.borrow_mut();
        let (paths, slots) = (state.options.paths, state.options.slots);
        (0..paths).all(|path| state.path(self.rank, peer.0, path).len() >= slots).then_some(Full::Peer)
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        let mut state = self.state.borrow_mut();
        if state.options.congestion_word {
            state.congested[self.rank as usize] = on;
        }
        state.options.congestion_word
    }

    fn arm(&mut self) -> Option<Sleep> {
        None
    }

    fn disarm(&mut self) {}
}

impl FastPath for Port {
    fn route(&self, peer: Peer) -> Route {
        Route(peer.0)
    }

    fn send_on<S: Source>(&mut self, route: Route, header: &[u64], payload: &mut S) -> Result<Asleep, Busy> {
        if payload.remaining() > SHORT.min(self.limits.eager).min(self.limits.max_send) {
            return Err(Busy);
        }
        self.send_eager_on(route, header, payload).map(|()| Asleep(false))
    }

    fn send_eager_on<S: Source>(
        &mut self,
        route: Route,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        if route == Route::NONE { Err(Busy) } else { self.send(Peer(route.0), header, payload) }
    }

    fn receive_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        if route == Route::NONE {
            return None;
        }
        let (path, arrival) = self.take_from(route.0)?;
        let taken = take.take(arrival.header, arrival.payload);
        let packet = self.held.take()?;
        if taken.is_none() {
            self.state.borrow_mut().path(route.0, self.rank, path).push_front(packet);
        }
        taken
    }

    fn receive_longer_if<T: Take>(&mut self, route: Route, take: T) -> Option<T::Taken> {
        self.receive_if(route, take)
    }

    fn poll_route(&mut self, route: Route, _looks: u32) -> bool {
        route != Route::NONE
    }
}
