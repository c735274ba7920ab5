//! The network as the one way that there is, for layers that stand on several.

use btl::{
    Access, Arrival, Btl, Busy, Event, Limits, Loss, Peer, Rails, Refusal, RemoteKey, Turn, Way, Ways,
};
use mem::{Source, UserMem};

use crate::Port;

const WAY: Way = Way(0);

impl Rails for Port {}

impl Ways for Port {
    fn ways(&self, _peer: Peer) -> Vec<Way> {
        vec![WAY]
    }

    fn name_of(&self, _way: Way) -> &'static str {
        "mock"
    }

    fn place_of(&self, _way: Way, _peer: Peer) -> String {
        String::new()
    }

    fn is_of_host(&self, _way: Way) -> bool {
        false
    }

    fn is_of_datagrams(&self, _way: Way) -> bool {
        false
    }

    fn limits_by(&self, _way: Way, _peer: Peer) -> &Limits {
        &self.limits
    }

    fn send_by<S: Source>(
        &mut self,
        _way: Way,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send(peer, header, payload)
    }

    fn depart(&mut self) {}

    fn expose_by(
        &mut self,
        _way: Way,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        self.expose(peer, memory, access)
    }

    fn conceal_by(&mut self, _way: Way, peer: Peer, key: RemoteKey) {
        self.conceal(peer, key);
    }

    fn copy_by(
        &mut self,
        _way: Way,
        peer: Peer,
        (local, stores): (UserMem, bool),
        (key, offset): (&RemoteKey, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        match stores {
            true => self.put(peer, local, key, offset, cookie),
            false => self.get(peer, local, key, offset, cookie),
        }
    }

    fn renew_by(&mut self, _way: Way, _peer: Peer) {}

    fn loss_by(&self, _way: Way, peer: Peer) -> Loss {
        self.loss(peer)
    }

    fn next_arrival_by(&mut self) -> Option<(Way, Arrival)> {
        Some((WAY, self.next_arrival()?))
    }

    fn release_by(&mut self, _way: Way, arrival: Arrival) {
        self.release(arrival);
    }

    fn next_event_by(&mut self) -> Option<(Way, Event)> {
        Some((WAY, self.next_event()?))
    }

    fn next_turn_by(&mut self) -> Option<(Way, Peer, Turn)> {
        None
    }

    fn owes_by(&self, _way: Way, peer: Peer) -> bool {
        self.owes(peer)
    }
}
