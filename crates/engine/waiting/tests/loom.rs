//! Waiting, waking, cancelling and revoking under loom, which tries all interleavings and all values that relaxed loads
//! may see. A lost wake-up leaves a thread asleep for good, which loom reports as a deadlock.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-waiting --test loom`
#![cfg(loom)]

use std::time::{Duration, Instant};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use platform::waiter::Policy;
use shm::doorbell::Doorbell;
use waiting::{Held, Host, How, Lock, Mode, Threads, progress_thread, wait};

/// Runs `body` in all interleavings with at most `switches` involuntary switches, which bounds the time.
fn model(switches: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(body);
}

/// What the kernel does for a futex word, in terms that loom knows.
#[derive(Default)]
struct Futex {
    wakes: Mutex<u32>,
    woken: Condvar,
}

impl Futex {
    fn wait(&self, unchanged: impl Fn() -> bool) {
        let mut wakes = self.wakes.lock().unwrap();
        let before = *wakes;
        // As in the kernel, the word is compared under the lock that a wake takes.
        while unchanged() && *wakes == before {
            wakes = self.woken.wait(wakes).unwrap();
        }
    }

    fn wake(&self) {
        *self.wakes.lock().unwrap() += 1;
        self.woken.notify_all();
    }
}

/// An eventfd in a set that several threads poll: readable from the signal until it is drained, for all of them.
#[derive(Default)]
struct EventFd {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl EventFd {
    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.changed.wait(rung).unwrap();
        }
        drop(rung);
        // One that wakes and sleeps again, while another that was woken has not run yet, finds the descriptor readable.
        thread::yield_now();
    }

    fn set(&self, on: bool) {
        *self.rung.lock().unwrap() = on;
        self.changed.notify_all();
    }
}

/// A process: two operations, each completed by a message or by another thread.
struct Process {
    state: Mutex<State>,
    bell: Doorbell,
    bell_futex: Futex,
    /// Slept on in place of the doorbell's word, as `node::wakeup` does where transports have descriptors.
    rung: Option<EventFd>,
    parked_futex: Futex,
    /// What the sender has published, by operation.
    arrived: [AtomicU32; 2],
    /// Where a thread of the program sleeps outside MPI, until operation 1 is complete.
    outside: Futex,
    answered: AtomicU32,
    visits: AtomicU32,
}

#[derive(Default)]
struct State {
    process: Option<Arc<Process>>,
    threads: Threads<usize>,
    complete: [bool; 2],
}

#[derive(Clone)]
struct Thread(Arc<Process>, Who);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Program,
    ProgressThread,
}

impl Process {
    fn wake(&self) {
        match &self.rung {
            Some(rung) => rung.set(true),
            None => self.bell_futex.wake(),
        }
    }
}

fn process() -> Thread {
    process_that_sleeps_on(None)
}

fn process_that_sleeps_on(rung: Option<EventFd>) -> Thread {
    let process = Arc::new(Process {
        state: Mutex::default(),
        bell: Doorbell::default(),
        bell_futex: Futex::default(),
        rung,
        parked_futex: Futex::default(),
        arrived: [AtomicU32::new(0), AtomicU32::new(0)],
        outside: Futex::default(),
        answered: AtomicU32::new(0),
        visits: AtomicU32::new(0),
    });
    // The senders execute fences here; membarrier is by its definition the same, ordered by the sleeper instead.
    process.bell.ask_for_fences();
    process.state.lock().unwrap().process = Some(process.clone());
    Thread(process, Who::Program)
}

impl Thread {
    /// Waits for an operation; the two references to each other are dropped by the thread that calls [`Thread::close`].
    fn wait(&mut self, how: How<usize>, operation: usize) {
        const AT_ONCE: Policy = Policy { spin: Duration::ZERO, yields: 0 };
        wait(
            self,
            AT_ONCE,
            how,
            |_: &mut State| (),
            |state: &mut State| state.complete[operation].then_some(()),
        );
    }

    /// What `MPI_Cancel` or `MPI_Pready` of another thread does.
    fn complete(&mut self, operation: usize) {
        self.with(|state| {
            state.complete[operation] = true;
            state.threads.changed();
        });
    }

