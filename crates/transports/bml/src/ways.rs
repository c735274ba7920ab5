//! The transports of the table one by one, for a layer that chooses among them.

use btl::{Arrival, Btl, Busy, Event, Limits, Peer, Way, Ways};
use mem::Source;

use crate::slot::Slot;
use crate::{Bml, Reached};

impl Reached {
    fn way(self) -> Way {
        Way(self as u8)
    }

    fn of_way(way: Way) -> Reached {
        Reached::ALL[usize::from(way.0)]
    }
}

impl Ways for Bml {
    fn ways(&self, peer: Peer) -> Vec<Way> {
        let mut ways: Vec<(Reached, u64)> = Bml::ways(self, peer).collect();
        ways.sort_by_key(|&(_, time)| time);
        ways.into_iter().map(|(which, _)| which.way()).collect()
    }

    fn name_of(&self, way: Way) -> &'static str {
        Reached::of_way(way).name()
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
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.send(peer, header, payload))
    }

    fn next_arrival_by(&mut self) -> Option<(Way, Arrival)> {
        self.turn = self.turn.wrapping_add(1);
        self.in_turn().find_map(|which| {
            let arrival = on!(self.there_mut(which), btl => btl?.next_arrival())?;
            Some((which.way(), arrival))
        })
    }

    fn release_by(&mut self, way: Way, arrival: Arrival) {
        on!(self.routed_mut(Reached::of_way(way)), btl => btl.release(arrival));
    }

    fn next_event_by(&mut self) -> Option<(Way, Event)> {
        self.in_turn().find_map(|which| {
            let event = on!(self.there_mut(which), btl => btl?.next_event())?;
            Some((which.way(), event))
        })
    }

    fn owes_by(&self, way: Way, peer: Peer) -> bool {
        on!(self.routed(Reached::of_way(way)), btl => btl.owes(peer))
    }
}
