//! Algorithms over several nodes: ranks placed node by node, round-robin, and at random.

mod common;

use coll::algorithms::hierarchical::{movement, reductions};
use coll::executor::{Call, VirtualRanks};
use coll::shared::SLOT_PAYLOAD;
use coll::{Params, Schedule, Topology};
use common::*;

struct Placed {
    case: Case,
    node_of: Vec<u32>,
}

impl Placed {
    fn params(&self, rank: usize) -> Params<'_> {
        Params { topology: Some(Topology::new(&self.node_of)), ..self.case.params(rank) }
    }

    fn run(&self, calls: impl Iterator<Item = Call>) -> Vec<coll::executor::Memory> {
        run(&self.case, &self.node_of, calls.collect())
    }
}

fn placed(seed: u64, small: bool) -> impl Iterator<Item = Placed> {
    let mut random = Rng::new(seed);
    sizes().flat_map(|n| [n, n]).map(move |size| {
        let mut case = Case::random(size, &mut random);
        case.count = if small { case.count % (SLOT_PAYLOAD / ELEMENT + 1) } else { case.count.min(20) };
        Placed { case, node_of: place(size, &mut random) }
    })
}

type Build = for<'a> fn(&Params<'a>) -> Schedule;

#[test]
fn barriers() {
    for build in [movement::barrier as Build, movement::barrier_lines] {
        for at in placed(0xF0, false) {
            let (case, missing) = (at.case, at.case.root);
            let calls = |all: bool| -> Vec<Call> {
                let schedule =
                    |r: usize| if !all && r == missing { Default::default() } else { build(&at.params(r)) };
                let one = |r| call(schedule(r), case.ty, 0, 0, 0, memory(case.ty, None, None));
                (0..case.size).map(one).collect()
            };
            at.run(calls(true).into_iter());
            if case.size > 1 {
                let world =
                    VirtualRanks::new(calls(false), case.size, &at.node_of, op_of(true), false, case.seed)
                        .unwrap();
                let stuck = world.run().expect_err("no rank waited");
                assert_eq!(stuck.lines().filter(|l| l.starts_with("rank ")).count(), case.size - 1);
            }
        }
    }
}

#[test]
fn broadcasts() {
    for (build, small) in [(movement::bcast as Build, false), (movement::bcast_lines, true)] {
        for at in placed(0xF1, small) {
            let case = at.case;
            let data = bytes(case.root, 0, case.count * ELEMENT);
            let calls = (0..case.size).map(|r| {
                let initial = if r == case.root { data.clone() } else { blank(case.count) };
                let m = memory(case.ty, None, Some(&initial));
                call(build(&at.params(r)), case.ty, 0, case.count, data.len(), m)
            });
            for m in at.run(calls) {
                assert!(received(&m, case.count) == data, "{case:?} {:?}", at.node_of);
            }
        }
    }
}

#[test]
fn gather_scatter_and_allgather() {
    for at in placed(0xF2, false) {
        let (case, node_of) = (at.case, &at.node_of);
        let block = case.count * ELEMENT;
        let all: Vec<u8> = (0..case.size).flat_map(|r| bytes(r, 0, block)).collect();
        let holding = |r: usize, in_place: bool| {
            let mut recv = blank(case.count * case.size);
            if in_place {
                recv[r * block..(r + 1) * block].copy_from_slice(&bytes(r, 0, block));
            }
            recv
        };
        let gather = (0..case.size).map(|r| {
            let root = r == case.root;
            let p = Params { in_place: root && case.in_place, ..at.params(r) };
            let (own, recv) = (bytes(r, 0, block), holding(r, p.in_place));
            let m = memory(case.ty, (!p.in_place).then_some(&own[..]), root.then_some(&recv[..]));
            let recv_count = if root { case.count } else { 0 };
            call(movement::gather(&p), case.ty, case.count, recv_count, block, m)
        });
        let memories = at.run(gather);
        let m = &memories[case.root];
        assert!(received(m, case.count * case.size) == all, "gather {case:?} {node_of:?}");

        let scatter = (0..case.size).map(|r| {
            let root = r == case.root;
            let p = Params { in_place: root && case.in_place, ..at.params(r) };
            let recv = blank(case.count);
            let m = memory(case.ty, root.then_some(&all[..]), (!p.in_place).then_some(&recv[..]));
            call(movement::scatter(&p), case.ty, if root { case.count } else { 0 }, case.count, block, m)
        });
        for (r, m) in at.run(scatter).iter().enumerate() {
            let kept = r == case.root && case.in_place;
            assert!(kept || received(m, case.count) == all[r * block..(r + 1) * block], "scatter {case:?}");
        }

        for build in [movement::allgather as Build, movement::allgather_doubling] {
            let allgather = (0..case.size).map(|r| {
                let (own, recv) = (bytes(r, 0, block), holding(r, case.in_place));
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv));
                call(build(&at.params(r)), case.ty, case.count, case.count, block, m)
            });
            for m in at.run(allgather) {
                assert!(received(&m, case.count * case.size) == all, "allgather {case:?} {node_of:?}");
            }
        }
    }
}

