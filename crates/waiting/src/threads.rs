//! The threads of a process that wait: one polls for all, the others are parked on words of their own.
//!
//! ```text
//!   poller    makes progress; sleeps on the doorbell when nothing comes; has the role until its own wait is over
//!   parked    sleeps on its own word; woken when what it waits for may be there, or to take over the role
//!   active    waits for something that only its own polling moves (a blocking collective): polls beside the poller, and
//!             sleeps on the same doorbell
//! ```
//! [`Threads`] is kept under the lock of the state. Whatever completes an operation says so by [`Threads::changed`]; the
//! thread that has done it wakes the others when it gives the lock back ([`Threads::news`]). So no completion, by whichever
//! thread, leaves a thread asleep that waits for it.

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
    pub fn is_woken(&self) -> bool {
        // Acquire is not needed: what the waker did is seen under the lock.
        self.word.load(Ordering::Relaxed) == WOKEN
    }

    /// Sleeps until the thread is woken or `deadline` passes, by `wait(word, value)`, which returns when the word no longer
    /// has that value, or for no reason.
    pub(crate) fn sleep(&self, deadline: Option<Instant>, wait: impl Fn(&AtomicU32, u32)) {
        if self.word.compare_exchange(WAITS, SLEEPS, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
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

/// The waiting threads of a process. `I` tells what one waits for, as far as that can be told.
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
}

impl<I> Default for Threads<I> {
    fn default() -> Threads<I> {
        Threads { polled: false, parked: Vec::new(), asleep: 0, changed: false, handed_on: false }
    }
}

/// What is to be woken once the lock is given back.
#[derive(Debug)]
#[must_use]
pub struct Wakes<I> {
    parked: Vec<Arc<Parked<I>>>,
    /// The threads that sleep on the doorbell, too.
    pub doorbell: bool,
}

impl<I> Wakes<I> {
    /// Wakes the parked threads, by `wake(word)`.
    pub fn run(self, wake: impl Fn(&AtomicU32)) {
        for parked in self.parked {
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

    /// Whether other threads wait at all: if not, nobody need be told of changes.
    #[inline(always)]
    pub fn is_awaited(&self) -> bool {
        !self.parked.is_empty() || self.asleep != 0
    }

    /// To be called before the lock is given back where several threads may wait: who is to be woken. `over`: whether what
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
        Wakes { parked, doorbell: changed && self.asleep != 0 }
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
        self.handed_on |= !self.polled && !self.parked.is_empty();
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
