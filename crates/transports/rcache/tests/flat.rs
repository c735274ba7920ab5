//! A million cycles of registering and deregistering leave memory flat. A program of its own, since it measures the
//! process.
#![cfg(not(loom))]

mod common;

use common::{Counting, PAGE, map, memory, unmap};
use rcache::{Monitor, Rcache, Trusting, Watch};
use std::sync::Arc;

/// Resident pages of this process.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("proc");
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
}

/// Uses twelve buffers in turn with eight registrations, so that each acquisition evicts and registers.
fn cycles(watch: Arc<dyn Watch>, buffers: usize, count: u64) {
    let (mut nic, mut cache) = (Counting { limit: 8, ..Counting::default() }, Rcache::new(watch, 100));
    for turn in 0..count as usize {
        let buffer = memory(buffers + turn % 12 * 2 * PAGE, PAGE);
        let handle = cache.acquire(&mut nic, buffer).expect("an idle one can go");
        cache.release(&mut nic, handle);
    }
    assert_eq!((nic.made, cache.stats().evictions), (count, count - 8));
    cache.clear(&mut nic);
    assert!(nic.live.is_empty());
}

#[test]
fn memory_stays_flat() {
    let buffers = map(0, 24);
    cycles(Arc::new(Trusting), buffers, 1000);
    let before = resident();
    cycles(Arc::new(Trusting), buffers, 1_000_000);
    if let Ok(monitor) = Monitor::start() {
        cycles(Arc::new(monitor), buffers, 50_000);
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 256, "{grown} pages more than before");
    unmap(buffers, 24);
}
