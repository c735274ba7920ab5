//! Accumulates on packed data, under a lock that the processes of a window share: for elements that the processor does not
//! combine at one stroke, and for memory that this process does not map.

use abi::{Op, Result};
use datatype::Datatype;
use shm::sync::{AtomicU64, Ordering};

use crate::control::View;
use crate::element::Element;

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
    } else if let Some(datatype) = Datatype::predefined(element.handle) {
        let bytes = count * datatype.extent() as usize;
        let (mut left, mut right) = (vec![0u8; bytes], vec![0u8; bytes]);
        // SAFETY: the vectors hold `count` elements, extents apart; the slices as many packed ones.
        unsafe {
            datatype::unpack(datatype, count as u64, left.as_mut_ptr(), incoming.as_ptr())?;
            datatype::unpack(datatype, count as u64, right.as_mut_ptr(), present.as_ptr())?;
            kernel(left.as_ptr(), right.as_ptr(), right.as_mut_ptr(), count);
            datatype::pack(datatype, count as u64, right.as_mut_ptr(), present.as_mut_ptr())?;
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

const FREE: u64 = 0;
const HELD: u64 = 1;
/// Held, and others may sleep.
const AWAITED: u64 = 2;

/// Polls before a process that wants the lock sleeps.
const POLLS: u32 = 200;

/// The lock on the elements of one rank's memory, until it is dropped.
#[derive(Debug)]
pub struct Locked<'a, W: FnMut(&AtomicU64)> {
    word: &'a AtomicU64,
    wake: W,
}

impl<'a> View<'a> {
    /// Locks the elements of `rank`'s memory. `sleep` returns when the word no longer has that value, or for no reason; `wake`
    /// wakes one that sleeps.
    pub fn lock_elements<W: FnMut(&AtomicU64)>(
        self,
        rank: u32,
        mut sleep: impl FnMut(&AtomicU64, u64),
        wake: W,
    ) -> Locked<'a, W> {
        let word = self.accumulate_lock(rank);
        let take = |new| word.compare_exchange(FREE, new, Ordering::Acquire, Ordering::Relaxed).is_ok();
        for _ in 0..if cfg!(loom) { 1 } else { POLLS } {
            if take(HELD) {
                return Locked { word, wake };
            }
            std::hint::spin_loop();
        }
        while word.swap(AWAITED, Ordering::Acquire) != FREE {
            sleep(word, AWAITED);
        }
        Locked { word, wake }
    }
}

impl<W: FnMut(&AtomicU64)> Drop for Locked<'_, W> {
    fn drop(&mut self) {
        if self.word.swap(FREE, Ordering::Release) == AWAITED {
            (self.wake)(self.word);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

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
}
