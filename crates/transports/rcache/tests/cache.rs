//! The cache over an interface that counts: hits, eviction under pressure, widening, failures.
#![cfg(not(loom))]

mod common;

use common::{Counting, PAGE, memory};
use rcache::{Rcache, Trusting, Unwatched};
use std::sync::Arc;

fn cache(most: usize) -> Rcache<u64> {
    Rcache::new(Arc::new(Trusting), most)
}

#[test]
fn the_second_use_is_free_and_parts_are_found() {
    let (mut nic, mut cache) = (Counting { limit: 8, ..Counting::default() }, cache(100));
    let all = cache.acquire(&mut nic, memory(10 * PAGE + 5, 5 * PAGE)).unwrap();
    assert_eq!(nic.live, [(all, memory(10 * PAGE, 6 * PAGE))], "whole pages");
    cache.release(&mut nic, all);
    let part = cache.acquire(&mut nic, memory(12 * PAGE, 7)).unwrap();
    assert_eq!((part, cache.stats().hits, cache.stats().misses), (all, 1, 1));
    cache.release(&mut nic, part);
    assert_eq!((nic.live.len(), cache.stats().bytes), (1, 6 * PAGE as u64));
    cache.clear(&mut nic);
    assert_eq!((nic.live.len(), cache.stats().registrations, cache.stats().bytes), (0, 0, 0));
}

#[test]
fn a_larger_registration_supersedes_those_within() {
    let (mut nic, mut cache) = (Counting { limit: 8, ..Counting::default() }, cache(100));
    let busy = cache.acquire(&mut nic, memory(PAGE, PAGE)).unwrap();
    let idle = cache.acquire(&mut nic, memory(3 * PAGE, PAGE)).unwrap();
    cache.release(&mut nic, idle);
    let large = cache.acquire(&mut nic, memory(0, 8 * PAGE)).unwrap();
    assert_eq!(nic.live.len(), 2, "the idle one is gone, the busy one stays until it is released");
    cache.release(&mut nic, busy);
    assert_eq!((nic.live.len(), cache.stats().superseded), (1, 2));
    assert_eq!(cache.acquire(&mut nic, memory(PAGE, PAGE)).unwrap(), large);
}

/// Eight memory descriptors: twelve buffers in turn evict the least recently used, six do not.
#[test]
fn eviction_under_pressure() {
    let (mut nic, mut cache) = (Counting { limit: 8, ..Counting::default() }, cache(100));
    let mut touch = |buffers: usize, rounds: usize| {
        let before = *cache.stats();
        for turn in 0..buffers * rounds {
            let buffer = memory((1 + 2 * (turn % buffers)) * PAGE, PAGE);
            let handle = cache.acquire(&mut nic, buffer).expect("an idle one can go");
            cache.release(&mut nic, handle);
            assert!(nic.live.len() <= 8);
        }
        (cache.stats().hits - before.hits, cache.stats().evictions - before.evictions)
    };
    assert_eq!(touch(6, 10), (54, 0));
    assert_eq!(touch(12, 10), (6, 112), "six are there, then each one evicts the next");
}

#[test]
fn what_is_in_use_is_not_evicted() {
    let (mut nic, mut cache) = (Counting { limit: 2, ..Counting::default() }, cache(100));
    let first = cache.acquire(&mut nic, memory(PAGE, PAGE)).unwrap();
    let _second = cache.acquire(&mut nic, memory(3 * PAGE, PAGE)).unwrap();
    assert_eq!(cache.acquire(&mut nic, memory(5 * PAGE, PAGE)), Err("exhausted"));
    cache.release(&mut nic, first);
    cache.acquire(&mut nic, memory(5 * PAGE, PAGE)).unwrap();
    assert!(nic.live.iter().all(|&(handle, _)| handle != first));
}

#[test]
fn beyond_its_own_limit_nothing_is_kept() {
    let (mut nic, mut cache) = (Counting { limit: 100, ..Counting::default() }, cache(1));
    let _busy = cache.acquire(&mut nic, memory(PAGE, PAGE)).unwrap();
    let once = cache.acquire(&mut nic, memory(3 * PAGE, PAGE)).unwrap();
    cache.release(&mut nic, once);
    assert_eq!(nic.live.len(), 1);
}

#[test]
fn without_a_watch_only_promised_memory_is_kept() {
    let mut nic = Counting { limit: 8, ..Counting::default() };
    let mut cache = Rcache::new(Arc::new(Unwatched), 100);
    for _ in 0..3 {
        let handle = cache.acquire(&mut nic, memory(PAGE + 3, 10)).unwrap();
        assert_eq!(nic.live, [(handle, memory(PAGE + 3, 10))], "exactly the memory");
        cache.release(&mut nic, handle);
        assert!(nic.live.is_empty());
    }
    let pool = cache.keep(&mut nic, memory(16 * PAGE, 16 * PAGE)).unwrap();
    let handle = cache.acquire(&mut nic, memory(20 * PAGE, 100)).unwrap();
    assert_eq!(handle, pool);
    cache.release(&mut nic, handle);
    cache.clear(&mut nic);
    assert_eq!(nic.live.len(), 1, "the pool's is not idle");
    cache.forget(&mut nic, pool);
    assert!(nic.live.is_empty());
    assert_eq!((cache.stats().hits, cache.stats().unwatched), (1, 3));
}

#[test]
fn what_the_interface_does_not_end_is_tried_again() {
    let (mut nic, mut cache) = (Counting { limit: 8, ..Counting::default() }, cache(100));
    let handle = cache.acquire(&mut nic, memory(PAGE, PAGE)).unwrap();
    cache.release(&mut nic, handle);
    nic.fail_to_end = true;
    cache.clear(&mut nic);
    assert_eq!((nic.live.len(), cache.stats().registrations), (1, 1));
    nic.fail_to_end = false;
    cache.acquire(&mut nic, memory(9 * PAGE, PAGE)).unwrap();
    assert_eq!((nic.live.len(), cache.stats().registrations), (1, 1));
}