    /// Another process sends a message.
    fn send(&self, operation: usize) {
        self.0.arrived[operation].store(1, Ordering::Release);
        self.0.bell.ring(|_| self.0.wake());
    }

    fn close(self) {
        self.0.state.lock().unwrap().process = None;
    }
}

impl Host for Thread {
    type State = State;
    type Interest = usize;
    type Armed = u32;
    type Reason = ();
    type Shown = ();

    fn with<R>(&mut self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.0.state.lock().unwrap();
        if self.1 == Who::Program {
            self.0.visits.fetch_add(1, Ordering::Relaxed);
        }
        let result = f(&mut state);
        let complete = state.complete;
        let wakes = state.threads.news(|&operation| complete[operation]);
        drop(state);
        if let Some(wakes) = wakes {
            if wakes.doorbell {
                self.0.bell.wake_own(|_| self.0.wake());
            }
            wakes.run(|_| self.0.parked_futex.wake());
        }
        result
    }

    fn is_alone() -> bool {
        false
    }

    fn is_wanted() -> bool {
        false
    }

    fn visits(&self) -> u32 {
        self.0.visits.load(Ordering::Relaxed)
    }

    fn threads(state: &mut State) -> &mut Threads<usize> {
        &mut state.threads
    }

    fn progress(state: &mut State) -> bool {
        let process = state.process.clone().unwrap();
        let mut happened = false;
        for (complete, arrived) in state.complete.iter_mut().zip(&process.arrived) {
            if !*complete && arrived.load(Ordering::Acquire) == 1 {
                *complete = true;
                happened = true;
            }
        }
        if happened {
            state.threads.changed();
        }
        if state.complete[1] && process.answered.swap(1, Ordering::SeqCst) == 0 {
            process.outside.wake();
        }
        happened
    }

    fn call_is_due(_: &State) -> bool {
        false
    }

    fn call(&mut self) {}

    fn wants_turn(_: &State) -> bool {
        false
    }

    fn arm(state: &mut State) -> Option<u32> {
        let process = state.process.as_ref().unwrap();
        process.bell.arm(|| unreachable!("senders execute fences"))
    }

    fn must_arm_again(_: &State) -> bool {
        false
    }

    fn must_look_for_losses(_: &State) -> bool {
        false
    }

    fn look_for_losses(_: &mut State) -> bool {
        false
    }

    fn disarm(state: &mut State) {
        let process = state.process.as_ref().unwrap();
        process.bell.disarm();
        if let Some(rung) = &process.rung {
            rung.set(false);
        }
    }

    fn shows_after() -> Option<Duration> {
        None
    }

    fn show(&mut self, _: Instant, _: impl FnMut(&mut State)) -> Option<()> {
        None
    }

    fn hide(_: &mut State, (): ()) {}

    fn sleep(&self, armed: u32, _: Option<Instant>) {
        match &self.0.rung {
            Some(rung) => rung.wait(),
            None => self.0.bell_futex.wait(|| self.0.bell.current() == armed),
        }
    }

    fn sleep_parked(&self, word: &AtomicU32, value: u32, _: Option<Instant>) {
        self.0.parked_futex.wait(|| word.load(Ordering::SeqCst) == value);
    }
}

/// Two threads wait, one for a message and one for an operation that a third cancels.
#[test]
fn a_message_and_a_cancellation_reach_their_threads() {
    model(2, || {
        let mut me = process();
        let mut other = me.clone();
        let other = thread::spawn(move || other.wait(How::Parked(1), 1));
        let sender = me.clone();
        let sender = thread::spawn(move || sender.send(1));
        let mut canceller = me.clone();
        let canceller = thread::spawn(move || canceller.complete(0));
        me.wait(How::Parked(0), 0);
        for thread in [other, sender, canceller] {
            thread.join().unwrap();
        }
        me.close();
    });
}

/// Both messages come by one sender; each thread may find the other's.
#[test]
fn each_of_two_threads_gets_its_message() {
    for how in [How::Parked(1), How::Active] {
        model(2, move || {
            let mut me = process();
            let mut other = me.clone();
            let other = thread::spawn(move || other.wait(how, 1));
            let sender = me.clone();
            let sender = thread::spawn(move || {
                sender.send(0);
                sender.send(1);
            });
            me.wait(How::Parked(0), 0);
            other.join().unwrap();
            sender.join().unwrap();
            me.close();
        });
    }
}

