//! No transfer goes through a stale registration: over a NIC that holds the pages of registration time, so that it
//! really would show. Each change is also tried without a watch, and there it does corrupt.
#![cfg(not(loom))]

mod common;

use common::pinned::Pair;
use common::{PAGE, fill, map, map_apart, unmap};
use proptest::prelude::*;
use rcache::{Monitor, Trusting, Watch};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGES: usize = 64;
const LEN: usize = PAGES * PAGE;

/// A process has one monitor and one address space, in which a test maps again what it has unmapped: tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn monitored<T>(test: impl FnOnce(Arc<dyn Watch>) -> T) -> Option<T> {
    let _turn = turn();
    match Monitor::start() {
        Ok(monitor) => Some(test(Arc::new(monitor))),
        Err(refused) => {
            eprintln!("skipped: {refused}");
            None
        }
    }
}

/// What changes pages behind an address; returns the address at which the buffer is then.
type Change = fn(usize) -> usize;

fn map_again(address: usize) -> usize {
    unmap(address, PAGES);
    map(address, PAGES)
}

fn map_over(address: usize) -> usize {
    map(address, PAGES)
}

/// The old pages live on elsewhere, with other content; new ones take their place.
fn move_away(address: usize) -> usize {
    let elsewhere = map_apart(PAGES);
    move_mapping(address, elsewhere, PAGES);
    unmap(elsewhere, PAGES);
    map(address, PAGES)
}

fn give_back(address: usize) -> usize {
    // SAFETY: the test's mapping.
    assert_eq!(unsafe { libc::madvise(address as *mut _, LEN, libc::MADV_DONTNEED) }, 0);
    address
}

/// Only the middle pages change.
fn change_a_part(address: usize) -> usize {
    map(address + LEN / 2, 1);
    address
}

const CHANGES: [(&str, Change); 5] = [
    ("munmap, mmap", map_again),
    ("mmap over it", map_over),
    ("mremap away", move_away),
    ("madvise(MADV_DONTNEED)", give_back),
    ("a page in the middle", change_a_part),
];

/// Sends, changes, sends again; whether the second message was right. Then the same for receiving.
fn right_after(pair: &mut Pair, change: Change) -> (bool, bool) {
    let address = map_apart(PAGES);
    fill(address, 1, PAGES);
    assert!(pair.send(address, LEN).iter().all(|&byte| byte == 1));
    let address = change(address);
    fill(address, 2, PAGES);
    let sent = pair.send(address, LEN).iter().all(|&byte| byte == 2);

    pair.receive(address, LEN, 3);
    let address = change(address);
    fill(address, 4, PAGES);
    pair.receive(address, LEN, 5);
    // SAFETY: the test's mapping.
    let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, LEN) };
    let received = bytes.iter().all(|&byte| byte == 5);
    unmap(address, PAGES);
    (sent, received)
}

#[test]
fn with_the_monitor_every_transfer_is_right() {
    monitored(|watch| {
        let Some(mut pair) = Pair::new(watch, 4096) else { return };
        for (name, change) in CHANGES {
            assert_eq!(right_after(&mut pair, change), (true, true), "{name}");
        }
        let stats = pair.cache.stats();
        assert!(stats.hits >= 5, "registrations are kept while nothing changes: {stats:?}");
        assert!(stats.invalidations >= 10, "{stats:?}");
        assert_eq!(stats.unwatched, 0);
    });
}

/// The same without the monitor: this is what it is for.
#[test]
fn without_the_monitor_every_change_corrupts() {
    let _turn = turn();
    let Some(mut pair) = Pair::new(Arc::new(Trusting), 4096) else { return };
    for (name, change) in CHANGES {
        assert_eq!(right_after(&mut pair, change), (false, false), "{name}");
        pair.cache.clear(&mut pair.nic);
    }
}

/// `realloc` moves large blocks by mremap; both the old and the new address are used again.
#[test]
fn realloc_and_free() {
    monitored(|watch| {
        let Some(mut pair) = Pair::new(watch, 4096) else { return };
        let mut byte = 0u8;
        for round in 0..20 {
            let mut block = vec![byte; LEN];
            for step in 1..4 {
                byte = byte.wrapping_add(1);
                block.resize(LEN + step * LEN / 3, 0);
                block.fill(byte);
                let arrived = pair.send(block.as_ptr() as usize, block.len());
                assert!(arrived.iter().all(|&seen| seen == byte), "round {round}, step {step}");
            }
        }
    });
}

