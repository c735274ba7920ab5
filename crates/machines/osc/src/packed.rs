//! Accumulates on packed data, under a lock that the processes of a window share: for elements that the processor does not
//! combine at one stroke, and for memory that this process does not map.

use abi::{Op, Result};
use shm::sync::{AtomicU64, Ordering};

use crate::control::View;
use crate::element::Element;
use crate::ways::Announcement;

/// `present = incoming op present`, both in pack order and of the same number of whole elements.
///
/// # Errors
/// As [`op::kernel`].
pub fn combine(element: &Element, op: Op, present: &mut [u8], incoming: &[u8]) -> Result<()> {
    if op == abi::NO_OP {
        return Ok(());
    }
    let kernel = element.kernel(op)?;
    let count = present.len() / element.size;
    if op == abi::REPLACE {
        present.copy_from_slice(incoming);
    } else if element.dense {
        let present = present.as_mut_ptr();
        // SAFETY: both hold `count` elements, which are back to back in memory as well as packed.
        unsafe { kernel(incoming.as_ptr(), present, present, count) };
    } else if let Some(datatype) = element.datatype() {
        let bytes = count * datatype.extent() as usize;
        let (mut left, mut right) = (vec![0u8; bytes], vec![0u8; bytes]);
        // SAFETY: the vectors hold `count` elements, extents apart; the slices as many packed ones.
        unsafe {
            datatype::unpack(&datatype, count as u64, left.as_mut_ptr(), incoming.as_ptr())?;
            datatype::unpack(&datatype, count as u64, right.as_mut_ptr(), present.as_ptr())?;
            kernel(left.as_ptr(), right.as_ptr(), right.as_mut_ptr(), count);
            datatype::pack(&datatype, count as u64, right.as_mut_ptr(), present.as_mut_ptr())?;
        }
    }
    Ok(())
}

/// `present = origin` if it is equal to `compare`; whether it was.
pub fn compare(present: &mut [u8], origin: &[u8], compare: &[u8]) -> bool {
    let equal = present == compare;
    if equal {
        present.copy_from_slice(origin);
    }
    equal
}

/// The lock's word: these bits, and the holder's number in the upper half.
const FREE: u64 = 0;
const HELD: u64 = 1;
/// Others may sleep.
const AWAITED: u64 = 2;
/// No process holds it, but its last holder need not take it: it announces itself in its busy word (`ways.rs`).
const KEPT: u64 = 4;

/// Polls before a process that wants the lock sleeps.
const POLLS: u32 = if cfg!(loom) { 1 } else { 200 };

/// How a process waits for the lock on elements, and has others go on.
pub trait Waiting {
    /// Returns when `word` no longer has `value`, or for no reason. `true`: `holder` has ended, so that the lock is free.
    fn sleep(&mut self, word: &AtomicU64, value: u64, holder: u32) -> bool;
    /// Lets others run, for a moment. `true`: `holder` has ended.
    fn pass(&mut self, holder: u32) -> bool;
    /// Wakes one that sleeps.
    fn wake(&mut self, word: &AtomicU64);
    /// Has all processes that are registered for membarrier execute a fence.
    fn barrier(&mut self);
}

/// The lock on the elements of one rank's memory, until it is dropped.
#[derive(Debug)]
pub struct Locked<'a, W: Waiting> {
    word: &'a AtomicU64,
    owner: u32,
    waiting: W,
}

fn word_of(owner: u32, state: u64) -> u64 {
    u64::from(owner) << 32 | state
}

