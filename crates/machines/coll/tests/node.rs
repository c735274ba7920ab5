//! Algorithms over the shared area of one node, for every rank count from 1 to 70.

mod common;

use coll::algorithms::node::{blocks, bounce, direct, flag, slots};
use coll::executor::{Call, Type, VirtualRanks};
use coll::schedule::Slot;
use coll::shared::{PAYLOAD, SLOT_PAYLOAD};
use coll::{Locality, Params, Schedule};
use common::*;

/// How much data an algorithm takes.
#[derive(Clone, Copy, PartialEq)]
enum Fits {
    /// One slot.
    Slot,
    /// Any number of bounce buffers; types with holes are allowed where data is only moved.
    BounceBuffers,
    /// Anything.
    Any,
}

fn adapt(mut case: Case, fits: Fits, random: &mut Rng) -> Case {
    case.count = match fits {
        Fits::Slot => random.below((SLOT_PAYLOAD / ELEMENT) as u64 + 1) as usize,
        Fits::BounceBuffers => random.pick(&[0, 1, 5, 100, 4095, 5000, 9001]),
        Fits::Any => random.pick(&[0, 1, 5, 100, 333]),
    };
    if case.size > 9 {
        case.count = case.count.min(40);
    }
    if fits == Fits::BounceBuffers {
        let least = bounce::segments_for((case.count * ELEMENT) as u64, ELEMENT as u64) as u32;
        case.segments = least + random.below(3) as u32;
    }
    case
}

/// As many segments as a block for each rank fills bounce buffers, or some more.
fn vector_of_bounce_buffers(mut case: Case, random: &mut Rng) -> Case {
    let vector = (case.size * case.count * ELEMENT) as u64;
    case.segments = bounce::segments_for(vector, ELEMENT as u64) as u32 + random.below(3) as u32;
    case
}

fn without_holes(mut case: Case) -> Case {
    case.ty = Type::contiguous(ELEMENT);
    case
}

/// Also those of wide nodes, where algorithms are for such.
fn sizes(fits: Fits) -> impl Iterator<Item = usize> {
    all_sizes().chain([130, 260].into_iter().filter(move |_| fits == Fits::Slot))
}

fn check_barrier(name: &str, build: impl Fn(&Params) -> Schedule) {
    let mut random = Rng::new(0xE0);
    for size in sizes(Fits::Slot) {
        let case = Case::random(size, &mut random);
        let missing = case.root;
        let calls = |all: bool| -> Vec<Call> {
            let schedule =
                |r: usize| if !all && r == missing { Default::default() } else { build(&case.params(r)) };
            (0..size).map(|r| call(schedule(r), case.ty, 0, 0, 0, memory(case.ty, None, None))).collect()
        };
        run(&case, &[], calls(true));
        if size > 1 {
            let world = VirtualRanks::new(calls(false), size, &[], op_of(true), false, case.seed).unwrap();
            let stuck = world.run().err().unwrap_or_else(|| panic!("{name} {size}: no rank waited"));
            let waiting = stuck.lines().filter(|l| l.starts_with("rank ")).count();
            assert_eq!(waiting, size - 1, "{name} {size}: all wait for {missing}\n{stuck}");
        }
    }
}

#[test]
fn barriers() {
    check_barrier("all", slots::barrier_all);
    check_barrier("flat", slots::barrier_flat);
    check_barrier("flag", slots::barrier_flag);
    check_barrier("tree", slots::barrier_tree);
    check_barrier("dissemination", slots::barrier_dissemination);
}

