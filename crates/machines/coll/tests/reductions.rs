//! Reduce, allreduce and scan algorithms against the definition, for every rank count from 1 to 70.

mod common;

use coll::algorithms::node::{blocks, direct};
use coll::algorithms::{allreduce, reduce, reduce_scatter, scan};
use coll::executor::Type;
use common::*;

fn check_reduce(name: &str, build: Build) {
    let mut random = Rng::new(0xA11);
    for size in all_sizes() {
        for _ in 0..3 {
            let case = Case::random(size, &mut random);
            let calls = (0..size).map(|r| {
                let own = elements(r, 0, case.count);
                let root = r == case.root;
                let in_place = root && case.in_place;
                let recv = if in_place { own.clone() } else { blank(case.count) };
                let mut p = case.params(r);
                p.in_place = in_place;
                let m = memory(case.ty, (!in_place).then_some(&own[..]), root.then_some(&recv[..]));
                call(build(&p), case.ty, case.count, case.count, 0, m)
            });
            let memories = run(&case, &[], calls.collect());
            let expected = reduced(0..size, 0, case.count, case.commutative);
            assert!(received(&memories[case.root], case.count) == expected, "{name} {case:?}");
            check_holes(&case, &memories[case.root], case.count);
        }
    }
}

#[test]
fn reduce_algorithms() {
    check_reduce("binomial", reduce::binomial);
    check_reduce("knomial", reduce::knomial);
    check_reduce("chain", reduce::chain);
    check_reduce("binary", reduce::binary);
    check_reduce("in_order_binary", reduce::in_order_binary);
    check_reduce("linear", reduce::linear);
    check_reduce("rabenseifner", reduce::rabenseifner);
    check_reduce("canonical", reduce::canonical);
}

fn check_allreduce(name: &str, ordered: bool, build: Build) {
    let mut random = Rng::new(0xA12);
    for size in all_sizes() {
        for _ in 0..3 {
            let mut case = Case::random(size, &mut random);
            case.commutative |= !ordered;
            let calls = (0..size).map(|r| {
                let own = elements(r, 0, case.count);
                let recv = if case.in_place { own.clone() } else { blank(case.count) };
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv[..]));
                call(build(&case.params(r)), case.ty, case.count, case.count, 0, m)
            });
            let memories = run(&case, &[], calls.collect());
            let expected = reduced(0..size, 0, case.count, case.commutative);
            for m in &memories {
                assert!(received(m, case.count) == expected, "{name} {case:?}");
                check_holes(&case, m, case.count);
            }
        }
    }
}

#[test]
fn allreduce_algorithms() {
    check_allreduce("recursive_doubling", true, allreduce::recursive_doubling);
    check_allreduce("tree", true, allreduce::tree);
    check_allreduce("linear", true, allreduce::linear);
    check_allreduce("canonical", true, allreduce::canonical);
    check_allreduce("ring", false, allreduce::ring);
    check_allreduce("rabenseifner", false, allreduce::rabenseifner);
}

/// One element travels around a ring alone: a rank has a handful of steps, however many there are.
#[test]
fn a_short_vector_makes_a_short_ring() {
    let steps = |ranks, blocks, rank| {
        allreduce::ring(&coll::Params { blocks, ..coll::Params::new(rank, ranks) }).steps().len()
    };
    assert!((0..70).all(|rank| steps(70, 1, rank) < 10));
    assert_eq!(steps(70, 70, 3), steps(70, u32::MAX, 3));
    assert!(steps(70, 70, 3) > 2 * 69);
}

/// Equal blocks, or sizes from 0 up, some of them alike.
fn block_counts(case: &Case, equal: bool, random: &mut Rng) -> Vec<usize> {
    let count = case.count % 14;
    (0..case.size).map(|_| if equal { count } else { random.below(6) as usize * count / 3 }).collect()
}

fn check_reduce_scatter(name: &str, adapt: fn(&mut Case), builds: [Build; 2]) {
    let mut random = Rng::new(0xA13);
    for size in all_sizes() {
        for equal in [true, false] {
            let mut case = Case::random(size, &mut random);
            adapt(&mut case);
            let counts = block_counts(&case, equal, &mut random);
            let total: usize = counts.iter().sum();
            let calls = (0..size).map(|r| {
                let own = elements(r, 0, total);
                let recv = if case.in_place { own.clone() } else { blank(counts[r]) };
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv[..]));
                let build = builds[usize::from(!equal)];
                let mut call = call(build(&case.params(r)), case.ty, counts[0], counts[0], 0, m);
                call.irregular = counts.iter().map(|&c| c as u64).collect();
                call
            });
            let memories = run(&case, &[], calls.collect());
            let mut first = 0;
            for (m, &count) in memories.iter().zip(&counts) {
                let expected = reduced(0..size, first, count, case.commutative);
                assert!(received(m, count) == expected, "{name} {case:?} {counts:?}");
                first += count;
            }
        }
    }
}