impl<'a> View<'a> {
    /// Locks the elements of `rank`'s memory. `owner` is any number; those that wait get it as the holder.
    #[inline]
    pub fn lock_elements<W: Waiting>(self, rank: u32, owner: u32, mut waiting: W) -> Locked<'a, W> {
        let word = self.accumulate_lock(rank);
        let held = word_of(owner, HELD);
        if word.compare_exchange(FREE, held, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.await_elements(rank, owner, &mut waiting);
        }
        Locked { word, owner, waiting }
    }

    #[cold]
    fn await_elements(self, rank: u32, owner: u32, waiting: &mut impl Waiting) {
        let (word, mut mine) = (self.accumulate_lock(rank), word_of(owner, HELD));
        let take =
            |from, mine| word.compare_exchange(from, mine, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let mut polls = 0;
        loop {
            let seen = word.load(Ordering::Relaxed);
            let holder = (seen >> 32) as u32;
            if seen == FREE {
                if take(FREE, mine) {
                    return;
                }
            } else if seen & KEPT != 0 {
                if take(seen, mine) {
                    if holder != owner {
                        self.await_keeper(rank, holder, waiting);
                    }
                    return;
                }
            } else if polls < POLLS {
                polls += 1;
                std::hint::spin_loop();
            } else if seen & AWAITED != 0 || take(seen, seen | AWAITED) {
                // The process that wakes this one does not know whether more sleep.
                mine |= AWAITED;
                let awaited = seen | AWAITED;
                if waiting.sleep(word, awaited, holder) && take(awaited, mine) {
                    return;
                }
            }
        }
    }

    /// After the lock was taken from `keeper`: waits until that has combined what it was about to.
    fn await_keeper(self, rank: u32, keeper: u32, waiting: &mut impl Waiting) {
        waiting.barrier();
        for other in 0..self.ranks() as u32 {
            while self.is_busy(other, rank) && !waiting.pass(keeper) {}
        }
    }

    /// Begins to combine elements of `target`, whose lock rank `me` has kept as `owner` and none has taken since: by
    /// loops, without taking it.
    #[inline]
    pub fn as_keeper(self, me: u32, owner: u32, target: u32) -> Option<Announcement<'a>> {
        let (word, kept) = (self.accumulate_lock(target), word_of(owner, KEPT));
        if word.load(Ordering::Relaxed) != kept {
            return None;
        }
        let announced = self.announce(me, target);
        (word.load(Ordering::Acquire) == kept).then_some(announced)
    }
}

impl<W: Waiting> Locked<'_, W> {
    /// Gives the lock back, and keeps it if no process waits for it. Its target's elements are combined under it only.
    pub fn keep(self) {
        let (held, kept) = (word_of(self.owner, HELD), word_of(self.owner, KEPT));
        if self.word.compare_exchange(held, kept, Ordering::Release, Ordering::Relaxed).is_ok() {
            std::mem::forget(self);
        }
    }
}

impl<W: Waiting> Drop for Locked<'_, W> {
    #[inline]
    fn drop(&mut self) {
        if self.word.swap(FREE, Ordering::Release) & AWAITED != 0 {
            self.waiting.wake(self.word);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use datatype::Datatype;

    #[test]
    fn pairs_with_holes_are_combined_in_pack_order() {
        let element = Element::of(Datatype::predefined(abi::DOUBLE_INT).unwrap()).unwrap();
        assert!(!element.dense && element.size == 12);
        let packed = |pairs: &[(f64, i32)]| -> Vec<u8> {
            pairs
                .iter()
                .flat_map(|(v, i)| [v.to_ne_bytes().to_vec(), i.to_ne_bytes().to_vec()].concat())
                .collect()
        };
        let mut present = packed(&[(1.0, 4), (2.0, 5), (3.0, 6)]);
        combine(&element, abi::MINLOC, &mut present, &packed(&[(2.0, 1), (1.5, 9), (3.0, 2)])).unwrap();
        assert_eq!(present, packed(&[(1.0, 4), (1.5, 9), (3.0, 2)]));
        assert!(combine(&element, abi::SUM, &mut present, &[0; 36]).is_err());
    }

    #[test]
    fn pairs_without_name_are_combined_as_the_named_ones() {
        let types = [abi::INT8_T, abi::UINT16_T, abi::INT, abi::INT64_T, abi::INTEGER16];
        let values = [abi::FLOAT, abi::DOUBLE, abi::LONG_DOUBLE, abi::REAL2, abi::REAL16];
        for &value in types.iter().chain(&values) {
            for index in types {
                let predefined = |handle| Datatype::predefined(handle).unwrap();
                let pair = Datatype::value_index(predefined(value), predefined(index)).unwrap().unwrap();
                let element = Element::of(&pair).unwrap();
                assert_eq!(Element::named_by(element.word()).map(|it| it.word()), Some(element.word()));
                // Zero bytes are the smallest non-negative number of each type: the index decides.
                let (size, width) = (element.size, predefined(index).size() as usize);
                let with_index = |index: u8| {
                    let mut bytes = vec![0u8; 2 * size];
                    bytes[size - width] = index;
                    bytes[2 * size - width] = index + 1;
                    bytes
                };
                let mut present = with_index(7);
                combine(&element, abi::MAXLOC, &mut present, &with_index(3)).unwrap();
                assert_eq!(present, with_index(3), "{value:?} {index:?}");
                combine(&element, abi::MINLOC, &mut present, &with_index(5)).unwrap();
                assert_eq!(present, with_index(3), "{value:?} {index:?}");
                assert!(combine(&element, abi::SUM, &mut present, &with_index(1)).is_err());
            }
        }
    }
}
