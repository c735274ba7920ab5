//! The suite on cm, over simulated networks that match.

use btl_mock::Port;
use mtl::Limits;
use pml_cm::Cm;
use pml_conformance::Processes;
use pml_conformance::mock::{self, Net, Options};

fn world(options: Options) -> Processes<Cm<mock::Port>, Port> {
    let (net, frames) = (Net::new(options), btl_mock::Net::new(btl_mock::Options::new(options.ranks)));
    let layer = |rank| Cm::new(net.port(rank)).expect("bits enough");
    Processes::new((0..options.ranks).map(|rank| (layer(rank), frames.port(rank))).collect())
}

/// Data beside the bits, room enough.
mod kind {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        world(Options { seed, ..Options::new(ranks) })
    }

    pml_conformance::suite!(make);
}

/// Calls are refused, everything is late, long messages stay with their sender, nothing can be injected.
mod unpleasant {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        let mut options = Options { seed, slots: 4, busy: 20, late: 30, eager: 500, ..Options::new(ranks) };
        options.limits.inject = 0;
        world(options)
    }

    pml_conformance::suite!(make);
}

/// Half as much data: a source, and no names of requests.
mod nameless {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        let limits =
            Limits { match_bits: 48, data_bits: 32, directed: true, inject: 128, max_message: u64::MAX };
        world(Options { seed, limits, busy: 10, late: 20, ..Options::new(ranks) })
    }

    pml_conformance::suite!(make);
}

/// No data: the source is matched.
mod dataless {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        let limits =
            Limits { match_bits: 60, data_bits: 0, directed: true, inject: 4096, max_message: u64::MAX };
        world(Options { seed, limits, slots: 2, late: 20, ..Options::new(ranks) })
    }

    pml_conformance::suite!(make);
}

/// Receives that ask for a sender go before all others.
mod undirected {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        let mut options = Options { seed, busy: 10, late: 20, ..Options::new(ranks) };
        options.limits.directed = false;
        world(options)
    }

    pml_conformance::suite!(make);
}

/// Messages travel with sums.
mod verified {
    use super::*;
    use btl::Peer;
    use pml_cm::Verified;
    use sums::Faults;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        with_faults(ranks, seed, "")
    }

    /// Damage panics, since a test has no job to end.
    fn with_faults(ranks: u32, seed: u64, faults: &str) -> Processes<Cm<mock::Port>, Port> {
        let options = Options { seed, busy: 10, late: 20, ..Options::new(ranks) };
        let (net, frames) = (Net::new(options), btl_mock::Net::new(btl_mock::Options::new(ranks)));
        let layer = |rank| {
            let verified = Verified {
                me: Peer(rank),
                job: 5,
                path: "mock".into(),
                faults: Faults::of(faults, rank).expect("faults"),
                end: |text| panic!("{text}"),
            };
            Cm::new(net.port(rank)).expect("bits enough").verified(verified)
        };
        Processes::new((0..ranks).map(|rank| (layer(rank), frames.port(rank))).collect())
    }

    pml_conformance::suite!(make);

    fn damaged(ranks: u32, seed: u64) -> Processes<Cm<mock::Port>, Port> {
        with_faults(ranks, seed, &format!("seed={seed},damage=0.1"))
    }

    #[test]
    fn damage_is_found() {
        for check in [pml_conformance::many_messages_are_outstanding, pml_conformance::layouts_may_differ] {
            let ended = std::panic::catch_unwind(|| check(damaged));
            let text = *ended.expect_err("damage is found").downcast::<String>().expect("a report");
            assert_eq!(text.lines().count(), 3, "{text}");
            assert!(text.contains("over mock, from host of rank "), "{text}");
        }
    }
}
