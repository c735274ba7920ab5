//! Work outside MPI: progress while the program computes, and calls that block, on threads of the library.
//!
//! ```text
//!   need_progress    the helper thread makes progress where no thread of the program does (`waiting::progress_thread`)
//!   run_apart        a worker runs what blocks, then changes the state; in turns, what goes on and on
//!   run_blocking     the same in a lane: work that may stand still stops its own lane, and nothing else
//!
//!   Lane::Pool       some workers for what ends by itself
//!   Lane::Own        workers of one file, that come with its work and go with it
//! ```
//! They are different threads, since the helper must answer peers while a file is being read. Both take no signals,
//! sleep in the kernel, and are there only while a caller needs them; until then nothing of this costs anything. While
//! the helper is there, all threads use the mutex of the state, at any thread level.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use abi::{Error, Result};

use platform::Blocking;

use crate::domain::{Caller, Token};
use crate::wait::Progress;

/// Workers at most: calls that block at the same time.
const MOST_WORKERS: usize = 4;

type Work = Box<dyn FnOnce() + Send>;

/// Which workers run what blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    /// Those for all that ends by itself, soon: calls on files of this host.
    Pool,
    /// Those for one thing of the program that may stand still, however long: a lock that another program holds, a server
    /// that does not answer, a device. Work of other lanes goes on meanwhile.
    Own {
        /// What names it.
        key: u64,
        /// Items that run at a time; where it is one, they run one after the other.
        most: usize,
    },
}

/// The work of a lane of its own. It is there as long as it has workers.
#[derive(Default)]
struct Own {
    work: VecDeque<Work>,
    workers: usize,
}

/// What workers share; part of a domain.
pub(crate) struct Workers {
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    work: VecDeque<Work>,
    lanes: BTreeMap<u64, Own>,
    /// Threads there are, and those of them that wait for work.
    workers: usize,
    idle: usize,
    /// Workers end when there is no work.
    closing: bool,
}

