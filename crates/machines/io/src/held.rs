//! Which ranges of a file threads of this process have locked.
//!
//! The system's locks belong to an opening of a file (fcntl(2), open file description locks). Threads that share one are
//! not kept apart by them, and what one thread unlocks, the other has lost. So threads wait for each other here first.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The ranges, and the threads that wait for them.
#[derive(Debug, Default)]
pub struct Held {
    ranges: Mutex<Vec<Range<u64>>>,
    freed: Condvar,
}

impl Held {
    fn ranges(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.ranges.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until no other thread has a byte of the range. Readers exclude each other, too: unlocking takes all away.
    pub fn take(&self, range: &Range<u64>) {
        let mut ranges = self.ranges();
        while ranges.iter().any(|other| other.start < range.end && range.start < other.end) {
            ranges = self.freed.wait(ranges).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        ranges.push(range.clone());
    }

    /// Gives a range back that was taken.
    pub fn give_back(&self, range: &Range<u64>) {
        let mut ranges = self.ranges();
        if let Some(found) = ranges.iter().position(|other| other == range) {
            ranges.swap_remove(found);
        }
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn threads_wait_for_bytes_that_others_have() {
        let (held, entered) = (Held::default(), AtomicBool::new(false));
        held.take(&(0..10));
        held.take(&(20..30));
        thread::scope(|scope| {
            scope.spawn(|| {
                held.take(&(5..15));
                entered.store(true, Ordering::SeqCst);
                held.give_back(&(5..15));
            });
            held.give_back(&(20..30));
            thread::sleep(Duration::from_millis(20));
            assert!(!entered.load(Ordering::SeqCst));
            held.give_back(&(0..10));
        });
        assert!(entered.load(Ordering::SeqCst));
        held.take(&(0..30));
    }
}
