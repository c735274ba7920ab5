//! Jobs on several nodes: what the library's table chooses there, by the simulator's costs.

use coll::Coll;
use coll::algorithms::registry::Memory;
use sim::experiments::{algorithms, allreduce, chosen, collective};
use sim::{Setup, paper};

/// They take as many steps as there are ranks.
const LONG: [&str; 6] = ["linear", "chain", "ring", "scatter_ring", "neighbour_exchange", "pairwise"];

/// No algorithm that is forced takes less than what the table chooses, by more than 5 %.
#[test]
fn the_table_knows_clusters() {
    let mut slower = vec![];
    for (nodes, ranks_per_node) in [(64, 1), (16, 8)] {
        let setup = Setup { ranks_per_node, node_spacing: 1, ..paper::setup(paper::FITTED) };
        let ranks = nodes * ranks_per_node;
        for (coll, sizes) in [
            (Coll::Barrier, &[0][..]),
            (Coll::Bcast, &[8, 1024, 8192]),
            (Coll::Reduce, &[8, 1024, 8192]),
            (Coll::Allreduce, &[8, 1024, 8192]),
            (Coll::Allgather, &[8]),
            (Coll::Alltoall, &[8]),
        ] {
            for words in sizes.iter().map(|bytes| bytes / 8) {
                let choice = chosen(&setup, coll, ranks, words).expect("an algorithm");
                let name = choice.algorithm.get().name;
                let ours = collective(&setup, &choice, ranks, words).expect("right data").nanoseconds;
                let others = algorithms(&setup, coll, ranks)
                    .filter(|other| other.needs.memory == Memory::None && !LONG.contains(&other.name));
                for other in others {
                    let theirs = allreduce(&setup, other, ranks, words).expect("right data").nanoseconds;
                    if ours > 1.05 * theirs {
                        slower.push(format!(
                            "{} of {} bytes on {nodes} nodes with {ranks_per_node} ranks: {name} {ours} ns, {} {theirs} ns",
                            coll.name(), 8 * words, other.name
                        ));
                    }
                }
            }
        }
    }
    assert!(slower.is_empty(), "{slower:#?}");
}
