//! Huge pages for memory that is copied between processes again and again.
//!
//! In a single copy the kernel walks through the pages of both processes. With pages of 4 KiB that takes as long as the
//! copy itself: two processes that exchange 1 MiB need 120 us, with pages of 2 MiB 70 us. So memory that has been moved
//! often enough is put onto huge pages, once. That takes as long as two times [`ENOUGH`] save later on; memory that is
//! used for less than that, or given back between, costs nothing but the counting.
//!
//! Data that is packed from, or unpacked into, memory far apart is slow for another reason: every run may need an address
//! translation that is not at hand any more. In a virtual machine that is a walk through two page tables. Measured on
//! faces of 256 KiB that span 48 MiB: 3.8 GB/s instead of 2.9.
//!
//! A huge page may reach beyond the buffer, over other memory of the same mapping. What that holds, and which processes
//! share it after a fork, does not change.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mem::UserMem;
use platform::huge::{self, Refusal};

/// Shortest piece of memory that counts.
const LEAST: usize = 16 << 10;
/// Bytes moved within a huge page's range after which it is put onto one.
const ENOUGH: usize = 16 << 20;
/// Shortest memory in which packed data counts; what is shorter has all its address translations at hand.
const LEAST_SPAN: usize = 4 << 20;
/// Bytes moved that one run on a page of its own counts for.
const PAGE_VISIT: u64 = 256;
const SMALL_PAGE: u64 = 4096;
/// Most pages for each that holds a run: more might be untouched, and a huge page would fill them.
const SPARSEST: u64 = 4;
/// Ranges that are counted at a time; others take their places.
const RANGES: usize = 512;
/// A system that needs longer than this for one huge page has to search for free memory; it is asked for no more.
const TIMEOUT: Duration = Duration::from_millis(20);

/// What is known of the ranges that were moved lately.
#[derive(Debug)]
pub(crate) struct HugePages {
    /// Bytes of a huge page, 0 where none are to be had.
    size: AtomicUsize,
    ranges: Mutex<Box<[Counted]>>,
}

/// Memory that one huge page could hold.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
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
        HugePages { size: size.into(), ranges: Mutex::new(vec![Counted::default(); ranges].into()) }
    }

    fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Counts memory that is about to be copied, from it or into it.
    #[inline]
    pub(crate) fn count(&self, memory: UserMem) {
        if memory.len() >= LEAST {
            self.count_ranges(self.size(), memory.address()..memory.address() + memory.len(), |bytes| bytes);
        }
    }

    /// Counts `runs` runs that are about to be packed or unpacked, somewhere in `bounds`.
    #[inline]
    pub(crate) fn count_packed(&self, bounds: Range<usize>, runs: u64) {
        let (span, size) = (bounds.len(), self.size());
        if !(LEAST_SPAN..=RANGES * size).contains(&span) {
            return;
        }
        let pages = span as u64 / SMALL_PAGE;
        let visited = runs.min(pages);
        if visited * SPARSEST >= pages {
            let worth = |bytes| (bytes as u64 * visited * PAGE_VISIT / span as u64) as usize;
            self.count_ranges(size, bounds, worth);
        }
    }

    /// Counts what of `bounds` lies in each range, in bytes, as so many moved as `worth` returns.
    fn count_ranges(&self, size: usize, bounds: Range<usize>, worth: impl Fn(usize) -> usize) {
        let Range { start, end } = bounds;
        if size == 0 {
            return;
        }
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        let due = (start / size..end.div_ceil(size)).filter(|&number| {
            let moved = worth(end.min((number + 1) * size) - start.max(number * size));
            ranges[number % RANGES].add(number, moved)
        });
        // One at a time: the call that copies should not wait for all of them.
        if let Some(number) = due.reduce(|first, _| first) {
            self.settle((number, size), &mut ranges[number % RANGES]);
        }
    }

    fn settle(&self, (number, size): (usize, usize), range: &mut Counted) {
        let begun = Instant::now();
        let lacking = match huge::collapse(number * size, size) {
            Ok(()) | Err(Refusal::Unfit) => {
                range.settled = true;
                false
            }
            Err(Refusal::Busy) => {
                range.moved = 0;
                false
            }
            Err(Refusal::Lacking) => true,
        };
        if lacking || begun.elapsed() > TIMEOUT {
            self.size.store(0, Ordering::Relaxed);
        }
    }
}

impl Counted {
    /// Counts `moved` bytes of range `number`; whether it is due for a huge page.
    fn add(&mut self, number: usize, moved: usize) -> bool {
        if self.number != number {
            *self = Counted { number, ..Counted::default() };
        }
        self.moved = self.moved.saturating_add(moved);
        self.moved >= ENOUGH && !self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, ENOUGH, HugePages, Mutex, RANGES};

    const SIZE: usize = 2 << 20;

    #[test]
    fn a_range_is_due_after_enough_and_when_it_is_not_settled() {
        let mut range = Counted::default();
        assert!(!range.add(3, ENOUGH - 1));
        assert!(range.add(3, 1));
        assert!(range.add(3, 1));
        range.settled = true;
        assert!(!range.add(3, 1));
        assert!(!range.add(4, ENOUGH - 1), "another range in its place counts anew");
    }

    #[test]
    fn packed_data_counts_by_the_pages_that_it_visits() {
        let moved = |span: usize, runs| {
            let ranges = Mutex::new(vec![Counted::default(); RANGES].into());
            let pages = HugePages { size: SIZE.into(), ranges };
            pages.count_packed(SIZE..SIZE + span, runs);
            let ranges = pages.ranges.into_inner().expect("no other thread");
            [1, 2, 3].map(|range| ranges[range].moved)
        };
        assert_eq!(moved(2 * SIZE, 1 << 20), [512 * 256, 512 * 256, 0], "every page");
        assert_eq!(moved(5 * SIZE / 2, 320), [32_768, 32_768, 16_384], "every fourth page");
        assert_eq!(moved(2 * SIZE, 255), [0; 3], "too few of them");
        assert_eq!(moved(SIZE, 1 << 20), [0; 3], "too little memory");
    }
}
