//! The two ways to combine elements of types that the processor has atomic operations for, in one atomicity domain.
//!
//! ```text
//!   way of a target   0           each element by an atomic operation of the processor, without a lock
//!                     above 0     all under the lock of the target's elements, so that many are combined by loops over vectors
//!
//!   combines by atomic operations         has all use the lock, while it holds it
//!   busy word = target + 1                way = SHORT_RUN
//!   (compiler fence only)                 membarrier: every process of the window executes a full fence
//!   way == 0? combines                    waits until no busy word names the target
//!   busy word = 0                         combines by loops
//! ```
//! Either the process that combines sees the new way, or the other sees its busy word. Both hold the cost of a single
//! atomic operation where there is no long accumulate: the busy word is the process's own, and the way is read only.
//!
//! An atomic operation takes twenty times as long as an addition in a vector, a lock as long as two atomic
//! operations. So the lock comes into use after as many elements of long accumulates as outweigh a membarrier, and
//! goes out of use after as many short ones in a row. Where a process has no membarrier, the way stays 0.
//!
//! A process that has taken the lock that often keeps it. Then it combines without an atomic operation, until another
//! process takes the lock (`packed.rs`):
//!
//! ```text
//!   combines as the keeper                another process wants the lock
//!   busy word = target + 1                lock word = held
//!   (compiler fence only)                 membarrier
//!   lock word == kept? combines           waits until no busy word names the target
//!   busy word = 0                         combines by loops
//! ```

use shm::sync::{AtomicU64, Ordering};

use crate::control::{View, order};

/// Elements from which an accumulate is a long one.
pub const LONG: usize = 8;

/// Elements of long accumulates that are combined by atomic operations before the lock comes into use: 20 µs of them.
const ENOUGH: usize = 4096;

/// Short accumulates in a row after which the lock goes out of use: 20 µs if they contend.
const SHORT_RUN: u64 = 256;

/// Polls of a busy word before the lock does not come into use: its process may have been interrupted.
const POLLS: u32 = 1000;

/// Times that a process takes the lock before it keeps it the first time: 20 µs of them.
const TIMES: u32 = if cfg!(loom) { 1 } else { 1024 };

/// What long accumulates of one process have cost so far.
#[derive(Debug)]
pub struct Cost {
    /// Elements combined by atomic operations.
    elements: usize,
    /// How often the lock of `target` was taken since it was kept last, and how often it is to be taken.
    target: u32,
    taken: u32,
    times: u32,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost { elements: 0, target: 0, taken: 0, times: TIMES }
    }
}

/// Names a target whose elements a process combines without their lock, until it is dropped.
#[derive(Debug)]
pub struct Announcement<'a>(&'a AtomicU64);

impl Drop for Announcement<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: a process that sees this has the operations behind it.
        self.0.store(0, Ordering::Release);
    }
}

impl<'a> View<'a> {
    /// Rank `me` is registered for membarrier. To be called before any rank combines.
    pub fn set_ready(self, me: u32) {
        self.ready(me).store(1, Ordering::SeqCst);
    }

    /// Begins to combine elements of `target` by atomic operations, one at a time in a process; `None`: under the
    /// lock, please.
    #[inline]
    pub fn atomically(self, me: u32, target: u32) -> Option<Announcement<'a>> {
        let way = self.way(target);
        // While the lock is in use, this process need not announce anything.
        if way.load(Ordering::Relaxed) != 0 {
            return None;
        }
        let announced = self.announce(me, target);
        // Acquire: what was combined under the lock is seen.
        (way.load(Ordering::Acquire) == 0).then_some(announced)
    }

    /// Has the busy word of rank `me` name `target`, before it looks whether it may go on. Either a process that takes
    /// that away and then executes a membarrier sees the busy word, or `me` sees that it was taken away.
    #[inline]
    pub(crate) fn announce(self, me: u32, target: u32) -> Announcement<'a> {
        let busy = self.busy(me);
        busy.store(u64::from(target) + 1, Ordering::Relaxed);
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        order();
        Announcement(busy)
    }

    /// Whether the busy word of a rank names `target`.
    pub(crate) fn is_busy(self, rank: u32, target: u32) -> bool {
        // Acquire: what it has combined is behind it.
        self.busy(rank).load(Ordering::Acquire) == u64::from(target) + 1
    }

    /// Whether loops may combine elements of `target`, whose lock this process holds; if not, atomic operations do.
    /// `elements`: how many there are. `barrier` has all processes that are registered execute a fence; whether it
    /// could.
    pub fn may_loop(
        self,
        target: u32,
        elements: usize,
        cost: &mut Cost,
        barrier: impl FnOnce() -> bool,
    ) -> bool {
        let (way, long) = (self.way(target), elements >= LONG);
        match way.load(Ordering::Relaxed) {
            0 if long && cost.is_enough() => {
                cost.elements = 0;
                self.begin_locking(target, barrier)
            }
            0 => false,
            left => {
                // Release: a process that sees that the lock is out of use sees what was combined under it.
                way.store(if long { SHORT_RUN } else { left.min(SHORT_RUN) - 1 }, Ordering::Release);
                long
            }
        }
    }

    fn begin_locking(self, target: u32, barrier: impl FnOnce() -> bool) -> bool {
        let ranks = 0..self.ranks() as u32;
        if !ranks.clone().all(|rank| self.ready(rank).load(Ordering::Relaxed) == 1) {
            return false;
        }
        self.way(target).store(SHORT_RUN, Ordering::SeqCst);
        let is_free = |rank| {
            for _ in 0..if cfg!(loom) { 2 } else { POLLS } {
                if !self.is_busy(rank, target) {
                    return true;
                }
                std::hint::spin_loop();
            }
            false
        };
        let begun = barrier() && ranks.clone().all(is_free);
        if !begun {
            self.way(target).store(0, Ordering::Release);
        }
        begun
    }
}

impl Cost {
    /// Adds what a long accumulate by atomic operations costs; whether the lock should come into use now.
    #[inline]
    pub fn add(&mut self, elements: usize) -> bool {
        self.elements = self.elements.saturating_add(elements);
        self.is_enough()
    }

    fn is_enough(&self) -> bool {
        self.elements >= ENOUGH
    }

    /// The lock of `target` was taken; whether to keep it. That takes twice as many times from one time to the next, since
    /// another process may take the lock away at once.
    pub fn may_keep(&mut self, target: u32) -> bool {
        if std::mem::replace(&mut self.target, target) != target {
            self.taken = 0;
        }
        self.taken += 1;
        if self.taken < self.times {
            return false;
        }
        (self.taken, self.times) = (0, self.times.saturating_mul(2));
        true
    }
}
