//! Threads that sleep on a bell whenever they find nothing, while a descriptor becomes readable, threads of the process
//! ring and, where others may, another process rings the word. A lost wake-up leaves a thread asleep for good.

use std::os::fd::{AsFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use btl::Sleep;
use node::wakeup::Bell;
use platform::eventfd::EventFd;
use shm::doorbell::Doorbell;

const ROUNDS: u32 = 2_000;
const SLEEPERS: usize = 2;

/// What the engine keeps under its lock.
#[derive(Default)]
struct State {
    armed: u32,
    /// Taken so far.
    by_descriptor: u32,
    by_thread: u32,
    by_others: u32,
}

struct Process {
    bell: Bell,
    state: Mutex<State>,
    transport: EventFd,
    on_descriptor: AtomicU32,
    from_thread: AtomicU32,
    from_others: AtomicU32,
}

impl Process {
    fn new(shared: bool) -> Process {
        let doorbell: &'static Doorbell = Box::leak(Box::default());
        if !platform::membarrier::register() {
            doorbell.ask_for_fences();
        }
        let transport = EventFd::new().unwrap();
        let bell = Bell::new(doorbell, shared, &[transport.as_fd()]).unwrap();
        let zero = || AtomicU32::new(0);
        let state = Mutex::default();
        Process { bell, state, transport, on_descriptor: zero(), from_thread: zero(), from_others: zero() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is there; whether something was.
    fn progress(&self, state: &mut State) -> bool {
        self.transport.drain();
        let mut happened = false;
        let State { by_descriptor, by_thread, by_others, .. } = state;
        for (taken, published) in [
            (by_descriptor, &self.on_descriptor),
            (by_thread, &self.from_thread),
            (by_others, &self.from_others),
        ] {
            let published = published.load(Ordering::Acquire);
            happened |= *taken != published;
            *taken = published;
        }
        happened
    }

    fn sleep_until(&self, done: impl Fn(&State) -> bool) {
        loop {
            let mut state = self.lock();
            self.progress(&mut state);
            if done(&state) {
                // Another thread may wait for the same.
                drop(state);
                return self.bell.wake_own();
            }
            let doorbell = self.bell.doorbell();
            let Some(expected) = doorbell.arm(platform::membarrier::barrier) else { continue };
            let Some(sleep) = self.bell.arm(Sleep::Word { address: doorbell.address(), expected }) else {
                continue;
            };
            state.armed += 1;
            if !self.progress(&mut state) && !done(&state) {
                drop(state);
                match sleep {
                    Sleep::Word { address, expected } => platform::futex::wait(address, expected),
                    Sleep::Descriptor(fd) => wait(fd),
                }
                state = self.lock();
            }
            state.armed -= 1;
            if state.armed == 0 {
                doorbell.disarm();
                self.bell.disarm();
            }
        }
    }
}

fn wait(fd: RawFd) {
    platform::descriptor::wait_readable(fd, None);
}

/// Publishes `ROUNDS` times, each only after what was published before was taken, so that the sleepers sleep in between.
fn publish(process: &Process, word: &AtomicU32, taken: impl Fn(&State) -> u32, announce: impl Fn()) {
    for round in 1..=ROUNDS {
        word.store(round, Ordering::Release);
        announce();
        while taken(&process.lock()) != round {
            platform::waiter::give_way();
        }
    }
}

fn no_process_sleeps_on(shared: bool) {
    let process = Process::new(shared);
    let over = |state: &State| {
        let others = if shared { ROUNDS } else { 0 };
        (state.by_descriptor, state.by_thread, state.by_others) == (ROUNDS, ROUNDS, others)
    };
    std::thread::scope(|scope| {
        for _ in 0..SLEEPERS {
            scope.spawn(|| process.sleep_until(over));
        }
        let process = &process;
        scope.spawn(|| {
            publish(
                process,
                &process.on_descriptor,
                |state| state.by_descriptor,
                || process.transport.signal(),
            );
        });
        scope.spawn(|| {
            publish(process, &process.from_thread, |state| state.by_thread, || process.bell.ring());
        });
        if shared {
            scope.spawn(|| {
                publish(
                    process,
                    &process.from_others,
                    |state| state.by_others,
                    || {
                        process.bell.doorbell().ring(|word| platform::futex::wake(word, i32::MAX));
                    },
                );
            });
        }
    });
}

#[test]
fn no_process_sleeps_on_where_only_this_process_rings() {
    no_process_sleeps_on(false);
}

#[test]
fn no_process_sleeps_on_where_others_ring() {
    no_process_sleeps_on(true);
}