fn check_bcast(name: &str, fits: Fits, build: impl Fn(&Params) -> Schedule) {
    let mut random = Rng::new(0xE1);
    for size in sizes(fits) {
        let case = adapt(Case::random(size, &mut random), fits, &mut random);
        let data = bytes(case.root, 0, case.count * ELEMENT);
        let calls = (0..size).map(|r| {
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

#[test]
fn broadcasts() {
    check_bcast("slots flat", Fits::Slot, slots::bcast_flat);
    check_bcast("slots tree", Fits::Slot, slots::bcast_tree);
    check_bcast("bounce", Fits::BounceBuffers, bounce::bcast);
    check_bcast("direct", Fits::Any, direct::bcast);
}

fn check_reduction(name: &str, rooted: bool, fits: Fits, build: impl Fn(&Params) -> Schedule) {
    let mut random = Rng::new(0xE2);
    for size in sizes(fits) {
        let case = adapt(Case::random(size, &mut random), fits, &mut random);
        let case = if fits == Fits::Slot { case } else { without_holes(case) };
        let calls = (0..size).map(|r| {
            let own = elements(r, 0, case.count);
            let gets = !rooted || r == case.root;
            let mut p = case.params(r);
            p.in_place = gets && case.in_place;
            let recv = if p.in_place { own.clone() } else { blank(case.count) };
            let m = memory(case.ty, (!p.in_place).then_some(&own[..]), gets.then_some(&recv[..]));
            call(build(&p), case.ty, case.count, case.count, 0, m)
        });
        let expected = reduced(0..size, 0, case.count, case.commutative);
        for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
            if !rooted || r == case.root {
                assert!(received(m, case.count) == expected, "{name} rank {r} {case:?}");
                check_holes(&case, m, case.count);
            }
        }
    }
}

#[test]
fn reductions() {
    check_reduction("reduce slots flat", true, Fits::Slot, slots::reduce_flat);
    check_reduction("reduce slots tree", true, Fits::Slot, slots::reduce_tree);
    check_reduction("reduce bounce", true, Fits::BounceBuffers, bounce::reduce);
    check_reduction("reduce bounce flat", true, Fits::BounceBuffers, bounce::reduce_flat);
    check_reduction("reduce direct", true, Fits::Any, direct::reduce);
    check_reduction("reduce direct flat", true, Fits::Any, direct::reduce_flat);
    check_reduction("slots all", false, Fits::Slot, slots::allreduce_all);
    check_reduction("slots flat", false, Fits::Slot, slots::allreduce_flat);
    check_reduction("slots flag", false, Fits::Slot, slots::allreduce_flag);
    check_reduction("slots tree", false, Fits::Slot, slots::allreduce_tree);
    check_reduction("bounce", false, Fits::BounceBuffers, bounce::allreduce);
    check_reduction("direct", false, Fits::Any, direct::allreduce);
}

/// What ranks are bound to: runs of equal length, those within memory nodes; of uneven length; in turn over all caches,
/// or at random; all to one; every other one to none.
const LOCALITIES: [fn(u32) -> Locality; 7] = [
    |rank| Locality { memory: 0, cache: rank / 8 },
    |rank| Locality { memory: rank / 32, cache: rank / 8 },
    |rank| Locality { memory: (rank + 1).ilog2() / 3, cache: (rank + 1).ilog2() },
    |rank| Locality { memory: rank % 2, cache: rank % 12 },
    |rank| Locality { memory: rank * rank % 3, cache: rank * rank % 7 },
    |_| Locality { memory: 1, cache: 5 },
    |rank| Locality { memory: rank / 24, cache: if rank % 2 == 0 { u32::MAX } else { rank / 12 } },
];

#[test]
fn trees_over_caches() {
    for (index, locality) in LOCALITIES.into_iter().enumerate() {
        let placed = |build: Build| {
            move |p: &Params| {
                let localities: Vec<Locality> = (0..p.size).map(locality).collect();
                build(&Params { localities: &localities, ..*p })
            }
        };
        let name = format!("caches, localities {index}");
        check_barrier(&name, placed(slots::barrier_caches));
        check_bcast(&name, Fits::Slot, placed(slots::bcast_caches));
        check_reduction(&name, true, Fits::Slot, placed(slots::reduce_caches));
        check_reduction(&name, false, Fits::Slot, placed(slots::allreduce_caches));
    }
}

/// With as many ranks as a cache has, no slot is read from one cache by more than the leaders of others.
#[test]
fn few_lines_leave_a_cache() {
    let localities: Vec<Locality> =
        (0..96).map(|rank| Locality { memory: rank / 48, cache: rank / 8 }).collect();
    let mut crossings = [0, 0];
    for rank in 0..96 {
        let schedule = slots::allreduce_caches(&Params { localities: &localities, ..Params::new(rank, 96) });
        for step in schedule.steps() {
            let coll::schedule::Step::Await { slot: Slot::Of(other), .. } = step else { continue };
            let (here, there) = (localities[rank as usize], localities[*other as usize]);
            crossings[0] += usize::from(here.cache != there.cache);
            crossings[1] += usize::from(here.memory != there.memory);
        }
    }
    // Each way one for each of twelve caches but the first, and one for the second memory node.
    assert_eq!(crossings, [22, 2]);
}

/// `block(from, to)` packed; allgather ignores `to`.
fn check_exchange(name: &str, fits: Fits, all_to_all: bool, build: Build) {
    let mut random = Rng::new(0xE3);
    for size in all_sizes() {
        let mut case = adapt(Case::random(size, &mut random), fits, &mut random);
        if all_to_all {
            case.count = case.count.min(if size > 24 { 3 } else { 12 });
        }
        let len = case.count * ELEMENT;
        let block = |from: usize, to: usize| bytes(from, if all_to_all { 100 + to } else { 0 }, len);
        let calls = (0..size).map(|r| {
            let out: Vec<u8> =
                if all_to_all { (0..size).flat_map(|to| block(r, to)).collect() } else { block(r, 0) };
            let mut recv = blank(case.count * size);
            if case.in_place && all_to_all {
                recv = out.clone();
            } else if case.in_place {
                recv[r * len..(r + 1) * len].copy_from_slice(&out);
            }
            let m = memory(case.ty, (!case.in_place).then_some(&out[..]), Some(&recv));
            call(build(&case.params(r)), case.ty, case.count, case.count, len, m)
        });
        for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
            let expected: Vec<u8> = (0..size).flat_map(|from| block(from, r)).collect();
            assert!(received(m, case.count * size) == expected, "{name} rank {r} {case:?}");
            check_holes(&case, m, case.count * size);
        }
    }
}

#[test]
fn exchanges() {
    check_exchange("allgather slots", Fits::Slot, false, blocks::allgather_all);
    check_exchange("allgather flag", Fits::Slot, false, blocks::allgather_flag);
    check_exchange("alltoall slots", Fits::Slot, true, blocks::alltoall_all);
    check_exchange("alltoall flag", Fits::Slot, true, blocks::alltoall_flag);
    check_exchange("allgather bounce", Fits::BounceBuffers, false, bounce::allgather);
    check_exchange("alltoall bounce", Fits::BounceBuffers, true, bounce::alltoall);
    check_exchange("alltoall bounce flag", Fits::BounceBuffers, true, flag::alltoall);
    check_exchange("allgather direct", Fits::Any, false, direct::allgather);
    check_exchange("alltoall direct", Fits::Any, true, direct::alltoall);
}

#[test]
fn gathers_and_scatters() {
    let mut random = Rng::new(0xE5);
    for size in all_sizes() {
        let mut case = adapt(Case::random(size, &mut random), Fits::Slot, &mut random);
        case.count = case.count.min(if size > 24 { 3 } else { 12 });
        let len = case.count * ELEMENT;
        let all: Vec<u8> = (0..size).flat_map(|r| bytes(r, 7, len)).collect();
        let block = |r: usize| &all[r * len..(r + 1) * len];
        let at_root = |r: usize| case.in_place && r == case.root;
        let params = |r: usize| Params { in_place: at_root(r), ..case.params(r) };
        for build in [blocks::gather_flat as Build, direct::gather] {
            let calls = (0..size).map(|r| {
                let mut recv = blank(case.count * size);
                if at_root(r) {
                    recv[r * len..(r + 1) * len].copy_from_slice(block(r));
                }
                let recv = (r == case.root).then_some(&recv[..]);
                let m = memory(case.ty, (!at_root(r)).then_some(block(r)), recv);
                call(build(&params(r)), case.ty, case.count, case.count, len, m)
            });
            let gathered = run(&case, &[], calls.collect());
            assert!(received(&gathered[case.root], case.count * size) == all, "gather {case:?}");
        }
        for build in [blocks::scatter_flat as Build, direct::scatter, bounce::scatter] {
            let calls = (0..size).map(|r| {
                let (send, recv) = ((r == case.root).then_some(&all[..]), blank(case.count));
                let m = memory(case.ty, send, (!at_root(r)).then_some(&recv[..]));
                call(build(&params(r)), case.ty, case.count, case.count, len, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                assert!(at_root(r) || received(m, case.count) == block(r), "scatter {case:?}");
            }
        }
    }
}

#[test]
fn prefixes_and_scattered_sums() {
    let mut random = Rng::new(0xE6);
    for size in all_sizes() {
        let in_lines = adapt(Case::random(size, &mut random), Fits::Slot, &mut random);
        // Some lie in bounce buffers: one in four is eight times as long.
        let longer = if random.below(4) == 0 { 8 } else { 1 };
        let count = (in_lines.count * longer).min(PAYLOAD / ELEMENT / size);
        let case = Case { count, ..in_lines };
        let in_bounce_buffers = without_holes(adapt(case, Fits::BounceBuffers, &mut random));
        for (build, own, case) in [
            (blocks::scan_all as Build, 1, case),
            (blocks::exscan_all, 0, case),
            (bounce::scan, 1, in_bounce_buffers),
            (bounce::exscan, 0, in_bounce_buffers),
        ] {
            let calls = (0..size).map(|r| {
                let mine = elements(r, 0, case.count);
                let recv = if case.in_place { mine.clone() } else { blank(case.count) };
                let m = memory(case.ty, (!case.in_place).then_some(&mine[..]), Some(&recv));
                call(build(&case.params(r)), case.ty, case.count, case.count, 0, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate().filter(|(r, _)| r + own > 0) {
                let expected = reduced(0..r + own, 0, case.count, case.commutative);
                assert!(received(m, case.count) == expected, "prefix {r} {case:?}");
                check_holes(&case, m, case.count);
            }
        }
        let scattered = [
            (blocks::reduce_scatter_block_all as Build, case),
            (blocks::reduce_scatter_block_flag, case),
            (direct::reduce_scatter_block, without_holes(case)),
            (flag::reduce_scatter_block, vector_of_bounce_buffers(in_bounce_buffers, &mut random)),
        ];
        for (build, case) in scattered {
            let calls = (0..size).map(|r| {
                let mine = elements(r, 0, case.count * size);
                let recv = if case.in_place { mine.clone() } else { blank(case.count) };
                let m = memory(case.ty, (!case.in_place).then_some(&mine[..]), Some(&recv));
                call(build(&case.params(r)), case.ty, case.count, case.count, 0, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                let expected = reduced(0..size, r * case.count, case.count, case.commutative);
                assert!(received(m, case.count) == expected, "reduce_scatter {r} {case:?}");
            }
        }
    }
}

/// Many calls in a row over one area, with ranks that run ahead: slots and bounce buffers are reused again and again.
#[test]
fn calls_in_a_row() {
    let mut random = Rng::new(0xE4);
    for size in [1, 2, 3, 5, 9] {
        let mut case = without_holes(Case::random(size, &mut random));
        (case.commutative, case.user_op) = (true, false);
        // Twenty of a kind from one root, then anything.
        let mut rounds: Vec<(usize, usize)> = (0..60).map(|i| ([0, 4, 1][i / 20], i / 20 % size)).collect();
        rounds.extend((0..60).map(|_| (random.below(6) as usize, random.below(size as u64) as usize)));
        let calls_of = |round: usize| -> Vec<Call> {
            let (kind, root) = rounds[round];
            let case =
                Case { root, count: if kind < 4 { 4 } else { 4500 }, in_place: false, segments: 2, ..case };
            let one = |r: usize| {
                let build: Build = [
                    slots::bcast_flat,
                    slots::reduce_flat,
                    slots::allreduce_flag,
                    slots::barrier_flag,
                    bounce::bcast,
                    bounce::reduce,
                ][kind];
                let own = elements(r * 100 + round, 0, case.count);
                let bcast = matches!(kind, 0 | 4);
                let recv = if bcast && r == root { own.clone() } else { blank(case.count) };
                let m = memory(case.ty, Some(&own), Some(&recv));
                call(build(&case.params(r)), case.ty, case.count, case.count, case.count * ELEMENT, m)
            };
            (0..size).map(one).collect()
        };
        let mut world = VirtualRanks::new(calls_of(0), size, &[], op_of(true), false, case.seed).unwrap();
        for round in 1..rounds.len() {
            world = world.then(calls_of(round));
        }
        let results = world.run_all().unwrap_or_else(|e| panic!("{size} ranks: {e}"));
        for (round, &(kind, root)) in rounds.iter().enumerate() {
            let sum = |count| reduced((0..size).map(|r| r * 100 + round), 0, count, true);
            for (r, calls) in results.iter().enumerate() {
                let expected = match kind {
                    0 => elements(root * 100 + round, 0, 4),
                    4 => elements(root * 100 + round, 0, 4500),
                    2 => sum(4),
                    1 if r == root => sum(4),
                    5 if r == root => sum(4500),
                    _ => continue,
                };
                let got = received(&calls[round], expected.len() / ELEMENT);
                assert!(got == expected, "call {round} of kind {kind} at rank {r} of {size}");
            }
        }
    }
}
