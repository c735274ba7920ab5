//! The other MPI of the XE6 beside this one, on virtual time: what the paper says of the two.

use sim::experiments::{Dimensions, allreduce, allreduce_algorithms, halo, latency};
use sim::paper::{FITTED, MPICH2, MPICH2_POINTS, as_in_the_paper, setup, with_mpich2};
use sim::{Setup, SoftwareCosts, calibrate};

fn pair() -> [Setup; 2] {
    [setup(FITTED), with_mpich2(setup(FITTED))]
}

fn nanoseconds(setup: &Setup, bytes: usize, offset: usize) -> f64 {
    latency(setup, bytes, offset).expect("a ping-pong").nanoseconds
}

/// By how much the other MPI takes longer.
fn behind(bytes: usize, offset: usize) -> f64 {
    let [ours, other] = pair();
    nanoseconds(&other, bytes, offset) / nanoseconds(&ours, bytes, offset) - 1.0
}

#[test]
fn two_points_are_hit_and_the_others_predicted() {
    let [_, other] = pair();
    for point in MPICH2_POINTS {
        let simulated = latency(&other, point.bytes, point.offset).expect("a ping-pong");
        let error = simulated.nanoseconds / 1000.0 / point.latency - 1.0;
        let allowed = if point.fitted { 0.002 } else { 0.05 };
        assert!(error.abs() <= allowed, "{} bytes: {simulated:?}, {error}", point.bytes);
        assert_eq!(simulated.protocol, point.protocol, "{} bytes", point.bytes);
    }
}

#[test]
fn the_fit_is_what_fitting_gives() {
    let fitted = calibrate::fit_mpich2(FITTED, SoftwareCosts::SOURCED).expect("a fit");
    for (fitted, kept) in fitted.parameters().iter().zip(MPICH2.parameters()) {
        assert!((fitted.value / kept.value - 1.0).abs() < 0.002 || fitted.value == kept.value, "{fitted:?}");
    }
}

/// Shape 1: the two are very close at most sizes.
#[test]
fn the_two_are_close_beyond_the_eager_band() {
    for bytes in [16 << 10, 64 << 10, 512 << 10, 1 << 20, 8 << 20] {
        assert!(behind(bytes, 0).abs() < 0.05, "{bytes}: {}", behind(bytes, 0));
    }
}

/// Shape 2: Open MPI is clearly ahead from 1 KB to 8 KB, where both fetch into buffers.
#[test]
fn the_other_is_behind_in_the_eager_band() {
    for bytes in [1024, 1500, 2048, 4096, 8176] {
        assert!(behind(bytes, 0) > 0.2, "{bytes}: {}", behind(bytes, 0));
    }
    assert!(behind(8192, 0) < 0.1);
}

/// Shape 4: inside the spikes of odd lengths Open MPI is ahead; beyond 512 KB the advantage is gone.
#[test]
fn the_other_is_behind_inside_the_spikes() {
    let spikes = [(8 << 10) + 3, (32 << 10) + 3, (128 << 10) + 3, (512 << 10) - 1];
    for pair in spikes.windows(2) {
        assert!(behind(pair[0], 1) > behind(pair[1], 1), "the advantage fades");
    }
    assert!(behind(spikes[0], 1) > 0.05);
    spikes.iter().for_each(|&bytes| assert!(behind(bytes, 1) > 0.0));
    for bytes in [(1 << 20) + 3, (8 << 20) + 3] {
        assert!(behind(bytes, 1) < 0.02, "{bytes}: {}", behind(bytes, 1));
    }
}

/// Shape 3, with the paper's version of ob1: an odd length alone makes the spike.
#[test]
fn odd_lengths_are_spikes_as_in_the_paper() {
    let paper = as_in_the_paper(setup(FITTED));
    for bytes in [(8 << 10) + 3, (64 << 10) + 1] {
        let (aligned, odd) = (nanoseconds(&paper, bytes & !3, 0), nanoseconds(&paper, bytes, 0));
        assert!(odd > aligned + 2000.0, "{bytes}: {odd} {aligned}");
        assert!((odd / nanoseconds(&setup(FITTED), bytes, 1) - 1.0).abs() < 0.01);
    }
}

/// S6: with the poor tree of its time Open MPI's allreduce falls behind the other MPI's as ranks grow; a better algorithm
/// takes the difference away.
#[test]
fn a_poor_tree_loses_to_the_other_and_a_good_one_does_not() {
    let machine = |other: bool| {
        let nodes = Setup { ranks_per_node: 16, node_spacing: 1, ..setup(FITTED) };
        if other { with_mpich2(nodes) } else { nodes }
    };
    let time = |other: bool, ranks, name: &str| {
        let setup = machine(other);
        let algorithm = allreduce_algorithms(&setup, ranks).find(|algorithm| algorithm.name == name);
        allreduce(&setup, algorithm.expect(name), ranks, 1).expect("an allreduce").nanoseconds
    };
    let behind = |ranks, name| time(false, ranks, name) / time(true, ranks, "hierarchical") - 1.0;
    assert!(behind(1024, "tree") > behind(256, "tree"));
    assert!(behind(1024, "tree") > 0.2, "{}", behind(1024, "tree"));
    assert!(behind(1024, "hierarchical") < 0.0);
}

#[test]
fn halos_arrive_by_every_protocol() {
    let machine = with_mpich2(Setup { ranks_per_node: 4, node_spacing: 1, ..setup(FITTED) });
    for face in [8, 2000, 100_000, 1_000_001] {
        let outcome = halo(&machine, 36, Dimensions::Two, face).expect("an exchange");
        assert!(outcome.nanoseconds > face as f64 * 4.0 / 10.0);
    }
}
