//! The locks of a window under loom, which tries all interleavings: two holders that exclude each other never meet,
//! no wake-up is lost, and nothing is left in the words.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-osc --test loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use osc::{Acquire, Announced, Cost, LONG, Shape, View, Waiting, Wish, holder, release};

/// Runs `body` in all interleavings with at most `switches` involuntary switches, which bounds the time.
fn model(switches: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 10_000;
    builder.check(body);
}

const RANKS: usize = 2;

/// A window, what its ranks sleep on, and the ranks inside.
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

    /// Does in the lock what shows that no rank is in it that must not be, and gives it back.
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

/// The owner of locks that has ended.
const ENDED: u32 = 9;

#[test]
fn the_holder_of_a_lock_has_ended() {
    model(2, || {
        let window = Arc::new(Window::new());
        let mut taken = Acquire::new(Wish::Exclusive(0), ENDED, false);
        assert!(taken.poll(window.view(), 0, &mut Announced::default(), |_| {}));
        let wait = |window: &Window, me: u32, wish: Wish| {
            let (mut lock, mut announced) = (Acquire::new(wish, me, false), Announced::default());
            while !lock.poll(window.view(), me, &mut announced, |rank| window.ring(rank)) {
                if holder(window.view(), Wish::Exclusive(0)) == Some(ENDED) {
                    return lock.abandon(window.view(), me, &mut announced);
                }
                thread::yield_now();
            }
            panic!("no rank has given the lock back");
        };
        let other = {
            let window = window.clone();
            thread::spawn(move || wait(&window, 1, Wish::Shared(0)))
        };
        wait(&window, 0, Wish::Exclusive(0));
        other.join().unwrap();
        release(window.view(), Wish::Exclusive(0), |rank| panic!("rank {rank} does not wait any more"));
    });
}

/// As [`Asleep`], and the first holder has ended.
struct Survivor<'a>(&'a Window);

impl Waiting for Survivor<'_> {
    fn sleep(&mut self, word: &AtomicU64, value: u64, holder: u32) -> bool {
        thread::yield_now();
        word.load(Ordering::SeqCst) == value && holder == ENDED
    }

    fn pass(&mut self, holder: u32) -> bool {
        thread::yield_now();
        holder == ENDED
    }

    fn wake(&mut self, _: &AtomicU64) {}

    fn barrier(&mut self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
        assert_eq!(self.0.writers.load(Ordering::SeqCst), 0);
    }
}

/// The holder of the lock on elements has ended with it, or has kept it and ended in the middle of an accumulate: of two
/// others each has the lock for itself.
#[test]
fn the_holder_of_the_lock_of_elements_has_ended() {
    for keeps in [false, true] {
        model(3, move || {
            let window = Arc::new(Window::new());
            let held = window.view().lock_elements(0, ENDED, Polls);
            if keeps {
                held.keep();
                std::mem::forget(window.view().as_keeper(1, ENDED, 0).expect("it was kept"));
            } else {
                std::mem::forget(held);
            }
            let turn = |window: &Window, me: u32| {
                let _locked = window.view().lock_elements(0, me, Survivor(window));
                assert_eq!(window.writers.fetch_add(1, Ordering::SeqCst), 0);
                window.writers.fetch_sub(1, Ordering::SeqCst);
            };
            let other = {
                let window = window.clone();
                thread::spawn(move || turn(&window, 2))
            };
            turn(&window, 0);
            other.join().unwrap();
        });
    }
}

/// How rank `me` waits for the lock on elements: asleep until it is rung.
struct Asleep<'a> {
    window: &'a Window,
    me: usize,
}

impl Waiting for Asleep<'_> {
    fn sleep(&mut self, word: &AtomicU64, value: u64, _: u32) -> bool {
        let (rung, bell) = &self.window.bells[self.me];
        let mut now = rung.lock().unwrap();
        // As in the kernel, the word is compared under the lock that a wake takes.
        if word.load(Ordering::SeqCst) == value {
            let before = *now;
            while *now == before {
                now = bell.wait(now).unwrap();
            }
        }
        false
    }

    fn pass(&mut self, _: u32) -> bool {
        thread::yield_now();
        false
    }

    fn wake(&mut self, _: &AtomicU64) {
        self.window.ring(1 - self.me as u32);
    }

    fn barrier(&mut self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// As [`Asleep`], but polls.
struct Polls;

impl Waiting for Polls {
    fn sleep(&mut self, _: &AtomicU64, _: u64, _: u32) -> bool {
        thread::yield_now();
        false
    }

    fn pass(&mut self, _: u32) -> bool {
        thread::yield_now();
        false
    }

    fn wake(&mut self, _: &AtomicU64) {}

    fn barrier(&mut self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[test]
fn the_lock_of_elements() {
    model(3, || {
        let window = Arc::new(Window::new());
        let turn = |window: &Window, me: usize| {
            let _locked = window.view().lock_elements(0, me as u32, Asleep { window, me });
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

/// One keeps the lock and adds by a load and a store without taking it, for as long as it may; the other takes the lock,
/// and may keep it as well. No addition is lost.
#[test]
fn a_lock_that_is_kept() {
    for keeps in [false, true] {
        model(3, move || {
            let window = Arc::new(Window::new());
            let add = |window: &Window, me: u32, keeps: bool| {
                let add = || {
                    let before = window.writers.load(Ordering::Relaxed);
                    window.writers.store(before + 1, Ordering::Relaxed);
                };
                if let Some(_keeper) = window.view().as_keeper(me, me, 0) {
                    return add();
                }
                let locked = window.view().lock_elements(0, me, Asleep { window, me: me as usize });
                add();
                if keeps {
                    locked.keep();
                }
            };
            add(&window, 1, true);
            let other = {
                let window = window.clone();
                thread::spawn(move || {
                    add(&window, 1, true);
                    add(&window, 1, true);
                })
            };
            add(&window, 0, keeps);
            other.join().unwrap();
            assert_eq!(window.writers.load(Ordering::Relaxed), 4);
        });
    }
}

/// One adds by atomic operations or under the lock, as the way requires; the other has the lock come into use and adds
/// by a load and a store. No addition is lost.
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
                        let _locked = view.lock_elements(0, 1, Polls);
                        window.writers.fetch_add(1, Ordering::Relaxed)
                    }
                };
            })
        };
        {
            let view = window.view();
            let _locked = view.lock_elements(0, 0, Polls);
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
