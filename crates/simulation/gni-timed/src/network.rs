//! When transactions happen.
//!
//! ```text
//!   PUT, message     begin ─ request ─ hops ─▶ target          the data holds NIC and links on its way
//!                    ended ◀─ hops ─ response ─┘
//!   GET              begin ─ request ─ hops ─▶ target
//!                    ended ◀══ hops ══ response, with the data
//!   block transfer   the same, `bte_start` later
//! ```

use crate::background::Others;
use crate::clock::Clocks;
use crate::costs::Costs;
use crate::occupancy::{Occupancy, Picos};
use crate::torus::{Link, ORDERS, Torus};
use crate::world::NetworkConfig;
use gni::{InstId, PeAddr, Time};
use gni_soft::Class;
use gni_soft::inproc::{Flow, Model, Timing};
use std::sync::atomic::Ordering;

/// The cost model: the torus, and when each of its links and NIC ports is taken.
pub(crate) struct Network {
    torus: Torus,
    adaptive: bool,
    costs: Costs,
    clocks: Clocks,
    /// By chip, dimension, direction.
    links: Vec<Occupancy>,
    /// Traffic of other jobs on the links.
    others: Option<Others>,
    /// By node: out of it, into it.
    ports: Vec<[Occupancy; 2]>,
}

/// How far ahead other jobs' messages are put on a link: a transaction that waits on its way comes later than its head.
const AHEAD: Picos = 20_000_000;

fn picos(nanoseconds: f64) -> Picos {
    (nanoseconds * 1000.0).round() as Picos
}

fn time(picos: Picos) -> Time {
    Time((picos + 500) / 1000)
}

impl Network {
    pub(crate) fn new(config: &NetworkConfig, clocks: Clocks) -> Network {
        let NetworkConfig { torus, adaptive, costs, background, .. } = *config;
        let links = torus.geminis() as usize * 6;
        Network {
            torus,
            adaptive,
            costs,
            clocks,
            links: vec![Occupancy::default(); links],
            others: background.map(|background| Others::new(background, links)),
            ports: vec![<[Occupancy; 2]>::default(); torus.nodes() as usize],
        }
    }

    fn index(link: Link) -> usize {
        link.gemini as usize * 6 + link.dim * 2 + usize::from(link.up)
    }

    fn held(&self, link: Link, bytes: f64) -> Picos {
        picos(bytes / self.costs.link_rate(link.dim))
    }

    /// The order of dimensions in which a head that is in the network at `head` is at `to` first; the usual one where it
    /// makes no difference.
    fn order(&self, head: Picos, (from, to): (PeAddr, PeAddr), bytes: f64) -> [usize; 3] {
        let arrives = |order: &[usize; 3]| {
            self.torus.route_in(from, to, *order).fold(head, |head, link| {
                let free = self.links[Network::index(link)].free_at(head, self.held(link, bytes));
                free + picos(self.costs.hop)
            })
        };
        ORDERS.into_iter().min_by_key(arrives).unwrap_or(ORDERS[0])
    }

    /// Lets other jobs' messages on the links of a way from `from` to `to`, up to when one that is in the network at
    /// `head` may use them.
    fn let_others_pass(&mut self, now: Picos, head: Picos, (from, to): (PeAddr, PeAddr), order: [usize; 3]) {
        let Some(others) = &mut self.others else { return };
        let until = head + u64::from(self.torus.hops(from, to)) * picos(self.costs.hop) + AHEAD;
        for link in self.torus.route_in(from, to, order) {
            let (index, rate) = (Network::index(link), self.costs.link_rate(link.dim));
            others.pass(index, &mut self.links[index], (now, until), rate);
        }
    }

    fn hops_time(&self, from: PeAddr, to: PeAddr) -> Picos {
        u64::from(self.torus.hops(from, to)) * picos(self.costs.hop)
    }

    /// When the last of `bytes` that leave `from` at `start` is at `to`: through the NIC's port, each link, and the
    /// other NIC's port, all of which it holds for as long as it needs there. `now` is the moment of submission.
    fn carry(&mut self, now: Picos, start: Picos, (from, to): (PeAddr, PeAddr), bytes: u64) -> Picos {
        let bytes = bytes as f64 + self.costs.packet_overhead;
        let (hop, port) = (picos(self.costs.hop), picos(bytes / self.costs.nic_rate));
        let mut ahead = self.hops_time(from, to);
        let mut head = self.ports[from.0 as usize][0].take(now, start, port);
        let mut last = head + port + ahead;
        let ways = if self.adaptive { &ORDERS[..] } else { &ORDERS[..1] };
        ways.iter().for_each(|&order| self.let_others_pass(now, head, (from, to), order));
        let order = if self.adaptive { self.order(head, (from, to), bytes) } else { ORDERS[0] };
        for link in self.torus.route_in(from, to, order) {
            let held = self.held(link, bytes);
            head = self.links[Network::index(link)].take(now, head, held);
            last = last.max(head + held + ahead);
            head += hop;
            ahead -= hop;
        }
        head = self.ports[to.0 as usize][1].take(now, head, port);
        last.max(head + port)
    }
}