#[test]
fn alltoall() {
    for at in placed(0xF3, false) {
        let mut case = at.case;
        case.count = case.count.min(4);
        let block = |from: usize, to: usize| bytes(from, 100 + to, case.count * ELEMENT);
        let calls = (0..case.size).map(|r| {
            let out: Vec<u8> = (0..case.size).flat_map(|to| block(r, to)).collect();
            let recv = if case.in_place { out.clone() } else { blank(case.count * case.size) };
            let m = memory(case.ty, (!case.in_place).then_some(&out[..]), Some(&recv));
            call(movement::alltoall(&at.params(r)), case.ty, case.count, case.count, case.count * ELEMENT, m)
        });
        for (r, m) in at.run(calls).iter().enumerate() {
            let expected: Vec<u8> = (0..case.size).flat_map(|from| block(from, r)).collect();
            assert!(received(m, case.count * case.size) == expected, "{case:?} {:?}", at.node_of);
        }
    }
}

/// What a rank ends up with: nothing it must have, or a range of ranks combined.
type Expected = fn(usize, &Case) -> Option<std::ops::Range<usize>>;

fn check(name: &str, small: bool, build: Build, expected: Expected) {
    for at in placed(0xF4, small) {
        let case = at.case;
        let rooted = name == "reduce";
        let calls = (0..case.size).map(|r| {
            let own = elements(r, 0, case.count);
            let gets = !rooted || r == case.root;
            let p = Params { in_place: gets && case.in_place, ..at.params(r) };
            let recv = if p.in_place { own.clone() } else { blank(case.count) };
            let m = memory(case.ty, (!p.in_place).then_some(&own[..]), gets.then_some(&recv[..]));
            call(build(&p), case.ty, case.count, case.count, 0, m)
        });
        for (r, m) in at.run(calls).iter().enumerate() {
            if let Some(ranks) = expected(r, &case) {
                let value = reduced(ranks, 0, case.count, case.commutative);
                assert!(received(m, case.count) == value, "{name} rank {r} {case:?} {:?}", at.node_of);
            }
        }
    }
}

#[test]
fn reduce_allreduce_and_scans() {
    check("reduce", false, reductions::reduce, |r, case| (r == case.root).then_some(0..case.size));
    check("allreduce", false, reductions::allreduce, |_, case| Some(0..case.size));
    check("allreduce_rabenseifner", false, reductions::allreduce_rabenseifner, |_, case| Some(0..case.size));
    check("allreduce_lines", true, reductions::allreduce_lines, |_, case| Some(0..case.size));
    check("scan", false, reductions::scan, |r, _| Some(0..r + 1));
    check("exscan", false, reductions::exscan, |r, _| (r > 0).then_some(0..r));
}

#[test]
fn reduce_scatter() {
    for at in placed(0xF5, false) {
        let case = at.case;
        for equal in [true, false] {
            let count = case.count % 5;
            let counts: Vec<usize> =
                (0..case.size).map(|r| if equal { count } else { r * 7 % 4 * count / 2 }).collect();
            let total = counts.iter().sum();
            let calls = (0..case.size).map(|r| {
                let own = elements(r, 0, total);
                let recv = if case.in_place { own.clone() } else { blank(counts[r]) };
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv));
                let p = at.params(r);
                let schedule =
                    if equal { reductions::reduce_scatter_block(&p) } else { reductions::reduce_scatter(&p) };
                let mut call = call(schedule, case.ty, counts[0], counts[0], 0, m);
                call.irregular = counts.iter().map(|&c| c as u64).collect();
                call
            });
            let mut first = 0;
            for (m, &count) in at.run(calls).iter().zip(&counts) {
                let expected = reduced(0..case.size, first, count, case.commutative);
                assert!(received(m, count) == expected, "{case:?} {counts:?} {:?}", at.node_of);
                first += count;
            }
        }
    }
}
