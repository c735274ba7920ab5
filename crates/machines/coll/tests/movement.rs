//! Algorithms that only move data, against the definition.

mod common;

use coll::algorithms::{allgather, alltoall, barrier, bcast, gather, scatter};
use coll::executor::Type;
use common::*;

fn check_bcast(name: &str, build: Build) {
    let mut random = Rng::new(0xB0);
    for size in all_sizes() {
        for _ in 0..3 {
            let case = Case::random(size, &mut random);
            let data = bytes(case.root, 0, case.count * ELEMENT);
            let calls = (0..size).map(|r| {
                // Types may differ between ranks as long as the packed bytes agree.
                let half = Type { size: 4, lb: 0, extent: 6 };
                let (ty, count) = if r % 3 == 1 { (half, 2 * case.count) } else { (case.ty, case.count) };
                let initial = if r == case.root { data.clone() } else { blank(case.count) };
                let mut p = case.params(r);
                p.contiguous = ty == Type::contiguous(ELEMENT);
                call(build(&p), ty, 0, count, case.count * ELEMENT, memory(ty, None, Some(&initial)))
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                let count = case.count * ELEMENT / m.recv_type.size;
                assert!(received(m, count) == data, "{name} rank {r} {case:?}");
            }
        }
    }
}

#[test]
fn bcast_algorithms() {
    check_bcast("binomial", bcast::binomial);
    check_bcast("knomial", bcast::knomial);
    check_bcast("binary", bcast::binary);
    check_bcast("chain", bcast::chain);
    check_bcast("linear", bcast::linear);
    check_bcast("split_binary", bcast::split_binary);
    check_bcast("scatter_recursive_doubling", bcast::scatter_recursive_doubling);
    check_bcast("scatter_ring", bcast::scatter_ring);
}

/// Every rank's contribution in rank order.
fn gathered(case: &Case) -> Vec<u8> {
    (0..case.size).flat_map(|r| bytes(r, 0, case.count * ELEMENT)).collect()
}

/// The receive buffer of an in-place call: the own block is there already.
fn in_place_buffer(case: &Case, r: usize) -> Vec<u8> {
    let mut recv = blank(case.count * case.size);
    let block = case.count * ELEMENT;
    recv[r * block..(r + 1) * block].copy_from_slice(&bytes(r, 0, block));
    recv
}

fn check_gather(name: &str, build: Build) {
    let mut random = Rng::new(0xB1);
    for size in all_sizes() {
        for _ in 0..2 {
            let case = Case::random(size, &mut random);
            let calls = (0..size).map(|r| {
                let own = bytes(r, 0, case.count * ELEMENT);
                let root = r == case.root;
                let in_place = root && case.in_place;
                let recv = if in_place { in_place_buffer(&case, r) } else { blank(case.count * size) };
                let mut p = case.params(r);
                p.in_place = in_place;
                let m = memory(case.ty, (!in_place).then_some(&own[..]), root.then_some(&recv[..]));
                let recv_count = if root { case.count } else { 0 };
                call(build(&p), case.ty, case.count, recv_count, case.count * ELEMENT, m)
            });
            let memories = run(&case, &[], calls.collect());
            let m = &memories[case.root];
            assert!(received(m, case.count * size) == gathered(&case), "{name} {case:?}");
            check_holes(&case, m, case.count * size);
        }
    }
}

#[test]
fn gather_algorithms() {
    check_gather("binomial", gather::binomial);
    check_gather("linear", gather::linear);
}

fn check_allgather(name: &str, build: Build) {
    let mut random = Rng::new(0xB2);
    for size in all_sizes() {
        for _ in 0..2 {
            let mut case = Case::random(size, &mut random);
            case.count = case.count.min(if size > 24 { 5 } else { 20 });
            let calls = (0..size).map(|r| {
                let own = bytes(r, 0, case.count * ELEMENT);
                let recv = if case.in_place { in_place_buffer(&case, r) } else { blank(case.count * size) };
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv));
                call(build(&case.params(r)), case.ty, case.count, case.count, case.count * ELEMENT, m)
            });
            for m in run(&case, &[], calls.collect()) {
                assert!(received(&m, case.count * size) == gathered(&case), "{name} {case:?}");
                check_holes(&case, &m, case.count * size);
            }
        }
    }
}