impl Model for Network {
    fn time(&mut self, now: Time, flow: &Flow) -> Timing {
        // The rank may have computed since its NIC last got the time.
        let clock = self.clocks[flow.from_inst.0 as usize].load(Ordering::Relaxed);
        let extra = if flow.class == Class::Bte { self.costs.bte_start } else { 0.0 };
        let now = now.0.max(clock) * 1000;
        let begun = now + picos(extra + self.costs.request);
        let (response, hops) = (picos(self.costs.response), self.hops_time(flow.from, flow.to));
        if flow.fetches {
            let landed = self.carry(now, begun + hops + response, (flow.to, flow.from), flow.bytes);
            Timing { carried_out: time(landed), ended: time(landed) }
        } else {
            let landed = self.carry(now, begun, (flow.from, flow.to), flow.bytes);
            Timing { carried_out: time(landed), ended: time(landed + response + hops) }
        }
    }

    fn packet(&mut self, now: Time, from: (PeAddr, InstId), to: (PeAddr, InstId)) -> Time {
        let clock = self.clocks[from.1.0 as usize].load(Ordering::Relaxed);
        time(now.0.max(clock) * 1000 + picos(self.costs.datagram) + self.hops_time(from.0, to.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        routed(false)
    }

    fn routed(adaptive: bool) -> Network {
        let clocks = (0..8).map(|_| 0.into()).collect();
        let costs = Costs { packet_overhead: 0.0, ..Costs::SOURCED };
        Network::new(&NetworkConfig { adaptive, costs, ..NetworkConfig::cielo(8) }, clocks)
    }

    fn flow(from: u32, to: u32, class: Class, fetches: bool, bytes: u64) -> Flow {
        let (from_inst, to_inst) = (InstId(0), InstId(1));
        Flow { from: PeAddr(from), to: PeAddr(to), from_inst, to_inst, class, fetches, bytes, ordered: false }
    }

    #[test]
    fn a_short_message_takes_request_and_hops() {
        let mut network = network();
        let timing = network.time(Time(1000), &flow(0, 4, Class::Message, false, 0));
        assert_eq!(timing.carried_out, Time(1000 + 700 + 2 * 105));
        assert_eq!(timing.ended, Time(1000 + 700 + 300 + 4 * 105));
    }

    #[test]
    fn a_get_takes_both_ways_and_its_data() {
        let timing = network().time(Time(0), &flow(0, 2, Class::Fma, true, 6911));
        assert_eq!(timing.ended, Time(700 + 300 + 2 * 105 + 1000));
    }

    #[test]
    fn the_narrowest_part_of_the_way_sets_the_pace() {
        let mut network = network();
        let bytes = 46_875_000;
        // Along X the NICs are the narrowest, along Y the link.
        let along_x = network.time(Time(0), &flow(0, 2, Class::Fma, false, bytes)).carried_out;
        let along_y = network.time(Time(0), &flow(200, 200 + 2 * 16, Class::Fma, false, bytes)).carried_out;
        assert_eq!(along_x.0 - 805, (bytes as f64 / 6.911).round() as u64);
        assert_eq!(along_y.0 - 805, (bytes as f64 / 4.6875).round() as u64);
    }

    #[test]
    fn transfers_that_share_a_link_take_turns_and_others_do_not() {
        let mut network = network();
        let alone = network.time(Time(0), &flow(0, 4, Class::Bte, false, 1 << 20)).carried_out;
        let elsewhere = network.time(Time(0), &flow(100, 104, Class::Bte, false, 1 << 20)).carried_out;
        let sharing = network.time(Time(0), &flow(2, 4, Class::Bte, false, 1 << 20)).carried_out;
        let back = network.time(Time(0), &flow(4, 0, Class::Bte, false, 1 << 20)).carried_out;
        assert_eq!(elsewhere, alone);
        assert_eq!(back, alone, "directions do not share");
        assert!(sharing.0 > alone.0 + 100_000, "{sharing:?} {alone:?}");
    }

    #[test]
    fn adaptive_routes_go_round_a_link_that_is_taken() {
        let time = |adaptive| {
            let mut network = routed(adaptive);
            // From chip 0 to chip 1 along X, then from chip 0 to the chip beyond it in Y.
            network.time(Time(0), &flow(0, 2, Class::Bte, false, 1 << 20));
            network.time(Time(0), &flow(1, 2 * 17, Class::Bte, false, 1 << 10)).carried_out
        };
        assert!(time(true) + Time(100_000) < time(false), "{:?} {:?}", time(true), time(false));
        let alone = |adaptive| routed(adaptive).time(Time(0), &flow(1, 34, Class::Bte, false, 1 << 10));
        assert_eq!(alone(true).carried_out, alone(false).carried_out);
    }

    #[test]
    fn the_ranks_clock_counts_where_it_is_ahead() {
        let mut network = network();
        network.clocks[0].store(5000, Ordering::Relaxed);
        let timing = network.time(Time(0), &flow(0, 1, Class::Message, false, 0));
        assert_eq!(timing.carried_out, Time(5700));
    }
}
