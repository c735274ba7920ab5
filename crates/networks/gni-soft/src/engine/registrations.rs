//! The NIC's own view of its memory descriptors.

use crate::access;
use crate::fabric::Registration;
use core::ops::Range;
use gni::{Cq, MemHandle, limits};
use std::collections::VecDeque;

/// The descriptors of one NIC.
pub(super) struct Registrations {
    pub(super) slots: Vec<Slot>,
    /// Descriptors given back, reused oldest first so that a stale handle stays invalid for long.
    pub(super) free: VecDeque<u16>,
    limit: usize,
}

/// A descriptor.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) generation: u16,
    pub(super) used: Option<Used>,
}

/// A descriptor in use.
pub(super) struct Used {
    pub(super) registration: Registration,
    pub(super) cq: Option<Cq>,
    pub(super) pages: u32,
    /// Posts and mailboxes of this NIC that use the memory.
    pub(super) users: u32,
}

impl Registrations {
    /// No registrations yet; `limit` of 0 means as many as there are descriptors.
    pub(super) fn new(limit: u32) -> Registrations {
        let limit = if limit == 0 { limits::MDDS } else { limit.min(limits::MDDS) };
        Registrations { slots: Vec::new(), free: VecDeque::new(), limit: limit as usize }
    }

    pub(super) fn take_slot(&mut self) -> Option<u16> {
        if self.slots.len() - self.free.len() >= self.limit {
            return None;
        }
        if self.slots.len() < self.limit && self.free.is_empty() {
            self.slots.push(Slot::default());
            return Some(self.slots.len() as u16 - 1);
        }
        self.free.pop_front()
    }

    pub(super) fn used(&self, handle: MemHandle) -> Option<&Used> {
        self.slots.get(usize::from(access::mdd_of(handle).ok()?))?.used.as_ref()
    }

    pub(super) fn used_mut(&mut self, handle: MemHandle) -> Option<&mut Used> {
        self.slots.get_mut(usize::from(access::mdd_of(handle).ok()?))?.used.as_mut()
    }

    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        self.slots
            .iter()
            .filter_map(|slot| slot.used.as_ref())
            .map(|used| &used.registration)
            .any(|r| r.addr < range.end && range.start < r.addr + r.len)
    }

    pub(super) fn in_use(&self) -> Vec<u16> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.used.is_some()).map(|(mdd, _)| mdd).collect()
    }

    pub(super) fn pages_in_use(&self) -> Vec<u32> {
        self.slots.iter().filter_map(|slot| slot.used.as_ref()).map(|used| used.pages).collect()
    }
}
