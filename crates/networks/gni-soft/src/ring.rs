//! A bounded queue in shared memory from many writers to one reader, that loses what does not fit.
//!
//! ```text
//!   slot i, place p = i, i + n, i + 2n ...
//!   mark = p        free for the writer of place p
//!   mark = p + 1    full
//!   mark = p + n    taken by the reader: free for the next lap
//! ```
//! A writer claims a place by moving the shared tail, writes the words and changes the mark. The reader keeps
//! its head to itself. After Vyukov's bounded queue.
//!
//! A writer that dies after claiming would block the reader: [`Reader::skip`] passes over its place. Should it
//! only have been slow, it finds its mark changed and sets the overrun mark instead, so that nothing is lost
//! without a trace.

use shm::sync::{AtomicU64, Ordering};

/// One place: its mark and what it carries.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot<const WORDS: usize> {
    mark: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// The words that writers share, each on a line of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Ends {
    tail: AtomicU64,
    _line: [AtomicU64; 15],
    overrun: AtomicU64,
}

/// The memory of one queue; see [`Ring::prepare`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring<'a, const WORDS: usize> {
    slots: &'a [Slot<WORDS>],
    ends: &'a Ends,
}

/// The reader's place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reader {
    head: u64,
}

impl<'a, const WORDS: usize> Ring<'a, WORDS> {
    /// A queue in `slots`, a power of two of them.
    pub(crate) fn new(slots: &'a [Slot<WORDS>], ends: &'a Ends) -> Ring<'a, WORDS> {
        assert!(slots.len().is_power_of_two(), "a ring has a power of two of slots");
        Ring { slots, ends }
    }

    /// Makes zeroed memory an empty queue; by the reader, before any writer knows of it.
    pub(crate) fn prepare(&self) {
        for (place, slot) in (0..).zip(self.slots) {
            slot.mark.store(place, Ordering::Relaxed);
        }
        shm::sync::fence(Ordering::Release);
    }

    fn slot(&self, place: u64) -> &'a Slot<WORDS> {
        &self.slots[place as usize & (self.slots.len() - 1)]
    }

    /// Adds `words`; `false`: the queue is full, and nothing was added.
    pub(crate) fn push(&self, words: &[u64; WORDS]) -> bool {
        let Some(place) = self.claim() else { return false };
        let slot = self.slot(place);
        for (cell, &word) in slot.words.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        // Pairs with the Acquire in `Ring::take`.
        if slot.mark.compare_exchange(place, place + 1, Ordering::Release, Ordering::Relaxed).is_err() {
            self.mark_overrun();
        }
        true
    }

    fn claim(&self) -> Option<u64> {
        let mut place = self.ends.tail.load(Ordering::Relaxed);
        loop {
            // Pairs with the Release in `Ring::take` and `Ring::skip`.
            let is_free = self.slot(place).mark.load(Ordering::Acquire) == place;
            let moved = if is_free {
                self.ends.tail.compare_exchange_weak(place, place + 1, Ordering::Relaxed, Ordering::Relaxed)
            } else {
                Err(self.ends.tail.load(Ordering::Relaxed))
            };
            match moved {
                Ok(_) => return Some(place),
                Err(now) if now == place && !is_free => return None,
                Err(now) => place = now,
            }
        }
    }

    /// Leaves the mark of lost entries.
    pub(crate) fn mark_overrun(&self) {
        self.ends.overrun.store(1, Ordering::Release);
    }

    /// Whether entries were lost since this was last asked.
    pub(crate) fn take_overrun(&self) -> bool {
        self.ends.overrun.load(Ordering::Relaxed) != 0 && self.ends.overrun.swap(0, Ordering::Acquire) != 0
    }

    /// Whether entries were lost.
    pub(crate) fn has_overrun(&self) -> bool {
        self.ends.overrun.load(Ordering::Relaxed) != 0
    }

    /// Whether [`Ring::take`] would find something.
    pub(crate) fn has_entry(&self, reader: &Reader) -> bool {
        self.slot(reader.head).mark.load(Ordering::Acquire) == reader.head + 1
    }

    /// Takes the oldest entry.
    pub(crate) fn take(&self, reader: &mut Reader) -> Option<[u64; WORDS]> {
        let slot = self.slot(reader.head);
        // Pairs with the Release in `Ring::push`.
        if slot.mark.load(Ordering::Acquire) != reader.head + 1 {
            return None;
        }
        let words = core::array::from_fn(|i| slot.words[i].load(Ordering::Relaxed));
        // Pairs with the Acquire in `Ring::claim`.
        slot.mark.store(reader.head + self.slots.len() as u64, Ordering::Release);
        reader.head += 1;
        Some(words)
    }

    /// Whether a writer has claimed the reader's next place and not filled it.
    pub(crate) fn is_stalled(&self, reader: &Reader) -> bool {
        self.ends.tail.load(Ordering::Relaxed) > reader.head && !self.has_entry(reader)
    }

    /// Passes over a place that its writer does not fill; the queue counts as overrun.
    pub(crate) fn skip(&self, reader: &mut Reader) {
        let next_lap = reader.head + self.slots.len() as u64;
        let mark = &self.slot(reader.head).mark;
        if mark.compare_exchange(reader.head, next_lap, Ordering::Release, Ordering::Relaxed).is_ok() {
            reader.head += 1;
            self.mark_overrun();
        }
    }
}

