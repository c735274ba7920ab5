//! The receive queue of a rank: a bounded lock-free queue from many senders to one receiver.
//!
//! ```text
//!   slot i:  63 .... 48   47 .................... 0
//!            lap          entry (0: free)
//!
//!   free in lap n  --sender claims the tail, stores-->  full in lap n  --receiver takes-->  free in lap n + 1
//! ```
//! A sender claims a place by moving the shared tail (compare and swap), writes what the entry refers to, and
//! stores lap and entry in one word (Release). The receiver keeps its head to itself: senders learn from the
//! slot whether it is free. A sender that dies between the two steps blocks the queue; its death ends the job.
//!
//! After Vyukov's bounded queue, with the sequence number folded into the slot's word.

use crate::sync::{AtomicU64, Ordering};

/// The place of the next entry, moved by senders; a cache line of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Tail(AtomicU64);

/// A slot of the queue.
#[repr(transparent)]
#[derive(Debug)]
pub struct Slot(AtomicU64);

impl Default for Tail {
    fn default() -> Tail {
        Tail(AtomicU64::new(0))
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot(AtomicU64::new(0))
    }
}

/// The memory of one queue, initially all zero.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'a> {
    slots: &'a [Slot],
    tail: &'a Tail,
}

/// A place that was claimed and must be filled.
#[derive(Debug)]
#[must_use = "an unfilled place blocks the queue"]
pub struct ClaimedSlot(u64);

/// No room at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Entries are not zero and below this.
pub const ENTRY_LIMIT: u64 = 1 << LAP;

const LAP: u32 = 48;

/// `place / slots`, as it stands in a slot.
fn lap_of(place: u64, slots: usize) -> u64 {
    (place >> slots.trailing_zeros()) << LAP
}

impl<'a> Queue<'a> {
    /// A queue in `slots`, a power of two of them.
    pub fn new(slots: &'a [Slot], tail: &'a Tail) -> Queue<'a> {
        assert!(slots.len().is_power_of_two(), "a queue has a power of two of slots");
        Queue { slots, tail }
    }

    /// Claims the next place; nothing behind it is seen before it is filled by [`Queue::publish`].
    ///
    /// # Errors
    /// [`Full`].
    pub fn claim(&self) -> Result<ClaimedSlot, Full> {
        let mut place = self.tail.0.load(Ordering::Relaxed);
        loop {
            let slot = &self.slots[place as usize & (self.slots.len() - 1)];
            // Pairs with the Release in `Receiver::take`.
            let is_free = slot.0.load(Ordering::Acquire) == lap_of(place, self.slots.len());
            let moved = if is_free {
                let next = place.wrapping_add(1);
                self.tail.0.compare_exchange_weak(place, next, Ordering::Relaxed, Ordering::Relaxed)
            } else {
                Err(self.tail.0.load(Ordering::Relaxed))
            };
            match moved {
                Ok(_) => return Ok(ClaimedSlot(place)),
                Err(now) if now == place && !is_free => return Err(Full),
                Err(now) => place = now,
            }
        }
    }

    /// Fills a claimed place with `entry`, which is not zero and below [`ENTRY_LIMIT`].
    pub fn publish(&self, place: ClaimedSlot, entry: u64) {
        debug_assert!(entry != 0 && entry < ENTRY_LIMIT);
        let slot = &self.slots[place.0 as usize & (self.slots.len() - 1)];
        // Pairs with the Acquire in `Receiver::take`.
        slot.0.store(lap_of(place.0, self.slots.len()) | entry, Ordering::Release);
    }
}

/// The receiving end; there is one.
#[derive(Debug)]
pub struct Receiver<'a> {
    queue: Queue<'a>,
    head: u64,
}

impl<'a> Receiver<'a> {
    /// The receiving end of a queue from which nothing was taken yet.
    pub fn new(queue: Queue<'a>) -> Receiver<'a> {
        Receiver { queue, head: 0 }
    }

    /// Takes the oldest entry, if there is one.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u64> {
        let slots = self.queue.slots;
        let slot = &slots[self.head as usize & (slots.len() - 1)];
        let lap = lap_of(self.head, slots.len());
        // Pairs with the Release in `Queue::publish`.
        let entry = slot.0.load(Ordering::Acquire) ^ lap;
        if entry == 0 || entry >= ENTRY_LIMIT {
            return None;
        }
        // Pairs with the Acquire in `Queue::claim`.
        slot.0.store(lap.wrapping_add(1 << LAP), Ordering::Release);
        self.head = self.head.wrapping_add(1);
        Some(entry)
    }
}