impl Workers {
    pub(crate) const fn new() -> Workers {
        let queue =
            Queue { work: VecDeque::new(), lanes: BTreeMap::new(), workers: 0, idle: 0, closing: false };
        Workers { queue: Mutex::new(queue), changed: Condvar::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// No thread can be started; nothing was queued.
    fn add_to(&'static self, lane: Lane, work: Work) -> std::io::Result<()> {
        match lane {
            Lane::Pool => self.add(work),
            Lane::Own { key, most } => self.add_own(key, most, work),
        }
    }

    /// As [`Workers::add_to`], in a lane of its own.
    fn add_own(&'static self, key: u64, most: usize, work: Work) -> std::io::Result<()> {
        let mut queue = self.queue();
        let lane = queue.lanes.entry(key).or_default();
        lane.work.push_back(work);
        if lane.workers >= most.max(1) {
            return Ok(());
        }
        match platform::thread::start("alhena-work", move || self.run_own(key)) {
            Ok(()) => lane.workers += 1,
            // Those that there are will come to it.
            Err(_) if lane.workers > 0 => {}
            Err(error) => {
                queue.lanes.remove(&key);
                return Err(error);
            }
        }
        Ok(())
    }

    /// A worker of a lane of its own.
    fn run_own(&self, key: u64) {
        let mut queue = self.queue();
        while let Some(lane) = queue.lanes.get_mut(&key) {
            if let Some(work) = lane.work.pop_front() {
                drop(queue);
                work();
                queue = self.queue();
                continue;
            }
            lane.workers -= 1;
            if lane.workers == 0 {
                queue.lanes.remove(&key);
            }
            break;
        }
        drop(queue);
        // One that closes may wait.
        self.changed.notify_all();
    }

    /// # Errors
    /// No thread can be started; nothing was queued.
    fn add(&'static self, work: Work) -> std::io::Result<()> {
        let mut queue = self.queue();
        queue.closing = false;
        if queue.idle <= queue.work.len() && queue.workers < MOST_WORKERS {
            let started = platform::thread::start("alhena-work", || self.run());
            match started {
                Ok(()) => queue.workers += 1,
                // Those that there are will come to it.
                Err(_) if queue.workers > 0 => {}
                Err(error) => return Err(error),
            }
        }
        queue.work.push_back(work);
        drop(queue);
        // One that closes may wait, too.
        self.changed.notify_all();
        Ok(())
    }

    /// Queues what a worker has not done with, which comes back to it at the latest.
    fn add_again(&self, lane: Lane, work: Work) {
        let mut queue = self.queue();
        match lane {
            Lane::Pool => queue.work.push_back(work),
            Lane::Own { key, .. } => queue.lanes.entry(key).or_default().work.push_back(work),
        }
    }

    /// A worker.
    fn run(&self) {
        let mut queue = self.queue();
        loop {
            if let Some(work) = queue.work.pop_front() {
                drop(queue);
                work();
                queue = self.queue();
            } else if queue.closing {
                queue.workers -= 1;
                return self.changed.notify_all();
            } else {
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }

    /// Waits until all work is done and no worker is left.
    fn close(&self) {
        let mut queue = self.queue();
        queue.closing = true;
        self.changed.notify_all();
        while queue.workers > 0 || !queue.lanes.is_empty() {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Makes progress also while no thread of the program is inside MPI: for a window that peers reach by messages, a file,
/// a transport. Counted: each call needs a [`release_progress`] of its own. Not to be called with the state locked.
///
/// The helper makes no calls of the program (reduction functions, callbacks); they wait until the program comes.
///
/// # Errors
/// `MPI_ERR_NO_MEM`: the thread cannot be started.
pub fn need_progress<S: Progress>(t: &mut Token<S>) -> Result<()> {
    S::domain().lock().pin();
    if !t.lock().threads().need() {
        return Ok(());
    }
    let helper = || waiting::progress_thread(&mut Token::<S>::of(Caller::ProgressThread));
    platform::thread::start("alhena-help", helper).map_err(|_| {
        let mut state = t.lock();
        state.threads().release();
        state.threads().ends_progress_thread();
        drop(state);
        S::domain().lock().unpin();
        Error::new(
            abi::ERR_NO_MEM,
            "the thread that makes progress while the program computes cannot be started",
        )
    })
}

/// Takes one [`need_progress`] back.
pub fn release_progress<S: Progress>(t: &mut Token<S>) {
    t.lock().threads().release();
    S::domain().lock().unpin();
}

/// At the end of a call that may have sent something: frames that wait for a connection need answers to the peer while the
/// program computes, so the helper makes progress until the first call after they have gone. Costs two loads where nothing
/// has changed.
#[inline(always)]
pub fn see_to_connections<S: Progress>(t: &mut Token<S>) {
    if bml::connects() != S::domain().helps_to_connect() {
        help_to_connect(t);
    }
}

#[cold]
fn help_to_connect<S: Progress>(t: &mut Token<S>) {
    let domain = S::domain();
    if bml::connects() {
        // Without a thread the frames wait for the next call.
        domain.change_help(false, || need_progress(t).is_ok());
    } else {
        domain.change_help(true, || {
            release_progress(t);
            false
        });
    }
}

/// Runs `work`, which may block, on a thread of the library, and then `done` with its result and the locked state,
/// where it completes the operation. Threads that wait are woken as after any completion. Items start in the order in
/// which they come, some at the same time, and end in any. Not to be called with the state locked.
///
/// Neither function may call the program or wait for progress. The caller keeps what they refer to alive, the library
/// initialised among it, until `done` has run.
///
/// # Errors
/// `MPI_ERR_NO_MEM`: no thread can be started; neither function will run.
pub fn run_apart<S: Progress, R>(
    _t: &mut Token<S>,
    work: impl FnOnce() -> R + Send + 'static,
    done: impl FnOnce(&mut S, R) + Send + 'static,
) -> Result<()> {
    let work = move || {
        let result = work();
        let mut t = Token::<S>::of(Caller::Any);
        let mut state = t.lock();
        done(&mut state, result);
        state.threads().changed();
    };
    S::domain().workers().add(Box::new(work)).map_err(|_| NO_THREAD)
}

/// As [`run_apart`], in a lane, with the proof that the thread may block. May be called with the state locked.
///
/// # Errors
/// As [`run_apart`].
pub fn run_blocking<S: Progress, R>(
    lane: Lane,
    work: impl FnOnce(&Blocking<'_>) -> R + Send + 'static,
    done: impl FnOnce(&mut S, R) + Send + 'static,
) -> Result<()> {
    let work = move || {
        let result = work(&of_worker());
        let mut t = Token::<S>::of(Caller::Any);
        let mut state = t.lock();
        done(&mut state, result);
        state.threads().changed();
    };
    S::domain().workers().add_to(lane, Box::new(work)).map_err(|_| NO_THREAD)
}

const NO_THREAD: Error =
    Error::new(abi::ERR_NO_MEM, "the thread that makes calls which block cannot be started");

/// A worker holds nothing while it runs an item.
#[expect(clippy::disallowed_methods, reason = "called by workers alone, between two items")]
fn of_worker() -> Blocking<'static> {
    Blocking::vouch()
}

/// As [`run_blocking`], for work that comes back: `work` runs, then `after` with the locked state, again and again until
/// `work` has nothing left; other items of the lane run between two turns. May be called with the state locked.
///
/// # Errors
/// `MPI_ERR_NO_MEM`: no thread can be started; neither function will run.
pub fn run_apart_in_turns<S: Progress>(
    lane: Lane,
    work: impl FnMut(&Blocking<'_>) -> bool + Send + 'static,
    after: fn(&mut S),
) -> Result<()> {
    S::domain().workers().add_to(lane, turn::<S>(lane, Box::new(work), after)).map_err(|_| NO_THREAD)
}

type Turns = Box<dyn FnMut(&Blocking<'_>) -> bool + Send>;

fn turn<S: Progress>(lane: Lane, mut work: Turns, after: fn(&mut S)) -> Work {
    Box::new(move || {
        let more = work(&of_worker());
        {
            let mut t = Token::<S>::of(Caller::Any);
            let mut state = t.lock();
            after(&mut state);
            state.threads().changed();
        }
        if more {
            S::domain().workers().add_again(lane, turn::<S>(lane, work, after));
        }
    })
}

/// Ends the library's threads, before it is finalized: no window, file or transport needs them any more.
pub fn end_outside<S: Progress>(t: &mut Token<S>) {
    S::domain().workers().close();
    S::domain().end_help();
    while t.lock().threads().is_needed() {
        release_progress(t);
    }
    // The helper was woken and ends.
    while t.lock().threads().has_progress_thread() {
        platform::waiter::give_way();
    }
}
