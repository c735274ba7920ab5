//! Timelines of simulated jobs.

use std::sync::Arc;

use sim::experiments::{AmgWork, allreduce_algorithms, amg, lammps};
use sim::{Jobs, Setup, Timeline, paper};

fn traced() -> (Arc<Timeline>, Setup) {
    let timeline = Arc::<Timeline>::default();
    let setup =
        Setup { ranks_per_node: 4, timeline: Some(Arc::clone(&timeline)), ..paper::setup(paper::FITTED) };
    (timeline, setup)
}

/// Each message ends after it has begun, in a call that is there, and there are as many as were begun.
fn is_sound(jobs: &Jobs) {
    assert!(!jobs.messages.is_empty());
    for message in &jobs.messages {
        let call = |(rank, call): (u32, usize)| &jobs.ranks[rank as usize].calls[call];
        let (from, to) = (call(message.from), call(message.to));
        assert!(from.time.0 <= to.time.1, "{message:?}: {from:?} {to:?}");
        assert!(message.posted <= call(message.to).time.1, "{message:?}");
    }
    for rank in &jobs.ranks {
        assert_eq!(rank.dropped, 0);
        assert!(rank.calls.is_sorted_by_key(|call| call.time.0));
        assert!(rank.calls.windows(2).all(|two| two[0].time.1 <= two[1].time.0), "calls overlap");
        assert!(rank.requests.iter().all(|request| request.time.0 <= request.time.1));
    }
}

#[test]
fn messages_of_amg_go_forwards_in_time() {
    let (timeline, setup) = traced();
    let hierarchical = allreduce_algorithms(&setup, 8).find(|algorithm| algorithm.name == "hierarchical");
    let work = AmgWork { compute: 4e-3, iterations: Some(2) };
    amg(&setup, hierarchical.expect("an algorithm"), 8, work).expect("a run");
    let jobs = timeline.take();
    is_sound(&jobs);
    let reductions = jobs.ranks[0].calls.iter().filter(|call| call.name == "MPI_Allreduce").count();
    assert!(reductions > 0);
}

#[test]
fn lammps_has_its_calls() {
    let (timeline, setup) = traced();
    lammps(&setup, 8).expect("a run");
    let jobs = timeline.take();
    is_sound(&jobs);
    let count = |name: &str| jobs.ranks[0].calls.iter().filter(|call| call.name == name).count();
    // One step before, three ordinary ones and one with new neighbours, twelve messages in each, and twelve more in that.
    assert_eq!((count("MPI_Send"), count("MPI_Sendrecv")), (5 * 12 + 6, 6));
    assert_eq!(jobs.count, 1);
}