/// Slots for tests: zeroed memory that no other process sees.
#[cfg(test)]
pub(crate) fn private<const WORDS: usize>(slots: usize) -> (Vec<Slot<WORDS>>, Ends) {
    let zero = || AtomicU64::new(0);
    let slot = || Slot { mark: zero(), words: core::array::from_fn(|_| zero()) };
    (
        (0..slots).map(|_| slot()).collect(),
        Ends { tail: zero(), _line: core::array::from_fn(|_| zero()), overrun: zero() },
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Reader, Ring, private};

    #[test]
    fn entries_come_out_in_order_and_what_does_not_fit_is_refused() {
        let (slots, ends) = private::<2>(4);
        let ring = Ring::new(&slots, &ends);
        ring.prepare();
        let mut reader = Reader::default();
        for round in 0..10u64 {
            for n in 0..4 {
                assert!(ring.push(&[round, n]));
            }
            assert!(!ring.push(&[9, 9]));
            for n in 0..4 {
                assert!(ring.has_entry(&reader));
                assert_eq!(ring.take(&mut reader), Some([round, n]));
            }
            assert_eq!(ring.take(&mut reader), None);
        }
        assert!(!ring.take_overrun());
    }

    #[test]
    fn a_place_that_is_never_filled_can_be_skipped() {
        let (slots, ends) = private::<1>(2);
        let ring = Ring::new(&slots, &ends);
        ring.prepare();
        let mut reader = Reader::default();
        let dead = ring.claim().expect("room");
        assert!(ring.push(&[5]));
        assert_eq!(ring.take(&mut reader), None);
        assert!(ring.is_stalled(&reader));
        ring.skip(&mut reader);
        assert!(ring.take_overrun());
        assert_eq!(ring.take(&mut reader), Some([5]));
        // The writer was only slow: what it does now must not look like an entry.
        let slot = ring.slot(dead);
        let late =
            slot.mark.compare_exchange(dead, dead + 1, super::Ordering::Release, super::Ordering::Relaxed);
        assert!(late.is_err());
    }

    #[test]
    fn many_writers_lose_nothing_that_was_accepted() {
        const EACH: u64 = 20_000;
        let (slots, ends) = private::<1>(64);
        let ring = Ring::new(&slots, &ends);
        ring.prepare();
        let mut next = [0u64; 3];
        std::thread::scope(|scope| {
            for writer in 0..3u64 {
                scope.spawn(move || {
                    for n in 0..EACH {
                        while !ring.push(&[writer << 32 | n]) {
                            platform::waiter::give_way();
                        }
                    }
                });
            }
            let mut reader = Reader::default();
            while next.iter().sum::<u64>() < 3 * EACH {
                let Some([word]) = ring.take(&mut reader) else {
                    platform::waiter::give_way();
                    continue;
                };
                let count = &mut next[(word >> 32) as usize];
                assert_eq!(word as u32 as u64, *count);
                *count += 1;
            }
        });
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Reader, Ring, private};

    #[test]
    fn two_writers_and_a_reader() {
        loom::model(|| {
            let (slots, ends) = private::<1>(2);
            let memory: &'static _ = Box::leak(Box::new((slots, ends)));
            let ring = Ring::new(&memory.0, &memory.1);
            ring.prepare();
            let writers: Vec<_> =
                [3u64, 4].map(|word| loom::thread::spawn(move || ring.push(&[word]))).into();
            let mut reader = Reader::default();
            let mut got = Vec::new();
            got.extend(ring.take(&mut reader));
            for writer in writers {
                assert!(writer.join().unwrap());
            }
            while let Some(word) = ring.take(&mut reader) {
                got.push(word);
            }
            got.sort_unstable();
            assert_eq!(got, [[3], [4]]);
        });
    }
}
