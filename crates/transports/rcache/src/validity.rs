//! The table that the monitor thread and the users of the cache share: which ranges are watched, and which of them
//! are still valid. Atomics only; the monitor must neither wait for a lock that a thread inside `free` may hold, nor
//! allocate or free memory itself, as `munmap` waits for it.
//!
//! # Who may see what
//!
//! ```text
//!   kernel     pages change        event ready     event read: munmap may return
//!   monitor                  begin ───────────────── read ── invalidate* ── end
//!   user                                                        │  munmap has returned
//!                                                               └─ settle: sees `begin`, waits for `end`
//! ```
//!
//! A thread whose `munmap` has returned, or that learned it from that one, comes after the read, hence after `begin`;
//! so it finds the monitor at work or the ranges invalid.
//!
//! A slot that is taken while the monitor looks through the table may be missed. Then the monitor looked at it before
//! it was taken, and the event's change was made before that; the memory is registered later than both, so it is
//! registered as it is now. A slot may also be found that is none of the event's business, when it changes hands just
//! then; that costs a registration and nothing else.

use crate::extent::Extent;
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, give_way};

/// Watched ranges by number.
#[derive(Debug)]
pub struct WatchTable {
    /// Odd while the monitor has read events that are not in the table yet.
    handling: AtomicU32,
    /// Slots below this have been used.
    used: AtomicU32,
    invalidations: AtomicU64,
    slots: Box<[Slot]>,
}

#[derive(Debug)]
struct Slot {
    state: AtomicU32,
    start: AtomicUsize,
    end: AtomicUsize,
}

const FREE: u32 = 0;
const VALID: u32 = 1;
const INVALID: u32 = 2;

impl WatchTable {
    /// A table for `slots` ranges.
    pub fn new(slots: usize) -> WatchTable {
        let slot =
            || Slot { state: AtomicU32::new(FREE), start: AtomicUsize::new(0), end: AtomicUsize::new(0) };
        WatchTable {
            handling: AtomicU32::new(0),
            used: AtomicU32::new(0),
            invalidations: AtomicU64::new(0),
            slots: (0..slots).map(|_| slot()).collect(),
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    // ---- users: one at a time changes slots, any may look ----

    /// Begins to watch a range with a slot that is free. The memory is registered after this.
    pub fn take(&self, slot: u32, extent: Extent) {
        self.used.fetch_max(slot + 1, Ordering::SeqCst);
        let slot = &self.slots[slot as usize];
        slot.start.store(extent.start, Ordering::Relaxed);
        slot.end.store(extent.end, Ordering::Relaxed);
        // Pairs with the load in `invalidate`; the fence orders it before the system call that registers.
        slot.state.store(VALID, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Frees a slot.
    pub fn free(&self, slot: u32) {
        self.slots[slot as usize].state.store(FREE, Ordering::Release);
    }

    /// Whether the range of a slot has not changed. Means something after [`WatchTable::settle`].
    pub fn is_valid(&self, slot: u32) -> bool {
        self.slots[slot as usize].state.load(Ordering::Acquire) == VALID
    }

    /// The range of a slot that is in use.
    pub fn extent(&self, slot: u32) -> Option<Extent> {
        let slot = self.slots.get(slot as usize)?;
        let extent =
            Extent { start: slot.start.load(Ordering::Relaxed), end: slot.end.load(Ordering::Relaxed) };
        (slot.state.load(Ordering::Relaxed) != FREE).then_some(extent)
    }

    /// Slots at or above this have never been used.
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Ranges found invalid so far.
    pub fn invalidations(&self) -> u64 {
        self.invalidations.load(Ordering::Relaxed)
    }

    /// Waits until the events that have been read are in the table.
    pub fn settle(&self) {
        // Pairs with the one in `begin`: a thread that comes here after a read of events sees that the monitor had begun.
        fence(Ordering::SeqCst);
        let seen = self.handling.load(Ordering::Acquire);
        if seen & 1 == 0 {
            return;
        }
        while self.handling.load(Ordering::Acquire) == seen {
            give_way();
        }
    }

    // ---- the monitor ----

    /// The monitor is going to read events.
    pub fn begin(&self) {
        self.handling.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// An event: `changed` is not what it was.
    pub fn invalidate(&self, changed: Extent) {
        // Orders the read of the event before the loads of the slots.
        fence(Ordering::SeqCst);
        let used = self.used.load(Ordering::SeqCst) as usize;
        for slot in &self.slots[..used] {
            if slot.state.load(Ordering::SeqCst) != VALID {
                continue;
            }
            let extent =
                Extent { start: slot.start.load(Ordering::Relaxed), end: slot.end.load(Ordering::Relaxed) };
            let marks = extent.overlaps(changed)
                && slot.state.compare_exchange(VALID, INVALID, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if marks {
                self.invalidations.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// All events that were read are in the table.
    pub fn end(&self) {
        self.handling.fetch_add(1, Ordering::Release);
    }
}
