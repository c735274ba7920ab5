//! Elements that the processor has atomic operations for, in mapped memory. Under an exclusive lock of their target, or
//! under the lock of its elements where long accumulates have brought that into use, loops combine them (`osc`'s
//! `ways.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abi::{Op, Result};
use mem::{PeerBytes, UserMem};
use osc::{Combiner, Element, LONG, Locked, Waiting};
use platform::membarrier;

use super::{Near, Window};
use objects::memory::{combine_at, combine_by_loops, compare_at, read_at};

/// Bytes that are combined under a lock at a time.
pub(super) const PIECE: usize = 64 << 10;

/// How long a process sleeps before it asks whether the holder of the lock has ended.
const TIMEOUT: Duration = Duration::from_millis(500);

impl Window {
    /// As [`Window::combine_words`], at any address in mapped memory.
    ///
    /// # Errors
    /// Those of [`Window::combine_words`].
    pub(super) fn combine_run(
        &mut self,
        near: Near,
        (element, op): (&Element, Op),
        run: UserMem,
        origin: Option<UserMem>,
        result: Option<UserMem>,
    ) -> Result<()> {
        if element.is_atomic_at(run.address()) {
            return self.combine_words(near, (element, op), run, origin, result);
        }
        self.locked(near, || {
            let mut present = read_at(run);
            if let Some(result) = result {
                result.write(PeerBytes::of(&present));
            }
            if let Some(origin) = origin {
                osc::combine(element, op, &mut present, &read_at(origin))?;
                run.write(PeerBytes::of(&present));
            }
            Ok(())
        })
    }

    /// Combines elements of `target`, a run in mapped memory of the rank at a fitting address, with those of `origin`;
    /// `result` gets what they were.
    ///
    /// # Errors
    /// As `osc::Combiner::new`.
    #[inline(always)]
    pub(super) fn combine_words(
        &mut self,
        near: Near,
        (element, op): (&Element, Op),
        target: UserMem,
        origin: Option<UserMem>,
        result: Option<UserMem>,
    ) -> Result<()> {
        let combiner = match self.combiner {
            Some(combiner) if combiner.is_of(element, op) => combiner,
            _ => self.find_combiner(element, op)?,
        };
        let count = combiner.count(target.len());
        let long = count >= LONG;
        if long && self.epochs.is_exclusive(near.rank) {
            self.stored = true;
            combine_by_loops(&combiner, target, origin, result);
            return Ok(());
        }
        if let Some(_atomically) = self.control.view().atomically(self.local, near.local)
            && !(long && self.cost.add(count))
        {
            combine_at(&combiner, target, origin, result);
            return Ok(());
        }
        if let Some(_keeper) = self.control.view().as_keeper(self.local, self.rank, near.local) {
            self.stored = true;
            combine_by_loops(&combiner, target, origin, result);
            return Ok(());
        }
        self.combine_under_lock(near, &combiner, target, origin, result);
        Ok(())
    }

    /// Looks up what an operation does, for this accumulate and those that are alike.
    #[cold]
    fn find_combiner(&mut self, element: &Element, op: Op) -> Result<Combiner> {
        let combiner = Combiner::new(element, op)?;
        self.combiner = Some(combiner);
        Ok(combiner)
    }

    #[inline(never)]
    fn combine_under_lock(
        &mut self,
        near: Near,
        combiner: &Combiner,
        target: UserMem,
        origin: Option<UserMem>,
        result: Option<UserMem>,
    ) {
        let mut cost = std::mem::take(&mut self.cost);
        let (window, mut position) = (&*self, 0);
        while position < target.len() {
            let len = PIECE.min(target.len() - position);
            let part = |memory: UserMem| memory.part(position, len);
            let (place, from, into) = (part(target), origin.map(part), result.map(part));
            let locked = window.lock_elements(near);
            let view = window.control.view();
            if view.may_loop(near.local, combiner.count(len), &mut cost, membarrier::barrier) {
                combine_by_loops(combiner, place, from, into);
                if cost.may_keep(near.local) {
                    locked.keep();
                }
            } else {
                combine_at(combiner, place, from, into);
            }
            position += len;
        }
        self.cost = cost;
    }

