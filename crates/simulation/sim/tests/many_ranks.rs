//! Many virtual ranks; every experiment checks the data that arrived.

use btl_ugni::{UgniParams, UseMsgq};
use gni_timed::Background;
use sim::experiments::{
    AmgWork, Dimensions, LAMMPS_COMPUTE, Run, allreduce, allreduce_algorithms, amg, halo, lammps, latency,
};
use sim::paper::{FITTED, setup};
use sim::programs::{Pairs, PingPong};
use sim::{Cluster, Error, Setup, SoftwareCosts};

fn machine(ranks_per_node: u32) -> Setup {
    Setup { ranks_per_node, node_spacing: 1, ..setup(FITTED) }
}

fn through_nic(setup: Setup) -> Setup {
    Setup { vader: None, ..setup }
}

#[test]
fn every_allreduce_algorithm_gives_the_sum() {
    for machine in [machine(4), through_nic(machine(4)), machine(16)] {
        for ranks in [1, 2, 13, 48] {
            for algorithm in allreduce_algorithms(&machine, ranks) {
                let outcome = allreduce(&machine, algorithm, ranks, 3);
                outcome.unwrap_or_else(|error| panic!("{} on {ranks}: {error}", algorithm.name));
            }
        }
    }
}

#[test]
fn a_node_with_shared_memory_is_faster_than_its_nic() {
    let time = |setup: &Setup, name: &str| {
        let algorithm = allreduce_algorithms(setup, 64).find(|algorithm| algorithm.name == name);
        allreduce(setup, algorithm.expect(name), 64, 1).expect("an allreduce").nanoseconds
    };
    let (shared, nic) = (machine(16), through_nic(machine(16)));
    let messages = time(&shared, "hierarchical");
    assert!(messages < time(&nic, "hierarchical"));
    assert!(time(&shared, "hierarchical_slots") < messages);
}

/// S6 of the shapes: an application's share in allreduce rises with the ranks where the tree is poor.
#[test]
fn a_poor_tree_falls_behind_as_ranks_grow() {
    let machine = machine(16);
    let time = |ranks, name: &str| {
        let algorithm = allreduce_algorithms(&machine, ranks).find(|algorithm| algorithm.name == name);
        allreduce(&machine, algorithm.expect(name), ranks, 1).expect("an allreduce").nanoseconds
    };
    let growth = |name| time(1024, name) - time(256, name);
    let (poor, good) = (growth("tree"), growth("hierarchical_slots"));
    assert!(poor > 2.0 * good, "{poor} {good}");
}

#[test]
fn a_long_message_within_a_node_is_copied_once() {
    let mut cluster =
        Cluster::new(&machine(2), 2, |_| PingPong::new(Pairs(1), 1 << 20, 0, 2)).expect("a node");
    cluster.run().expect("a ping-pong");
    let (_, copied) = cluster.end(0).expect("rank 0").transport().node_traffic();
    assert!(copied >= 2 << 20, "{copied}");
    assert!(cluster.program(0).expect("rank 0").is_intact());
}

#[test]
fn halos_arrive_by_every_protocol() {
    for (dimensions, faces) in [(Dimensions::Two, 4.0), (Dimensions::Three, 6.0)] {
        for face in [8, 2000, 100_000] {
            let outcome = halo(&machine(4), 36, dimensions, face).expect("an exchange");
            assert!(outcome.nanoseconds > face as f64 * faces / 10.0);
        }
    }
}

#[test]
fn lammps_hides_no_time_and_jitter_costs_some() {
    let run = |jitter, seed| {
        let machine = machine(16);
        let software = SoftwareCosts { jitter, ..machine.software };
        lammps(&Setup { software, seed, ..machine }, 64).expect("a run")
    };
    let even = run(0.0, 0);
    assert!(even.loop_time > LAMMPS_COMPUTE && even.loop_time < 1.01 * LAMMPS_COMPUTE, "{even:?}");
    assert!(even.mpi < 0.01);
    // A rank waits for the slowest of those around it: of 64 draws the longest is 4.7 times the mean.
    let (uneven, more) = (run(0.02, 0), run(0.04, 0));
    let lost = |run: &Run| run.loop_time / LAMMPS_COMPUTE - 1.0;
    assert!((0.04..0.10).contains(&lost(&uneven)), "{uneven:?}");
    assert!(lost(&more) > 1.5 * lost(&uneven) && lost(&more) < 2.0 * lost(&uneven), "{more:?}");
    assert_eq!(run(0.02, 0), uneven);
    assert_ne!(run(0.02, 1), uneven);
}

/// S6 for an application: with a poor tree AMG's share in allreduce is larger and rises faster.
#[test]
fn a_poor_tree_takes_a_rising_share_of_amg() {
    let machine = machine(16);
    let run = |ranks, name: &str| {
        let algorithm = allreduce_algorithms(&machine, ranks).find(|algorithm| algorithm.name == name);
        amg(&machine, algorithm.expect(name), ranks, AmgWork { compute: 0.5e-3, iterations: None })
            .expect("a run")
            .iteration
    };
    let (few, poor, good) = (run(16, "tree"), run(64, "tree"), run(64, "hierarchical"));
    assert!(poor.shares[0].1 > few.shares[0].1, "{few:?} {poor:?}");
    assert!(poor.shares[0].1 > good.shares[0].1, "{poor:?} {good:?}");
    // The rest is computing, as far as ranks end at the same time.
    let computed = good.time * (1.0 - good.mpi);
    assert!((0.5e-3..0.7e-3).contains(&computed), "{good:?}");
}

