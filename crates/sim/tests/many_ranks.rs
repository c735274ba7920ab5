//! Many virtual ranks; every experiment checks the data that arrived.

use sim::experiments::{allreduce, allreduce_algorithms, halo};
use sim::paper::{FITTED, setup};
use sim::{Error, Setup};

fn machine(ranks_per_node: u32) -> Setup {
    Setup { ranks_per_node, node_spacing: 1, ..setup(FITTED) }
}

#[test]
fn every_allreduce_algorithm_gives_the_sum() {
    for algorithm in allreduce_algorithms() {
        for ranks in [1, 2, 13, 48] {
            let outcome = allreduce(&machine(4), algorithm, ranks, 3);
            outcome.unwrap_or_else(|error| panic!("{} on {ranks}: {error}", algorithm.name));
        }
    }
}

#[test]
fn halos_arrive_by_every_protocol() {
    for face in [8, 2000, 100_000] {
        let outcome = halo(&machine(4), 36, face).expect("an exchange");
        assert!(outcome.nanoseconds > face as f64 * 4.0 / 10.0);
    }
}

#[test]
fn equal_runs_are_equal() {
    let once = || halo(&machine(4), 64, 4096).expect("an exchange");
    assert_eq!(once(), once());
}

#[test]
fn a_job_larger_than_the_machine_is_refused() {
    assert!(matches!(halo(&machine(1), 10_000, 8), Err(Error::TooSmall { nodes: 9216, .. })));
}
