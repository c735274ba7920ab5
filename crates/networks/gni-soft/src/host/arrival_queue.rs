//! A queue of arrivals in shared memory, at its reading end.

use super::own::ring_in;
use crate::fabric::Arrived;
use crate::mapping::Mapping;
use crate::ring::Reader;
use gni::Time;
use std::sync::Arc;

/// A writer that has claimed a place of a queue and not filled it for this long is taken for dead.
pub(super) const STALL: Time = Time::from_millis(1000);
/// Time between two looks for such a writer.
const LOOK: Time = Time::from_millis(100);

/// One of this NIC's queues, at its reading end.
pub(super) struct ArrivalQueue {
    map: Arc<Mapping>,
    pub(super) block: u32,
    pub(super) entries: usize,
    reader: Reader,
    /// Since when the next place is claimed and not filled.
    stall: Option<Time>,
    /// When to look for such a place again.
    next_look: Time,
}

impl ArrivalQueue {
    /// The reading end of the queue in a block.
    pub(super) fn new(map: Arc<Mapping>, block: u32, entries: usize) -> ArrivalQueue {
        ArrivalQueue { map, block, entries, reader: Reader::default(), stall: None, next_look: Time::START }
    }

    pub(super) fn take(&mut self, now: Time) -> Arrived {
        let Some(ring) = ring_in::<1>(&self.map, self.entries) else { return Arrived::Empty };
        if ring.take_overrun() {
            return Arrived::Overrun;
        }
        if let Some([word]) = ring.take(&mut self.reader) {
            self.stall = None;
            return Arrived::Entry(word);
        }
        // The tail is a line of the writers: looked at each time, it would cross to here and back with every entry.
        if now < self.next_look {
            return Arrived::Empty;
        }
        self.next_look = now + LOOK;
        self.pass_over_the_dead(now)
    }

    /// Passes over a place that was claimed and not filled for long.
    #[cold]
    fn pass_over_the_dead(&mut self, now: Time) -> Arrived {
        let Some(ring) = ring_in::<1>(&self.map, self.entries) else { return Arrived::Empty };
        if !ring.is_stalled(&self.reader) {
            self.stall = None;
        } else if *self.stall.get_or_insert(now) + STALL < now {
            self.stall = None;
            ring.skip(&mut self.reader);
            return if ring.take_overrun() { Arrived::Overrun } else { Arrived::Empty };
        }
        Arrived::Empty
    }

    pub(super) fn has_entry(&self) -> bool {
        ring_in::<1>(&self.map, self.entries)
            .is_some_and(|ring| ring.has_overrun() || ring.has_entry(&self.reader))
    }
}
