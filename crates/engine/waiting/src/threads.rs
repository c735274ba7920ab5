//! The threads of a process that wait: one polls for all, the others are parked on words of their own.
//!
//! ```text
//!   poller    makes progress; sleeps on the doorbell when nothing comes; has the role until its own wait is over
//!   parked    sleeps on its own word; woken when what it waits for may be there, or to take over the role
//!   active    waits for something that only its own polling moves (a blocking collective): polls beside the poller, and
//!             sleeps on the same doorbell
//!   progress thread  makes progress while no thread of the program is inside MPI, as long as a caller needs that
//! ```
//! [`Threads`] is kept under the lock of the state. Whatever completes an operation reports it to [`Threads::changed`];
//! the thread that has done it wakes the others when it gives the lock back ([`Threads::news`]). So no completion, by
//! whichever thread, leaves a thread asleep that waits for it.

use std::time::Instant;

use crate::sync::{Arc, AtomicU32, Ordering};

/// The word of a parked thread.
#[derive(Debug)]
pub struct Parked<I> {
    word: AtomicU32,
    interest: I,
}

/// Values of the word.
const WAITS: u32 = 0;
const SLEEPS: u32 = 1;
const WOKEN: u32 = 2;

impl<I> Parked<I> {
    /// Whether the thread was woken; for polling before it sleeps.
    pub(crate) fn is_woken(&self) -> bool {
        // Acquire is not needed: what the waker did is seen under the lock.
        self.word.load(Ordering::Relaxed) == WOKEN
    }

    /// Sleeps until the thread is woken or `deadline` passes, by `wait(word, value)`, which returns when the word no
    /// longer has that value, or for no reason. After a deadline it may sleep again.
    pub(crate) fn sleep(&self, deadline: Option<Instant>, wait: impl Fn(&AtomicU32, u32)) {
        let before = self.word.compare_exchange(WAITS, SLEEPS, Ordering::Relaxed, Ordering::Relaxed);
        if matches!(before, Ok(WAITS) | Err(SLEEPS)) {
            while !self.is_woken() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
                wait(&self.word, SLEEPS);
            }
        }
    }

    fn wake(&self, wake: impl FnOnce(&AtomicU32)) {
        if self.word.swap(WOKEN, Ordering::Relaxed) == SLEEPS {
            wake(&self.word);
        }
    }
}

/// The waiting threads of a process. `I` names what one waits for, as far as that is known.
#[derive(Debug)]
pub struct Threads<I> {
    /// A thread has the role of the poller.
    polled: bool,
    parked: Vec<Arc<Parked<I>>>,
    /// Threads that sleep on the doorbell, or are about to.
    asleep: u32,
    /// Something was completed since the last [`Threads::news`].
    changed: bool,
    /// A thread is to take over the role.
    handed_on: bool,
    progress_thread: ProgressThread,
}

/// The thread that makes progress while the program is away.
#[derive(Debug, Default)]
struct ProgressThread {
    /// Reasons for it to be there.
    needs: u32,
    /// It runs, or is about to.
    runs: bool,
    /// Where it sleeps, and whether the program's leaving wakes it.
    stands_by: Option<(Arc<Parked<()>>, bool)>,
    /// It is to be woken wherever it sleeps, since no caller needs it any more.
    recalled: bool,
}

impl<I> Default for Threads<I> {
    fn default() -> Threads<I> {
        Threads {
            polled: false,
            parked: Vec::new(),
            asleep: 0,
            changed: false,
            handed_on: false,
            progress_thread: ProgressThread::default(),
        }
    }
}

/// What is to be woken once the lock is given back.
#[derive(Debug)]
#[must_use]
pub struct Wakes<I> {
    parked: Vec<Arc<Parked<I>>>,
    progress_thread: Option<Arc<Parked<()>>>,
    /// The threads that sleep on the doorbell, too.
    pub doorbell: bool,
}

impl<I> Wakes<I> {
    /// Wakes the parked threads, by `wake(word)`.
    pub fn run(self, wake: impl Fn(&AtomicU32)) {
        for parked in self.parked {
            parked.wake(&wake);
        }
        if let Some(parked) = self.progress_thread {
            parked.wake(&wake);
        }
    }
}

impl<I> Threads<I> {
    /// Something was completed, or came, that another thread may wait for.
    #[inline(always)]
    pub fn changed(&mut self) {
        self.changed = true;
    }

    /// Whether something was reported to [`Threads::changed`] since the last [`Threads::news`].
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Whether other threads wait at all: if not, changes need no report.
    #[inline(always)]
    pub fn is_awaited(&self) -> bool {
        !self.parked.is_empty() || self.asleep != 0 || self.progress_thread.stands_by.is_some()
    }