/// The set-up phase reduces more often for what it takes, so that the whole run has a larger share in allreduce; an iteration is the
/// same with and without it.
#[test]
fn amg_s_set_up_has_its_own_share() {
    let machine = machine(16);
    let run = |name: &str, iterations| {
        let algorithm = allreduce_algorithms(&machine, 32).find(|algorithm| algorithm.name == name);
        amg(&machine, algorithm.expect(name), 32, AmgWork { compute: 0.5e-3, iterations }).expect("a run")
    };
    let (alone, poor, good) = (run("tree", None), run("tree", Some(10)), run("hierarchical", Some(10)));
    assert_eq!(alone.iteration, poor.iteration);
    assert!(alone.set_up.is_none() && alone.whole.is_none());
    let (set_up, whole) = (poor.set_up.expect("a set-up"), poor.whole.expect("a whole run"));
    assert!((whole.time - set_up.time - 10.0 * poor.iteration.time).abs() < 1e-12);
    let between = [set_up.mpi, poor.iteration.mpi];
    assert!(between.iter().any(|&part| part <= whole.mpi) && between.iter().any(|&part| part >= whole.mpi));
    assert!(whole.shares[0].1 > good.whole.expect("a whole run").shares[0].1, "{poor:?} {good:?}");
    assert!(set_up.shares[2].1 > 0.0 && poor.iteration.shares[2].1 == 0.0);
}

#[test]
fn equal_runs_are_equal() {
    let once = || halo(&machine(4), 64, Dimensions::Two, 4096).expect("an exchange");
    assert_eq!(once(), once());
}

/// Room for few messages at a time is room enough where few are under way.
#[test]
fn compact_ranks_take_about_as_long() {
    let usual = machine(16);
    let params = UgniParams { smsg_max_credits: 4, smsg_page_size: 8192, ..usual.params.clone() };
    let compact = Setup { compact: true, params, ..usual.clone() };
    for name in ["hierarchical", "hierarchical_slots"] {
        let time = |machine: &Setup| {
            let algorithm = allreduce_algorithms(machine, 96).find(|algorithm| algorithm.name == name);
            allreduce(machine, algorithm.expect(name), 96, 1).expect("an allreduce").nanoseconds
        };
        let (usual, compact) = (time(&usual), time(&compact));
        assert!((compact / usual - 1.0).abs() < 0.01, "{name}: {usual} {compact}");
    }
}

/// Also a peer to which only messages go that the queue does not take.
#[test]
fn longer_messages_count_as_uses() {
    let run = |use_msgq| {
        let machine = machine(1);
        let params = UgniParams { use_msgq, msgq_uses: 1, ..machine.params.clone() };
        latency(&Setup { params, ..machine }, 512, 0).expect("a ping-pong")
    };
    assert_eq!(run(UseMsgq::ByUse), run(UseMsgq::Never));
    assert_eq!(run(UseMsgq::Always).protocol, "Eager GET");
}

#[test]
fn peers_get_a_mailbox_by_use() {
    let run = |use_msgq, msgq_uses| {
        let machine = machine(4);
        let params = UgniParams { use_msgq, msgq_uses, smsg_page_size: 8192, ..machine.params.clone() };
        let doubling = allreduce_algorithms(&machine, 64).find(|it| it.name == "recursive_doubling");
        let outcome = allreduce(&Setup { params, ..machine }, doubling.expect("it is there"), 64, 1);
        outcome.map(|outcome| (outcome.nanoseconds, outcome.registered)).expect("an allreduce")
    };
    let (boxes, queue) = (run(UseMsgq::Never, 1), run(UseMsgq::Always, 1));
    let (used, unused) = (run(UseMsgq::ByUse, 1), run(UseMsgq::ByUse, 100));
    assert!(boxes.0 < queue.0, "{boxes:?} {queue:?}");
    assert_eq!(unused, queue);
    assert!(used.0 < queue.0 && used.1 > queue.1, "{used:?} {queue:?}");
}

#[test]
fn other_jobs_cost_time_and_equal_runs_see_equal_ones() {
    let run = |share: f64| {
        let background = (share > 0.0).then_some(Background { share, bytes: 16384.0 });
        let machine = Setup { background, ..machine(4) };
        halo(&machine, 64, Dimensions::Two, 4096).expect("an exchange")
    };
    let (alone, some, much) = (run(0.0), run(0.2), run(0.5));
    assert!(alone.nanoseconds < some.nanoseconds && some.nanoseconds < much.nanoseconds);
    assert_eq!(run(0.2), some);
}

#[test]
fn a_job_larger_than_the_machine_is_refused() {
    assert!(matches!(
        halo(&machine(1), 10_000, Dimensions::Two, 8),
        Err(Error::TooSmall { nodes: 9216, .. })
    ));
}