/// Threads that unmap and map all the time, so that addresses pass from one to another, while one transfers.
#[test]
fn addresses_that_other_threads_give_back() {
    monitored(|watch| {
        let Some(mut pair) = Pair::new(watch, 4096) else { return };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let address = map(0, 4);
                        fill(address, 0xaa, 4);
                        unmap(address, 4);
                    }
                });
            }
            for round in 0..2000usize {
                let address = map(0, 4);
                fill(address, round as u8, 4);
                let arrived = pair.send(address, 4 * PAGE);
                assert!(arrived.iter().all(|&byte| byte == round as u8), "round {round}");
                // Unmapped by another thread than the one that used it.
                scope.spawn(move || unmap(address, 4));
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// `read(2)` into watched memory that was never touched works, as it would not in missing mode.
#[test]
fn system_calls_write_into_watched_memory() {
    monitored(|watch| {
        let Some(mut pair) = Pair::new(watch, 4096) else { return };
        let address = map_apart(PAGES);
        pair.cache.acquire(&mut pair.nic, common::memory(address, LEN)).expect("a registration");
        let id = pair.cache.stats().unwatched;
        assert_eq!(id, 0);
        let file = std::fs::File::open("/dev/zero").expect("zeros");
        // SAFETY: the test's mapping.
        let bytes = unsafe { core::slice::from_raw_parts_mut(address as *mut u8, LEN) };
        std::io::Read::read_exact(&mut &file, bytes).expect("reading into watched memory");
        unmap(address, PAGES);
    });
}

/// A child keeps a copy of the descriptor; its parent's memory is nonetheless free of the watch in the end.
#[test]
fn nothing_waits_when_the_monitor_has_ended() {
    monitored(|watch| {
        let address = map_apart(PAGES);
        let Some(mut pair) = Pair::new(watch, 4096) else { return };
        pair.send(address, LEN);
        // SAFETY: the child calls async-signal-safe functions only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::pause();
                libc::_exit(0);
            }
        }
        drop(pair);
        unmap(address, PAGES);
        // SAFETY: our child.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
    });
}

/// What a program may do with a region of addresses, and a transfer from or to it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Map(usize, usize),
    Unmap(usize, usize),
    GiveBack(usize, usize),
    Move(usize, usize, usize),
    Send(usize, usize),
    Receive(usize, usize),
}

const REGION: usize = 24;

fn step() -> impl Strategy<Value = Step> {
    let part = || (0..REGION, 1..8usize);
    prop_oneof![
        2 => part().prop_map(|(start, len)| Step::Map(start, len)),
        1 => part().prop_map(|(start, len)| Step::Unmap(start, len)),
        1 => part().prop_map(|(start, len)| Step::GiveBack(start, len)),
        1 => (part(), 0..REGION).prop_map(|((start, len), to)| Step::Move(start, len, to)),
        4 => part().prop_map(|(start, len)| Step::Send(start, len)),
        2 => part().prop_map(|(start, len)| Step::Receive(start, len)),
    ]
}

/// Runs steps on a region; `mapped`: which of its pages exist. Every transfer is checked with the memory itself.
fn run(pair: &mut Pair, region: usize, steps: &[Step]) {
    let mut mapped = [true; REGION];
    let mut byte = 0u8;
    let clip = |start: usize, len: usize| (start, len.min(REGION - start));
    for &step in steps {
        byte = byte.wrapping_add(1).max(1);
        match step {
            Step::Map(start, len) => {
                let (start, len) = clip(start, len);
                map(region + start * PAGE, len);
                fill(region + start * PAGE, byte, len);
                mapped[start..start + len].fill(true);
            }
            Step::Unmap(start, len) => {
                let (start, len) = clip(start, len);
                unmap(region + start * PAGE, len);
                mapped[start..start + len].fill(false);
            }
            Step::GiveBack(start, len) => {
                let (start, len) = clip(start, len);
                if mapped[start..start + len].iter().all(|&page| page) {
                    // SAFETY: the test's mapping.
                    unsafe {
                        libc::madvise((region + start * PAGE) as *mut _, len * PAGE, libc::MADV_DONTNEED)
                    };
                }
            }
            Step::Move(start, len, to) => {
                let (start, len) = clip(start, len);
                let apart = to + len <= start || start + len <= to;
                if to + len <= REGION && apart && mapped[start..start + len].iter().all(|&page| page) {
                    move_pages(region + start * PAGE, region + to * PAGE, len);
                    mapped[start..start + len].fill(false);
                    mapped[to..to + len].fill(true);
                }
            }
            Step::Send(start, len) | Step::Receive(start, len) => {
                let (start, len) = clip(start, len);
                if mapped[start..start + len].iter().all(|&page| page) {
                    transfer(pair, region + start * PAGE, len, matches!(step, Step::Send(..)), byte);
                }
            }
        }
    }
}

/// Moves pages one by one, since a range may consist of several mappings.
fn move_pages(from: usize, to: usize, len: usize) {
    (0..len).for_each(|page| move_mapping(from + page * PAGE, to + page * PAGE, 1));
}

/// Moves `pages` pages of one mapping to where they replace others.
fn move_mapping(from: usize, to: usize, pages: usize) {
    let len = pages * PAGE;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the test's mappings, apart from each other.
    let moved = unsafe { libc::mremap(from as *mut _, len, len, flags, to as *mut libc::c_void) };
    assert_ne!(moved, libc::MAP_FAILED);
}

fn transfer(pair: &mut Pair, address: usize, pages: usize, sends: bool, byte: u8) {
    if !sends {
        pair.receive(address, pages * PAGE, byte);
    }
    // SAFETY: the test's mapping.
    let memory = unsafe { core::slice::from_raw_parts(address as *const u8, pages * PAGE) };
    if sends {
        assert!(pair.send(address, pages * PAGE) == memory, "sent other pages");
    } else {
        assert!(memory.iter().all(|&seen| seen == byte), "received into other pages");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Any sequence of changes and transfers, with so few memory descriptors that registrations are also evicted.
    #[test]
    fn any_sequence_of_changes(steps in prop::collection::vec(step(), 1..60)) {
        monitored(|watch| {
            let Some(mut pair) = Pair::new(watch, 5) else { return };
            let region = map_apart(REGION);
            fill(region, 0xcc, REGION);
            run(&mut pair, region, &steps);
            unmap(region, REGION);
        });
    }
}