#[test]
fn allgather_algorithms() {
    check_allgather("ring", allgather::ring);
    check_allgather("recursive_doubling", allgather::recursive_doubling);
    check_allgather("bruck", allgather::bruck);
    check_allgather("linear", allgather::linear);
    check_allgather("neighbour_exchange", allgather::neighbour_exchange);
}

fn check_scatter(name: &str, build: Build) {
    let mut random = Rng::new(0xB4);
    for size in all_sizes() {
        for _ in 0..2 {
            let case = Case::random(size, &mut random);
            let all = gathered(&case);
            let block = case.count * ELEMENT;
            let calls = (0..size).map(|r| {
                let root = r == case.root;
                let mut p = case.params(r);
                p.in_place = root && case.in_place;
                let recv = blank(case.count);
                let m = memory(case.ty, root.then_some(&all[..]), (!p.in_place).then_some(&recv[..]));
                call(build(&p), case.ty, if root { case.count } else { 0 }, case.count, block, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                if r != case.root || !case.in_place {
                    assert!(
                        received(m, case.count) == all[r * block..(r + 1) * block],
                        "{name} {r} {case:?}"
                    );
                    check_holes(&case, m, case.count);
                }
            }
        }
    }
}

#[test]
fn scatter_algorithms() {
    check_scatter("binomial", scatter::binomial);
    check_scatter("linear", scatter::linear);
}

/// The block that `from` sends to `to`.
fn block_between(from: usize, to: usize, count: usize) -> Vec<u8> {
    bytes(from, 1000 + to, count * ELEMENT)
}

fn check_alltoall(name: &str, build: Build) {
    let mut random = Rng::new(0xB5);
    for size in all_sizes() {
        for _ in 0..2 {
            let mut case = Case::random(size, &mut random);
            case.count = case.count.min(if size > 24 { 3 } else { 15 });
            let outgoing =
                |r: usize| (0..size).flat_map(|to| block_between(r, to, case.count)).collect::<Vec<u8>>();
            let calls = (0..size).map(|r| {
                let out = outgoing(r);
                let recv = if case.in_place { out.clone() } else { blank(case.count * size) };
                let m = memory(case.ty, (!case.in_place).then_some(&out[..]), Some(&recv));
                call(build(&case.params(r)), case.ty, case.count, case.count, case.count * ELEMENT, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                let expected: Vec<u8> =
                    (0..size).flat_map(|from| block_between(from, r, case.count)).collect();
                assert!(received(m, case.count * size) == expected, "{name} rank {r} {case:?}");
                check_holes(&case, m, case.count * size);
            }
        }
    }
}

#[test]
fn alltoall_algorithms() {
    check_alltoall("linear", alltoall::linear);
    check_alltoall("linear_sync", alltoall::linear_sync);
    check_alltoall("scattered", alltoall::scattered);
    check_alltoall("pairwise", alltoall::pairwise);
    check_alltoall("bruck", alltoall::bruck);
}

/// A barrier is one if no rank can finish before every rank has started.
fn check_barrier(name: &str, build: Build) {
    let mut random = Rng::new(0xB3);
    for size in all_sizes() {
        let case = Case::random(size, &mut random);
        let silent = case.root;
        let schedules: Vec<_> = (0..size).map(|r| build(&case.params(r))).collect();
        let calls = |with_silent: bool| {
            let m = || memory(case.ty, None, None);
            let rank = |r: usize| {
                let schedule =
                    if r == silent && !with_silent { Default::default() } else { schedules[r].clone() };
                call(schedule, case.ty, 0, 0, 0, m())
            };
            (0..size).map(rank).collect::<Vec<_>>()
        };
        run(&case, &[], calls(true));
        if size > 1 {
            let world =
                coll::executor::VirtualRanks::new(calls(false), size, &[], op_of(true), false, case.seed)
                    .unwrap();
            let stuck = world.run().err().unwrap_or_else(|| panic!("{name} {size}: no rank waited"));
            let waiting = stuck.lines().filter(|l| l.starts_with("rank ")).count();
            assert_eq!(waiting, size - 1, "{name}: all wait for rank {silent} of {size}\n{stuck}");
        }
    }
}

#[test]
fn barrier_algorithms() {
    check_barrier("dissemination", barrier::dissemination);
    check_barrier("recursive_doubling", barrier::recursive_doubling);
    check_barrier("tree", barrier::tree);
    check_barrier("linear", barrier::linear);
}
