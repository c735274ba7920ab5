//! Reduce, allreduce and scan algorithms against the definition, for every rank count from 1 to 70.

mod common;

use coll::algorithms::{allreduce, reduce};
use common::*;

fn check_reduce(name: &str, build: Build) {
    let mut random = Random(0xA11);
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
}

fn check_allreduce(name: &str, ordered: bool, build: Build) {
    let mut random = Random(0xA12);
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
}