    /// Replaces the element of `target`, in the rank's memory at a fitting address, by `origin` if it is equal to
    /// `compare`; `result` gets what it was.
    #[inline(always)]
    pub(super) fn compare_word(
        &mut self,
        near: Near,
        element: &Element,
        target: UserMem,
        (origin, compare, result): (UserMem, UserMem, UserMem),
    ) {
        let view = self.control.view();
        let as_keeper = || view.as_keeper(self.local, self.rank, near.local);
        if let Some(_announced) = view.atomically(self.local, near.local).or_else(as_keeper) {
            compare_at(element, target, origin, compare, result);
        } else {
            self.compare_under_lock(near, element, target, (origin, compare, result));
        }
        self.changed = word(compare) == word(result);
    }

    /// Notes whether combining a target with `origin` has changed it, or only polled it by a sum of 0. The target is not
    /// read for that: its cache line may be away again.
    #[inline(always)]
    pub(super) fn note_change(&mut self, op: Op, origin: UserMem) {
        let may_poll = matches!(op, abi::SUM | abi::BOR | abi::BXOR) && origin.len() <= 8;
        self.changed = !may_poll || word(origin) != 0;
    }

    #[inline(never)]
    fn compare_under_lock(
        &mut self,
        near: Near,
        element: &Element,
        target: UserMem,
        (origin, compare, result): (UserMem, UserMem, UserMem),
    ) {
        let mut cost = std::mem::take(&mut self.cost);
        self.locked(near, || {
            self.control.view().may_loop(near.local, 1, &mut cost, membarrier::barrier);
            compare_at(element, target, origin, compare, result);
        });
        self.cost = cost;
    }

    /// Runs `work` while no other process combines elements of the rank's memory under its lock.
    #[inline]
    pub(super) fn locked<R>(&self, near: Near, work: impl FnOnce() -> R) -> R {
        let _locked = self.lock_elements(near);
        work()
    }

    #[inline]
    fn lock_elements(&self, near: Near) -> Locked<'_, Waiter<'_>> {
        self.control.view().lock_elements(near.local, self.rank, Waiter(self))
    }

    /// Whether the process of a rank has ended; `false` where that cannot be known.
    pub(super) fn has_ended(&self, rank: u32) -> bool {
        let peer = self.group.members().get(rank as usize).map(|&peer| btl::Peer(peer));
        let lost = self.far.as_ref().is_some_and(|far| far.operations.is_lost(rank));
        lost || self.node.as_ref().zip(peer).is_some_and(|(node, peer)| node.has_ended(peer))
    }
}

/// An element of at most 8 bytes.
#[inline(always)]
fn word(memory: UserMem) -> u64 {
    match memory.len() {
        8 => memory.as_bytes().word(0),
        _ => u64::from_ne_bytes(short(memory)),
    }
}

/// An element of less than 8 bytes.
#[inline(always)]
fn short(memory: UserMem) -> [u8; 8] {
    let mut element = [0; 8];
    memory.as_bytes().copy_to(&mut element);
    element
}

/// How a process of a window waits for the lock on elements.
struct Waiter<'a>(&'a Window);

impl Waiting for Waiter<'_> {
    fn sleep(&mut self, word: &AtomicU64, value: u64, holder: u32) -> bool {
        // The lower half of a little-endian word, which changes whenever the lock does.
        platform::futex::wait_for(word.as_ptr() as usize, value as u32, TIMEOUT);
        word.load(Ordering::Relaxed) == value && self.0.has_ended(holder)
    }

    fn pass(&mut self, holder: u32) -> bool {
        platform::waiter::give_way();
        self.0.has_ended(holder)
    }

    fn wake(&mut self, word: &AtomicU64) {
        platform::futex::wake(word.as_ptr() as usize, 1);
    }

    fn barrier(&mut self) {
        // All processes are registered, or the lock would not have been kept; it may still fail for want of memory.
        while !membarrier::barrier() {
            platform::waiter::give_way();
        }
    }
}
