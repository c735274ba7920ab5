//! Elements that the processor has atomic operations for, in mapped memory. Under an exclusive lock of their target, or
//! under the lock of its elements where long accumulates have brought that into use, loops combine them (`osc`'s
//! `ways.rs`).

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use abi::{Op, Result};
use mem::{PeerBytes, UserMem};
use osc::{Combiner, Element, LONG};
use platform::membarrier;

use super::{Near, Window};
use crate::memory::{combine_at, combine_by_loops, compare_at, read_at};

/// Bytes that are combined under a lock at a time.
pub(super) const PIECE: usize = 64 << 10;

/// How long a process sleeps before it asks whether the holder of the lock has ended.
const PATIENCE: Duration = Duration::from_millis(500);

impl Window {
    /// As [`Window::combine_words`], at any address in mapped memory.
    ///
    /// # Errors
    /// As above.
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
            window.locked(near, || {
                let view = window.control.view();
                if view.may_loop(near.local, combiner.count(len), &mut cost, membarrier::barrier) {
                    combine_by_loops(combiner, place, from, into);
                } else {
                    combine_at(combiner, place, from, into);
                }
            });
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
        if let Some(_atomically) = self.control.view().atomically(self.local, near.local) {
            return compare_at(element, target, origin, compare, result);
        }
        self.compare_under_lock(near, element, target, (origin, compare, result));
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
        let sleep = |word: &AtomicU64, value: u64, holder: u32| {
            // The lower half of a little-endian word, which changes whenever the lock does.
            platform::futex::wait_for(word.as_ptr() as usize, value as u32, PATIENCE);
            word.load(std::sync::atomic::Ordering::Relaxed) == value && self.has_ended(holder)
        };
        let wake = |word: &AtomicU64| platform::futex::wake(word.as_ptr() as usize, 1);
        let _locked = self.control.view().lock_elements(near.local, self.rank, sleep, wake);
        work()
    }

    /// Whether the process of a rank has ended; `false` where that cannot be known.
    pub(super) fn has_ended(&self, rank: u32) -> bool {
        let peer = self.group.members().get(rank as usize).map(|&peer| btl::Peer(peer));
        let lost = self.far.as_ref().is_some_and(|far| far.lost.contains(&rank));
        lost || self.node.as_ref().zip(peer).is_some_and(|(node, peer)| node.has_ended(peer))
    }
}
