//! Records of what a process called last: written always, read only by processes that wait too long for it.
//!
//! ```text
//!   rank 0: [ record | record | … KEPT ]   rank 1: [ … ]      a record: key | WORDS words, one cache line
//!             ▲ the owner goes around
//! ```
//!
//! Only the owner writes its records. A reader takes the words between two looks at the key, so what it gets
//! belongs to that key or is not taken; it is used for nothing but comparing.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Words of a record beside its key.
pub const WORDS: usize = 4;
/// Records that each process keeps, a power of two.
pub const KEPT: usize = 16;

/// One call.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Record {
    /// 0: none.
    key: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl Record {
    /// Replaces the content; only the owner calls this. `key` is not 0, and of one call alone: a reader could take half of
    /// each of two calls with one key.
    #[inline]
    pub fn write(&self, key: u64, words: [u64; WORDS]) {
        self.key.store(0, Ordering::Relaxed);
        // Pairs with the fence in `read`: a reader that sees one of the new words sees the key gone.
        fence(Ordering::Release);
        for (place, word) in self.words.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire in `read`.
        self.key.store(key, Ordering::Release);
    }

    /// The words, if the record is of `key`.
    pub fn read(&self, key: u64) -> Option<[u64; WORDS]> {
        // Acquire: pairs with the last Release in `write`.
        if self.key.load(Ordering::Acquire) != key {
            return None;
        }
        let words = std::array::from_fn(|index| self.words[index].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (self.key.load(Ordering::Relaxed) == key).then_some(words)
    }

    /// Drops the content if its key is one that `is_past` names; only the owner calls this.
    pub fn forget(&self, is_past: impl Fn(u64) -> bool) {
        if is_past(self.key.load(Ordering::Relaxed)) {
            self.key.store(0, Ordering::Release);
        }
    }
}

/// How often others had a process look at their records. They count before they ring its doorbell, and it reads between
/// arming that and sleeping: so none is lost that comes while it falls asleep.
#[repr(transparent)]
#[derive(Debug)]
pub struct Alerts(AtomicU32);

impl Alerts {
    /// Another process: one more.
    pub fn add(&self) {
        // Release: what it has recorded before is seen by the one that reads this.
        self.0.fetch_add(1, Ordering::Release);
    }

    /// The owner: how many there were.
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Record;

    #[test]
    fn a_record_is_read_under_its_key_only() {
        // SAFETY: all-zero is a valid record.
        let record = unsafe { core::mem::zeroed::<Record>() };
        record.write(7, [1, 2, 3, 4]);
        assert_eq!(record.read(7), Some([1, 2, 3, 4]));
        assert_eq!(record.read(8), None);
        record.forget(|key| key == 8);
        assert_eq!(record.read(7), Some([1, 2, 3, 4]));
        record.forget(|key| key == 7);
        assert_eq!(record.read(7), None);
    }

    #[test]
    fn words_of_different_calls_do_not_mix() {
        // SAFETY: as above.
        let record = unsafe { core::mem::zeroed::<Record>() };
        std::thread::scope(|scope| {
            scope.spawn(|| (1..20_000).for_each(|n| record.write(1 + n % 2, [n, n, n, n])));
            scope.spawn(|| {
                for _ in 0..20_000 {
                    if let Some([first, rest @ ..]) = record.read(1) {
                        assert!(rest.iter().all(|&word| word == first));
                    }
                }
            });
        });
    }
}