/// The poller's wait ends by another thread; the thread parked behind it inherits the role and gets its message.
#[test]
fn the_role_of_the_poller_is_inherited() {
    model(3, || {
        let mut me = process();
        let mut other = me.clone();
        let other = thread::spawn(move || {
            other.wait(How::Parked(1), 1);
        });
        let mut third = me.clone();
        let third = thread::spawn(move || {
            third.complete(0);
            third.send(1);
        });
        me.wait(How::Parked(0), 0);
        other.join().unwrap();
        third.join().unwrap();
        me.close();
    });
}

/// Two threads that only their own polling moves forward sleep on one doorbell.
#[test]
fn active_threads_share_the_doorbell() {
    model(2, || {
        let mut me = process();
        let mut other = me.clone();
        let other = thread::spawn(move || other.wait(How::Active, 1));
        let mut third = me.clone();
        let third = thread::spawn(move || {
            third.send(0);
            third.complete(1);
        });
        me.wait(How::Active, 0);
        other.join().unwrap();
        third.join().unwrap();
        me.close();
    });
}

/// The same on descriptors, of which the eventfd wakes both, in whatever order they wake and sleep again.
#[test]
fn active_threads_share_the_descriptors() {
    model(2, || {
        let mut me = process_that_sleeps_on(Some(EventFd::default()));
        let mut other = me.clone();
        let other = thread::spawn(move || other.wait(How::Active, 1));
        let mut third = me.clone();
        let third = thread::spawn(move || {
            third.send(0);
            third.complete(1);
        });
        me.wait(How::Active, 0);
        other.join().unwrap();
        third.join().unwrap();
        me.close();
    });
}

/// The program waits, then computes until the progress thread has answered for it, and dismisses that.
#[test]
fn the_progress_thread_answers_while_the_program_computes() {
    for rung in [false, true] {
        model(2, move || {
            let mut me = process_that_sleeps_on(rung.then(EventFd::default));
            me.with(|state| assert!(state.threads.need()));
            let mut other = Thread(me.0.clone(), Who::ProgressThread);
            let other = thread::spawn(move || progress_thread(&mut other));
            let sender = me.clone();
            let sender = thread::spawn(move || {
                sender.send(0);
                sender.send(1);
            });
            me.wait(How::Parked(0), 0);
            me.0.outside.wait(|| me.0.answered.load(Ordering::SeqCst) == 0);
            me.with(|state| state.threads.release());
            other.join().unwrap();
            sender.join().unwrap();
            me.close();
        });
    }
}

/// The thread that comes by the plain way and one that revokes it are never inside together, and the way opens again.
#[test]
fn revoking_excludes_the_plain_way() {
    model(3, || {
        let lock = Arc::new(Lock::new());
        lock.exclusive().set_mode(Mode::Running);
        let inside = Arc::new(UnsafeCell::new(0));
        let other = {
            let (lock, inside) = (lock.clone(), inside.clone());
            thread::spawn(move || {
                let exclusive = lock.exclusive();
                // SAFETY: loom checks that no other access is concurrent.
                inside.with_mut(|inside| unsafe { *inside += 1 });
                drop(exclusive);
            })
        };
        let held = lock.lock(true).unwrap();
        // SAFETY: as above.
        inside.with_mut(|inside| unsafe { *inside += 1 });
        if let Held::Plain = held {
            lock.leave_plain();
        } else {
            drop(held);
        }
        other.join().unwrap();
        assert!(lock.try_plain(), "the plain way is open again");
        lock.leave_plain();
    });
}

/// A rise to `MPI_THREAD_MULTIPLE` by another thread stays, whatever the thread on the plain way does meanwhile.
#[test]
fn a_risen_level_stays() {
    model(3, || {
        let lock = Arc::new(Lock::new());
        lock.exclusive().set_mode(Mode::Running);
        let other = {
            let lock = lock.clone();
            thread::spawn(move || lock.exclusive().set_mode(Mode::Multiple))
        };
        if lock.try_plain() {
            lock.leave_plain();
        }
        lock.exclusive().set_mode(Mode::Running);
        other.join().unwrap();
        assert_eq!(lock.mode(), Mode::Multiple);
    });
}
