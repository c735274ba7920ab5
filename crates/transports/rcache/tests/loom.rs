//! The table that monitor and users share, under loom, with a model of the kernel's part.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-rcache --test loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use rcache::Extent;
use rcache::validity::WatchTable;

const RANGE: Extent = Extent { start: 4096, end: 8192 };

/// The kernel as far as it matters: the pages at one address, and one unmapping of them.
struct Kernel {
    /// Which pages are mapped: 1 before, 2 after.
    pages: AtomicUsize,
    /// Changes whose event has not been read.
    changing: AtomicU32,
    /// The event: none, ready, read.
    event: Mutex<u32>,
    turn: Condvar,
}

impl Kernel {
    fn new() -> Kernel {
        Kernel {
            pages: AtomicUsize::new(1),
            changing: AtomicU32::new(0),
            event: Mutex::new(0),
            turn: Condvar::new(),
        }
    }

    /// `munmap` and `mmap` at the same address.
    fn replace(&self) {
        self.changing.fetch_add(1, Ordering::SeqCst);
        self.pages.store(2, Ordering::SeqCst);
        let mut event = self.event.lock().unwrap();
        *event = 1;
        self.turn.notify_all();
        while *event != 2 {
            event = self.turn.wait(event).unwrap();
        }
        drop(event);
        self.changing.fetch_sub(1, Ordering::SeqCst);
    }

    /// What the monitor thread does with its one event.
    fn monitor(&self, table: &WatchTable) {
        let mut event = self.event.lock().unwrap();
        while *event != 1 {
            event = self.turn.wait(event).unwrap();
        }
        drop(event);
        table.begin();
        *self.event.lock().unwrap() = 2;
        self.turn.notify_all();
        table.invalidate(RANGE);
        table.end();
    }

    fn settle(&self, table: &WatchTable) {
        while self.changing.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
        table.settle();
    }

    /// Registers: the pages that are mapped now.
    fn register(&self) -> usize {
        fence(Ordering::SeqCst);
        self.pages.load(Ordering::SeqCst)
    }
}

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// A thread whose memory was registered and that has unmapped it finds the registration invalid.
#[test]
fn no_stale_registration_after_munmap_has_returned() {
    model(|| {
        let (kernel, table) = (Arc::new(Kernel::new()), Arc::new(WatchTable::new(1)));
        let monitor = {
            let (kernel, table) = (Arc::clone(&kernel), Arc::clone(&table));
            thread::spawn(move || kernel.monitor(&table))
        };
        table.take(0, RANGE);
        assert_eq!(kernel.register(), 1);
        kernel.replace();
        kernel.settle(&table);
        assert!(!table.is_valid(0));
        monitor.join().unwrap();
        assert_eq!(table.invalidations(), 1);
    });
}

/// A thread that gets new memory at an address which another thread is just unmapping does not find the old
/// registration.
#[test]
fn no_stale_registration_for_who_gets_the_address() {
    model(|| {
        let (kernel, table) = (Arc::new(Kernel::new()), Arc::new(WatchTable::new(1)));
        table.take(0, RANGE);
        assert_eq!(kernel.register(), 1);
        let monitor = {
            let (kernel, table) = (Arc::clone(&kernel), Arc::clone(&table));
            thread::spawn(move || kernel.monitor(&table))
        };
        let unmapping = {
            let kernel = Arc::clone(&kernel);
            thread::spawn(move || kernel.replace())
        };
        if kernel.pages.load(Ordering::SeqCst) == 2 {
            kernel.settle(&table);
            assert!(!table.is_valid(0), "the pages are others, the registration is said to hold");
        }
        unmapping.join().unwrap();
        monitor.join().unwrap();
    });
}

/// A slot taken while the monitor is at work is either found by it, or its registration is of the new pages.
#[test]
fn a_slot_taken_meanwhile_is_found_or_fresh() {
    model(|| {
        let (kernel, table) = (Arc::new(Kernel::new()), Arc::new(WatchTable::new(1)));
        let monitor = {
            let (kernel, table) = (Arc::clone(&kernel), Arc::clone(&table));
            thread::spawn(move || kernel.monitor(&table))
        };
        let unmapping = {
            let kernel = Arc::clone(&kernel);
            thread::spawn(move || kernel.replace())
        };
        table.take(0, RANGE);
        let registered = kernel.register();
        unmapping.join().unwrap();
        kernel.settle(&table);
        assert!(!table.is_valid(0) || registered == 2, "stale, and said to be valid");
        monitor.join().unwrap();
    });
}
