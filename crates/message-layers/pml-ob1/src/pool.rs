//! Objects named by their slot, the most recently freed slot reused first.
//!
//! For objects whose names never leave this crate: where `slab` keeps a freed name stale for as long as
//! possible, this keeps the cache warm after a burst.

pub(crate) struct Pool<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    live: usize,
}

enum Slot<T> {
    Free { next: u32 },
    Used(T),
}

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

impl<T> Pool<T> {
    pub const fn new() -> Pool<T> {
        Pool { slots: Vec::new(), free: NONE, live: 0 }
    }

    pub const fn len(&self) -> usize {
        self.live
    }

    /// Stores `value`. Memory ends long before the `2^32 - 1` names do.
    pub fn insert(&mut self, value: T) -> u32 {
        self.live += 1;
        match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let index = self.free;
                if let Slot::Free { next } = *slot {
                    self.free = next;
                }
                *slot = Slot::Used(value);
                index
            }
            None => {
                self.slots.push(Slot::Used(value));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub fn get(&self, index: u32) -> Option<&T> {
        match self.slots.get(index as usize)? {
            Slot::Used(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.slots.get_mut(index as usize)? {
            Slot::Used(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    pub fn remove(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        if matches!(slot, Slot::Free { .. }) {
            return None;
        }
        let Slot::Used(value) = core::mem::replace(slot, Slot::Free { next: self.free }) else { return None };
        self.free = index;
        self.live -= 1;
        if self.live == 0 && self.is_large() {
            *self = Pool::new();
        }
        Some(value)
    }

    /// As [`Pool::remove`], without handing it out.
    pub fn discard(&mut self, index: u32) {
        let Some(slot @ Slot::Used(_)) = self.slots.get_mut(index as usize) else { return };
        *slot = Slot::Free { next: self.free };
        self.free = index;
        self.live -= 1;
        if self.live == 0 && self.is_large() {
            *self = Pool::new();
        }
    }

    /// Whether emptying this gives memory back.
    pub const fn is_large(&self) -> bool {
        self.slots.len() > KEPT
    }

    /// Every live object with its name, in no useful order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match slot {
            Slot::Used(value) => Some((index as u32, value)),
            Slot::Free { .. } => None,
        })
    }
}

/// Slots that an emptied pool keeps; what a burst needed beyond them goes back to the allocator.
const KEPT: usize = 4096;
