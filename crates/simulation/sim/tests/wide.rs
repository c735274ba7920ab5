//! Wide nodes: what the library's table chooses there, by the simulator's costs.

use coll::Coll;
use coll::algorithms::registry::Memory;
use sim::experiments::{algorithms, allreduce, chosen};
use sim::{Setup, SoftwareCosts, paper};

fn node(caches: (u32, u32)) -> Setup {
    Setup {
        ranks_per_node: 512,
        node_spacing: 1,
        caches: Some(caches),
        software: SoftwareCosts::WIDE_NODE,
        vader: Some(paper::vader_params(&[]).expect("no parameter")),
        ..paper::setup(paper::FITTED)
    }
}

/// Trees over caches are chosen, and no other way through slots takes less than two thirds of their time, whatever the radix.
#[test]
fn the_table_knows_wide_nodes() {
    for caches in [(8, 12), (16, 8)] {
        for coll in [Coll::Barrier, Coll::Bcast, Coll::Reduce, Coll::Allreduce] {
            for ranks in [64, 128, 256, 512] {
                let setup = node(caches);
                let time = |setup: &Setup, name: &str| {
                    let found = algorithms(setup, coll, ranks).find(|algorithm| algorithm.name == name);
                    allreduce(setup, found.expect("it fits"), ranks, 1).expect("right sums").nanoseconds
                };
                let choice = chosen(&setup, coll, ranks, 1).expect("one node");
                assert_eq!(choice.algorithm.get().name, "slots_caches");
                let ours = time(&Setup { fanout: choice.fanout, ..setup.clone() }, "slots_caches");
                let by_slots = |memory| matches!(memory, Memory::Slots | Memory::SlotsByCache);
                let others = algorithms(&setup, coll, ranks).filter(|other| by_slots(other.needs.memory));
                for other in others.filter(|other| other.name != "slots_all") {
                    for fanout in [2, 4, 8, 16] {
                        let theirs = time(&Setup { fanout, ..setup.clone() }, other.name);
                        let what = format!("{} on {ranks} ranks, {caches:?}, radix {fanout}", other.name);
                        assert!(ours <= 1.5 * theirs, "{}: {ours} ns, {what}: {theirs} ns", coll.name());
                    }
                }
            }
        }
    }
}