    /// Called before the lock is given back where several threads may wait: the threads to wake. `over`: whether what
    /// a thread waits for is there, or may be.
    #[inline]
    pub fn news(&mut self, over: impl FnMut(&I) -> bool) -> Option<Wakes<I>> {
        let changed = std::mem::take(&mut self.changed);
        let handed_on = std::mem::take(&mut self.handed_on);
        if !(changed || handed_on) || !self.is_awaited() {
            return None;
        }
        Some(self.due(changed, handed_on, over))
    }

    #[cold]
    fn due(&mut self, changed: bool, handed_on: bool, mut over: impl FnMut(&I) -> bool) -> Wakes<I> {
        let mut parked: Vec<_> = if changed {
            self.parked.extract_if(.., |parked| over(&parked.interest)).collect()
        } else {
            Vec::new()
        };
        // Each thread that is woken looks for the role itself.
        if handed_on && parked.is_empty() && !self.parked.is_empty() {
            parked.push(self.parked.remove(0));
        }
        let recalled = std::mem::take(&mut self.progress_thread.recalled);
        let relieved = recalled || (handed_on && parked.is_empty() && self.awaits_leave());
        let stands_by = self.progress_thread.stands_by.as_ref().filter(|_| relieved);
        let progress_thread = stands_by.map(|(parked, _)| Arc::clone(parked));
        Wakes { parked, progress_thread, doorbell: changed && self.asleep != 0 }
    }

    /// Whether the progress thread sleeps until the program leaves.
    fn awaits_leave(&self) -> bool {
        matches!(self.progress_thread.stands_by, Some((_, true)))
    }

    /// Takes the role of the poller, if it is free.
    pub(crate) fn take_role(&mut self) -> bool {
        !std::mem::replace(&mut self.polled, true)
    }

    /// Gives up the role, if this thread has it, or passes on that it is free.
    pub(crate) fn leave(&mut self, role: &mut bool) {
        if std::mem::take(role) {
            self.polled = false;
        }
        self.handed_on |= !self.polled && (!self.parked.is_empty() || self.awaits_leave());
    }

    pub(crate) fn park(&mut self, interest: I) -> Arc<Parked<I>> {
        let parked = Arc::new(Parked { word: AtomicU32::new(WAITS), interest });
        self.parked.push(parked.clone());
        parked
    }

    /// A parked thread goes on by itself. If it was chosen to take over the role meanwhile, [`Threads::leave`] passes
    /// that on.
    pub(crate) fn forget(&mut self, parked: &Arc<Parked<I>>) {
        self.parked.retain(|other| !Arc::ptr_eq(other, parked));
    }

    /// One more caller needs progress while the program is away; whether the progress thread is to be started.
    pub fn need(&mut self) -> bool {
        self.progress_thread.needs += 1;
        !std::mem::replace(&mut self.progress_thread.runs, true)
    }

    /// Takes one [`Threads::need`] back. The last one ends the progress thread.
    pub fn release(&mut self) {
        self.progress_thread.needs = self.progress_thread.needs.saturating_sub(1);
        if !self.is_needed() {
            // As a change it wakes the doorbell's sleepers, too.
            (self.progress_thread.recalled, self.changed) = (true, true);
        }
    }

    /// Whether a caller needs progress while the program is away.
    pub fn is_needed(&self) -> bool {
        self.progress_thread.needs != 0
    }

    /// Whether a progress thread runs, or is about to.
    pub fn has_progress_thread(&self) -> bool {
        self.progress_thread.runs
    }

    /// Asked by the progress thread, or for one that could not be started: whether it is over.
    pub fn ends_progress_thread(&mut self) -> bool {
        self.progress_thread.runs = self.is_needed();
        !self.progress_thread.runs
    }

    /// Whether a thread has the role of the poller.
    pub(crate) fn is_polled(&self) -> bool {
        self.polled
    }

    /// Whether a thread sleeps on the doorbell.
    pub(crate) fn sleeps(&self) -> bool {
        self.asleep != 0
    }

    /// Where the progress thread sleeps. `on_leave`: until the program leaves.
    pub(crate) fn stand_by(&mut self, on_leave: bool) -> Arc<Parked<()>> {
        let parked = Arc::new(Parked { word: AtomicU32::new(WAITS), interest: () });
        self.progress_thread.stands_by = Some((parked.clone(), on_leave));
        parked
    }

    pub(crate) fn stands_by_no_more(&mut self) {
        self.progress_thread.stands_by = None;
    }

    /// A thread is about to sleep on the doorbell.
    pub(crate) fn falls_asleep(&mut self) {
        self.asleep += 1;
    }

    /// A thread no longer sleeps on the doorbell; whether it was the last, so that the doorbell is to be disarmed.
    pub(crate) fn wakes_up(&mut self) -> bool {
        self.asleep -= 1;
        self.asleep == 0
    }
}
