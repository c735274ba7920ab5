//! Huge pages for memory that is copied between processes again and again.
//!
//! In a single copy the kernel walks through the pages of both processes. With pages of 4 KiB that takes as long as the
//! copy itself: two processes that exchange 1 MiB need 120 us, with pages of 2 MiB 70 us. So memory that has been moved
//! often enough is put onto huge pages, once. That takes as long as two times [`ENOUGH`] save later on; memory that is
//! used for less than that, or given back between, costs nothing but the counting.
//!
//! A huge page may reach beyond the buffer, over other memory of the same mapping. What that holds, and who shares it
//! after a fork, does not change.

use std::time::{Duration, Instant};

use mem::UserMem;
use platform::huge::{self, Refusal};

/// Shortest piece of memory that counts.
const LEAST: usize = 16 << 10;
/// Bytes moved within a huge page's range after which it is put onto one.
const ENOUGH: usize = 16 << 20;
/// Ranges that are counted at a time; others take their places.
const RANGES: usize = 512;
/// A system that needs longer than this for one huge page has to search for free memory; it is asked for no more.
const PATIENCE: Duration = Duration::from_millis(20);

/// What is known of the ranges that were moved lately.
#[derive(Debug)]
pub(crate) struct HugePages {
    /// Bytes of a huge page, 0 where none are to be had.
    size: usize,
    ranges: Box<[Range]>,
}

/// Memory that one huge page could hold.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    /// Its address over the size of a huge page.
    number: usize,
    moved: usize,
    /// Nothing is left to be done.
    settled: bool,
}

impl HugePages {
    /// Huge pages if they are `wanted` and the system has them.
    pub(crate) fn new(wanted: bool) -> HugePages {
        let size = wanted.then(huge::size).flatten().unwrap_or(0);
        let ranges = if size == 0 { 0 } else { RANGES };
        HugePages { size, ranges: vec![Range::default(); ranges].into() }
    }

    /// Counts memory that is about to be copied, from it or into it.
    #[inline]
    pub(crate) fn count(&mut self, memory: UserMem) {
        if self.size != 0 && memory.len() >= LEAST {
            self.count_ranges(memory.address(), memory.address() + memory.len());
        }
    }

    fn count_ranges(&mut self, start: usize, end: usize) {
        let size = self.size;
        let due = (start / size..end.div_ceil(size)).filter(|&number| {
            let moved = end.min((number + 1) * size) - start.max(number * size);
            self.ranges[number % RANGES].add(number, moved)
        });
        // One at a time: the call that copies should not wait for all of them.
        if let Some(number) = due.reduce(|first, _| first) {
            self.settle(number);
        }
    }

    fn settle(&mut self, number: usize) {
        let begun = Instant::now();
        let outcome = huge::collapse(number * self.size, self.size);
        let range = &mut self.ranges[number % RANGES];
        match outcome {
            Ok(()) | Err(Refusal::Unfit) => range.settled = true,
            Err(Refusal::Busy) => range.moved = 0,
            Err(Refusal::Lacking) => self.size = 0,
        }
        if begun.elapsed() > PATIENCE {
            self.size = 0;
        }
    }
}

impl Range {
    /// Counts `moved` bytes of range `number`; whether it is due for a huge page.
    fn add(&mut self, number: usize, moved: usize) -> bool {
        if self.number != number {
            *self = Range { number, ..Range::default() };
        }
        self.moved = self.moved.saturating_add(moved);
        self.moved >= ENOUGH && !self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH, Range};

    #[test]
    fn a_range_is_due_after_enough_and_when_it_is_not_settled() {
        let mut range = Range::default();
        assert!(!range.add(3, ENOUGH - 1));
        assert!(range.add(3, 1));
        assert!(range.add(3, 1));
        range.settled = true;
        assert!(!range.add(3, 1));
        assert!(!range.add(4, ENOUGH - 1), "another range in its place counts anew");
    }
}
