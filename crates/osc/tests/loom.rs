//! The locks of a window under loom, which tries all interleavings: two holders that exclude each other never meet,
//! no wake-up is lost, and nothing is left in the words.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-osc --test loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use osc::{Acquire, Announced, Cost, LONG, Shape, View, Wish, release};

/// Runs `body` in all interleavings with at most `switches` involuntary switches, which bounds the time.
fn model(switches: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 10_000;
    builder.check(body);
}

const RANKS: usize = 2;

/// A window, what its ranks sleep on, and who is inside.
struct Window {
    words: Vec<AtomicU64>,
    bells: [(Mutex<u32>, Condvar); RANKS],
    readers: AtomicU32,
    writers: AtomicU32,
}

impl Window {
    fn new() -> Window {
        Window {
            words: (0..Shape::all(RANKS).words()).map(|_| AtomicU64::new(0)).collect(),
            bells: [(Mutex::new(0), Condvar::new()), (Mutex::new(0), Condvar::new())],
            readers: AtomicU32::new(0),
            writers: AtomicU32::new(0),
        }
    }

    fn view(&self) -> View<'_> {
        View::new(&self.words, Shape::all(RANKS))
    }

    fn ring(&self, rank: u32) {
        let (rung, bell) = &self.bells[rank as usize];
        *rung.lock().unwrap() += 1;
        bell.notify_all();
    }

    /// Takes a lock, sleeping between two attempts until it is rung.
    fn lock(&self, me: u32, wish: Wish, holds: bool) {
        let (mut lock, mut announced) = (Acquire::new(wish, me, holds), Announced::default());
        loop {
            let before = *self.bells[me as usize].0.lock().unwrap();
            if lock.poll(self.view(), me, &mut announced, |rank| self.ring(rank)) {
                return;
            }
            let (rung, bell) = &self.bells[me as usize];
            let mut now = rung.lock().unwrap();
            while *now == before {
                now = bell.wait(now).unwrap();
            }
        }
    }

    /// Does in the lock what shows that nobody is in it who must not be, and gives it back.
    fn hold(&self, wish: Wish) {
        if let Wish::Exclusive(_) = wish {
            assert_eq!(self.writers.fetch_add(1, Ordering::SeqCst), 0);
            assert_eq!(self.readers.load(Ordering::SeqCst), 0);
            self.writers.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.readers.fetch_add(1, Ordering::SeqCst);
            assert_eq!(self.writers.load(Ordering::SeqCst), 0);
            self.readers.fetch_sub(1, Ordering::SeqCst);
        }
        release(self.view(), wish, |rank| self.ring(rank));
    }
}

/// Two ranks take one lock each, twice the first; both get theirs.
fn pair(one: Wish, two: Wish) {
    model(2, move || {
        let window = Arc::new(Window::new());
        let other = {
            let window = window.clone();
            thread::spawn(move || {
                window.lock(1, two, false);
                window.hold(two);
            })
        };
        for _ in 0..2 {
            window.lock(0, one, false);
            window.hold(one);
        }
        other.join().unwrap();
        assert!(window.view().is_unlocked());
    });
}

#[test]
fn writers_of_one_target() {
    pair(Wish::Exclusive(0), Wish::Exclusive(0));
}

#[test]
fn a_writer_and_a_reader_of_one_target() {
    pair(Wish::Exclusive(0), Wish::Shared(0));
    pair(Wish::Shared(0), Wish::Exclusive(0));
}

#[test]
fn a_writer_and_one_that_locks_all() {
    pair(Wish::Exclusive(1), Wish::All);
    pair(Wish::All, Wish::Exclusive(1));
}

#[test]
fn crosswise_shared_locks_behind_a_waiting_writer() {
    model(2, || {
        let window = Arc::new(Window::new());
        window.lock(0, Wish::Shared(0), false);
        let writer = {
            let window = window.clone();
            thread::spawn(move || {
                window.lock(1, Wish::Exclusive(1), false);
                window.hold(Wish::Exclusive(1));
            })
        };
        // It holds a lock, so a writer that waits does not stop it.
        window.lock(0, Wish::Shared(1), true);
        release(window.view(), Wish::Shared(1), |rank| window.ring(rank));
        release(window.view(), Wish::Shared(0), |rank| window.ring(rank));
        writer.join().unwrap();
    });
}

#[test]
fn the_lock_of_elements() {
    model(3, || {
        let window = Arc::new(Window::new());
        let turn = |window: &Window, me: usize| {
            let sleep = |word: &AtomicU64, value, _| {
                let (rung, bell) = &window.bells[me];
                let mut now = rung.lock().unwrap();
                // As in the kernel, the word is compared under the lock that a wake takes.
                if word.load(Ordering::SeqCst) == value {
                    let before = *now;
                    while *now == before {
                        now = bell.wait(now).unwrap();
                    }
                }
                false
            };
            let _locked =
                window.view().lock_elements(0, me as u32, sleep, |_: &AtomicU64| window.ring(1 - me as u32));
            assert_eq!(window.writers.fetch_add(1, Ordering::Relaxed), 0);
            window.writers.fetch_sub(1, Ordering::Relaxed);
        };
        let other = {
            let window = window.clone();
            thread::spawn(move || turn(&window, 1))
        };
        turn(&window, 0);
        other.join().unwrap();
    });
}

/// One adds by atomic operations or under the lock, as the way says; the other has the lock come into use and adds by
/// a load and a store. No addition is lost.
#[test]
fn atomic_operations_beside_loops() {
    model(3, || {
        let window = Arc::new(Window::new());
        (0..RANKS as u32).for_each(|rank| window.view().set_ready(rank));
        let one = {
            let window = window.clone();
            thread::spawn(move || {
                let view = window.view();
                match view.atomically(1, 0) {
                    Some(_atomically) => window.writers.fetch_add(1, Ordering::Relaxed),
                    None => {
                        let sleep = |_: &AtomicU64, _, _| {
                            thread::yield_now();
                            false
                        };
                        let _locked = view.lock_elements(0, 1, sleep, |_: &AtomicU64| {});
                        window.writers.fetch_add(1, Ordering::Relaxed)
                    }
                };
            })
        };
        {
            let view = window.view();
            let sleep = |_: &AtomicU64, _, _| {
                thread::yield_now();
                false
            };
            let _locked = view.lock_elements(0, 0, sleep, |_: &AtomicU64| {});
            let mut cost = Cost::default();
            assert!(cost.add(1 << 20));
            let barrier = || {
                loom::sync::atomic::fence(Ordering::SeqCst);
                true
            };
            if view.may_loop(0, LONG, &mut cost, barrier) {
                let before = window.writers.load(Ordering::Relaxed);
                window.writers.store(before + 1, Ordering::Relaxed);
            } else {
                window.writers.fetch_add(1, Ordering::Relaxed);
            }
        }
        one.join().unwrap();
        assert_eq!(window.writers.load(Ordering::Relaxed), 2);
    });
}
