//! The symmetric heap: which parts of it are in use.

use core::fmt;
use std::collections::BTreeMap;

/// Offsets of a symmetric heap. Processes that make the same calls in the same order get the same offsets: the first
/// gap that is long enough.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heap {
    len: u64,
    /// Parts in use: their offsets and lengths.
    used: BTreeMap<u64, u64>,
}

/// No gap of the heap is long enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapFull {
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes of the heap.
    pub of: u64,
}

impl fmt::Display for HeapFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeapFull { asked, of } = self;
        write!(
            f,
            "allocating symmetric memory failed\n{asked} bytes were asked for, and no gap of the heap of {of} is as long\n\
             make the heap larger"
        )
    }
}

impl core::error::Error for HeapFull {}

/// Offsets are multiples of this.
const ALIGN: u64 = 64;

impl Heap {
    /// A heap of `len` bytes of which none is in use.
    pub const fn new(len: u64) -> Heap {
        Heap { len, used: BTreeMap::new() }
    }

    /// Takes `bytes`; their offset, a multiple of 64.
    ///
    /// # Errors
    /// [`HeapFull`]
    pub fn take(&mut self, bytes: u64) -> Result<u64, HeapFull> {
        let full = HeapFull { asked: bytes, of: self.len };
        let need = bytes.max(1).checked_next_multiple_of(ALIGN).ok_or(full)?;
        let mut at = 0;
        for (&used, &len) in &self.used {
            if used - at >= need {
                break;
            }
            at = used + len;
        }
        if self.len.saturating_sub(at) < need {
            return Err(full);
        }
        self.used.insert(at, need);
        Ok(at)
    }

    /// Gives back what [`Heap::take`] returned; `false`: nothing in use begins there.
    pub fn give(&mut self, offset: u64) -> bool {
        self.used.remove(&offset).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Heap, HeapFull};

    #[test]
    fn gaps_are_used_again() {
        let mut heap = Heap::new(1024);
        let [a, b, c] = [100, 1, 200].map(|bytes| heap.take(bytes).expect("room"));
        assert_eq!([a, b, c], [0, 128, 192]);
        assert!(heap.give(b));
        assert!(!heap.give(b), "it is free already");
        assert_eq!(heap.take(64), Ok(128));
        assert_eq!(heap.take(65), Ok(448));
        assert_eq!(heap.take(1024), Err(HeapFull { asked: 1024, of: 1024 }));
        assert_eq!(heap.take(u64::MAX), Err(HeapFull { asked: u64::MAX, of: 1024 }));
    }
}
