//! The transports of the table one by one, for a layer that chooses among them.

use btl::{
    Access, Arrival, Btl, Busy, Event, Limits, Loss, Peer, Rails, Refusal, RemoteKey, Turn, Way, Ways,
};
use mem::{Source, UserMem};

use crate::slot::Slot;
use crate::{Bml, Reached};

impl Reached {
    fn way(self, rail: u8) -> Way {
        Way::new(self as u8, rail)
    }

    fn of_way(way: Way) -> Reached {
        Reached::ALL[usize::from(way.transport())]
    }
}

impl Ways for Bml {
    fn ways(&self, peer: Peer) -> Vec<Way> {
        let mut ways: Vec<(Reached, u64)> = Bml::ways(self, peer).collect();
        ways.sort_by_key(|&(_, time)| time);
        let rails = |(which, _): (Reached, u64)| {
            let rails = on!(self.routed(which), btl => btl.rails(peer));
            (0..rails).map(move |rail| which.way(rail))
        };
        ways.into_iter().flat_map(rails).collect()
    }

    fn name_of(&self, way: Way) -> &'static str {
        Reached::of_way(way).name()
    }

    fn place_of(&self, way: Way, peer: Peer) -> String {
        on!(self.routed(Reached::of_way(way)), btl => btl.place_of(way.rail(), peer))
    }

    fn is_of_datagrams(&self, way: Way) -> bool {
        on!(self.routed(Reached::of_way(way)), btl => btl.is_of_datagrams())
    }

    fn is_of_host(&self, way: Way) -> bool {
        matches!(Reached::of_way(way), Reached::Itself | Reached::Vader)
    }

    fn limits_by(&self, way: Way, peer: Peer) -> &Limits {
        on!(self.routed(Reached::of_way(way)), btl => btl.limits(peer))
    }

    fn send_by<S: Source>(
        &mut self,
        way: Way,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.send_over(way.rail(), peer, header, payload))
    }

    fn depart(&mut self) {
        on_each!(self.there_mut(), btl => btl.depart());
    }

    fn expose_by(
        &mut self,
        way: Way,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.expose(peer, memory, access))
    }

    fn conceal_by(&mut self, way: Way, peer: Peer, key: RemoteKey) {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.conceal(peer, key));
    }

    fn copy_by(
        &mut self,
        way: Way,
        peer: Peer,
        (local, stores): (UserMem, bool),
        (key, offset): (&RemoteKey, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        on!(self.routed_mut(Reached::of_way(way)), btl => match stores {
            true => btl.put(peer, local, key, offset, cookie),
            false => btl.get(peer, local, key, offset, cookie),
        })
    }

    fn renew_by(&mut self, way: Way, peer: Peer) {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.renew(way.rail(), peer));
    }

    fn loss_by(&self, way: Way, peer: Peer) -> Loss {
        on!(self.routed(Reached::of_way(way)), btl => btl.loss_over(way.rail(), peer))
    }

    fn next_arrival_by(&mut self) -> Option<(Way, Arrival)> {
        self.turn = self.turn.wrapping_add(1);
        self.in_turn().find_map(|which| {
            on!(self.there_mut(which), btl => {
                let btl = btl?;
                let arrival = btl.next_arrival()?;
                Some((which.way(btl.rail_of(&arrival)), arrival))
            })
        })
    }

    fn release_by(&mut self, way: Way, arrival: Arrival) {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.release(arrival));
    }

    fn next_event_by(&mut self) -> Option<(Way, Event)> {
        self.in_turn().find_map(|which| {
            let event = on!(self.there_mut(which), btl => btl?.next_event())?;
            Some((which.way(0), event))
        })
    }

    fn next_turn_by(&mut self) -> Option<(Way, Peer, Turn)> {
        self.in_turn().find_map(|which| {
            let (peer, rail, turn) = on!(self.there_mut(which), btl => btl?.next_turn())?;
            Some((which.way(rail), peer, turn))
        })
    }

    fn owes_by(&self, way: Way, peer: Peer) -> bool {
        on!(self.routed(Reached::of_way(way)), btl => btl.owes_over(way.rail(), peer))
    }
}