#[test]
fn reduce_scatter_algorithms() {
    let commutes = |case: &mut Case| case.commutative = true;
    check_reduce_scatter("ring", commutes, [reduce_scatter::ring_block, reduce_scatter::ring]);
    let halving = [reduce_scatter::recursive_halving_block, reduce_scatter::recursive_halving];
    check_reduce_scatter("recursive_halving", commutes, halving);
    let any = |_: &mut Case| {};
    check_reduce_scatter("butterfly", any, [reduce_scatter::butterfly_block, reduce_scatter::butterfly]);
    check_reduce_scatter("canonical", any, [reduce_scatter::canonical_block, reduce_scatter::canonical]);
    check_reduce_scatter("linear", any, [reduce_scatter::linear_block, reduce_scatter::linear]);
    check_reduce_scatter("slots", any, [blocks::reduce_scatter_block_all, blocks::reduce_scatter_all]);
    check_reduce_scatter("flag", any, [blocks::reduce_scatter_block_flag, blocks::reduce_scatter_flag]);
    let dense = |case: &mut Case| case.ty = Type::contiguous(ELEMENT);
    check_reduce_scatter("direct", dense, [direct::reduce_scatter_block, direct::reduce_scatter]);
}

fn check_scan(name: &str, inclusive: bool, build: Build) {
    let mut random = Rng::new(0xA14);
    for size in all_sizes() {
        for _ in 0..2 {
            let case = Case::random(size, &mut random);
            let calls = (0..size).map(|r| {
                let own = elements(r, 0, case.count);
                let recv = if case.in_place { own.clone() } else { blank(case.count) };
                let m = memory(case.ty, (!case.in_place).then_some(&own[..]), Some(&recv[..]));
                call(build(&case.params(r)), case.ty, case.count, case.count, 0, m)
            });
            for (r, m) in run(&case, &[], calls.collect()).iter().enumerate() {
                let expected = match (inclusive, r) {
                    (true, _) => reduced(0..=r, 0, case.count, case.commutative),
                    (false, 0) if case.in_place => elements(0, 0, case.count),
                    (false, 0) => blank(case.count),
                    (false, _) => reduced(0..r, 0, case.count, case.commutative),
                };
                assert!(received(m, case.count) == expected, "{name} rank {r} {case:?}");
                check_holes(&case, m, case.count);
            }
        }
    }
}

#[test]
fn scan_algorithms() {
    check_scan("linear", true, scan::linear);
    check_scan("linear_exclusive", false, scan::linear_exclusive);
    check_scan("recursive_doubling", true, scan::recursive_doubling);
    check_scan("recursive_doubling_exclusive", false, scan::recursive_doubling_exclusive);
}

/// Writes down the association: the operation is the pairing of its operands, as text.
#[test]
fn canonical_trees_agree_whatever_the_root_and_segments() {
    fn pair(left: &[u8], right: &mut [u8]) {
        // A hash that neither commutes nor associates.
        let word = |x: &[u8]| u64::from_le_bytes(x.try_into().unwrap());
        let mixed =
            word(left).rotate_left(7).wrapping_mul(31) ^ word(right).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        right.copy_from_slice(&mixed.to_le_bytes());
    }
    let count = 12;
    for size in [1, 2, 3, 5, 8, 13, 32] {
        let result = |build: Build, root: usize, segments: u32, seed: u64| -> Vec<u8> {
            let case = Case { root, count, segments, seed, ..Case::random(size, &mut Rng::new(9)) };
            let case = Case { in_place: false, commutative: false, user_op: false, fanout: 0, ..case };
            let calls = (0..size).map(|r| {
                let m = memory(case.ty, Some(&elements(r, 0, count)), Some(&blank(count)));
                call(build(&case.params(r)), case.ty, count, count, 0, m)
            });
            let world =
                coll::executor::VirtualRanks::new(calls.collect(), size, &[], &pair, false, seed).unwrap();
            received(&world.run().unwrap()[root], count)
        };
        let expected = result(allreduce::canonical, 0, 1, 1);
        for root in 0..size {
            for segments in [1, 2, 5] {
                assert!(
                    result(reduce::canonical, root, segments, 77 + root as u64) == expected,
                    "{size} {root}"
                );
                assert!(result(allreduce::canonical, root, segments, 99 + root as u64) == expected, "{size}");
            }
        }
    }
}
