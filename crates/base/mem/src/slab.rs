//! Slabs: objects named by small integers that carry a generation.
//!
//! A key is `generation << INDEX_BITS | index`. Slots are reused first-in first-out, so that a freed name stays
//! invalid for as long as possible and a stale one is found by its generation (within the generation's range).
#![forbid(unsafe_code)]

/// A slab whose keys have `INDEX_BITS` of index and `GENERATION_BITS` of generation.
#[derive(Debug)]
pub struct Slab<T, const INDEX_BITS: u32, const GENERATION_BITS: u32> {
    slots: Vec<Slot<T>>,
    /// Oldest free slot, reused next; `NONE` when all are taken.
    oldest: u32,
    /// Youngest free slot.
    youngest: u32,
    live: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    next_free: u32,
    value: Option<T>,
}

const NONE: u32 = u32::MAX;

impl<T, const INDEX_BITS: u32, const GENERATION_BITS: u32> Default for Slab<T, INDEX_BITS, GENERATION_BITS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const INDEX_BITS: u32, const GENERATION_BITS: u32> Slab<T, INDEX_BITS, GENERATION_BITS> {
    const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
    const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

    /// An empty slab; allocates nothing.
    pub const fn new() -> Self {
        Slab { slots: Vec::new(), oldest: NONE, youngest: NONE, live: 0 }
    }

    /// Objects alive.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no object is alive.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether all names are taken.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.oldest == NONE && self.slots.len() > Self::INDEX_MASK as usize
    }

    /// Stores `value` and names it; `Err` gives it back when all `2^INDEX_BITS` names are taken.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<u32, T> {
        let index = self.oldest;
        if index == NONE {
            return self.grow(value);
        }
        let slot = &mut self.slots[index as usize];
        self.oldest = slot.next_free;
        if self.oldest == NONE {
            self.youngest = NONE;
        }
        slot.value = Some(value);
        self.live += 1;
        Ok(slot.generation << INDEX_BITS | index)
    }

    #[cold]
    fn grow(&mut self, value: T) -> Result<u32, T> {
        if self.is_full() {
            return Err(value);
        }
        self.slots.push(Slot { generation: 0, next_free: NONE, value: Some(value) });
        self.live += 1;
        Ok(self.slots.len() as u32 - 1)
    }

    /// The object that `key` names, if it is alive.
    #[inline(always)]
    pub fn get(&self, key: u32) -> Option<&T> {
        let slot = self.slots.get((key & Self::INDEX_MASK) as usize)?;
        if slot.generation != key >> INDEX_BITS {
            return None;
        }
        slot.value.as_ref()
    }

    /// The object that `key` names, if it is alive.
    #[inline(always)]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        let slot = self.slots.get_mut((key & Self::INDEX_MASK) as usize)?;
        if slot.generation != key >> INDEX_BITS {
            return None;
        }
        slot.value.as_mut()
    }

    /// Takes the object out; its key is stale from now on.
    #[inline]
    pub fn remove(&mut self, key: u32) -> Option<T> {
        let value = self.slot_of(key)?.take();
        self.vacate(key & Self::INDEX_MASK);
        value
    }

    /// Drops the object, whose key is stale from now on: as [`Slab::remove`], without moving it.
    #[inline]
    pub fn discard(&mut self, key: u32) {
        if let Some(value) = self.slot_of(key) {
            *value = None;
            self.vacate(key & Self::INDEX_MASK);
        }
    }

    /// The place of the object that `key` names, if it is alive.
    #[inline(always)]
    fn slot_of(&mut self, key: u32) -> Option<&mut Option<T>> {
        let slot = self.slots.get_mut((key & Self::INDEX_MASK) as usize)?;
        (slot.generation == key >> INDEX_BITS && slot.value.is_some()).then_some(&mut slot.value)
    }

    /// Makes an emptied slot the youngest of the free ones.
    #[inline(always)]
    fn vacate(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.generation = (slot.generation + 1) & Self::GENERATION_MASK;
        slot.next_free = NONE;
        self.live -= 1;
        match self.youngest {
            NONE => self.oldest = index,
            last => self.slots[last as usize].next_free = index,
        }
        self.youngest = index;
    }

    /// Every live object with its key, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let value = slot.value.as_ref()?;
            Some((slot.generation << INDEX_BITS | index as u32, value))
        })
    }

    /// As [`Slab::iter`], to change the objects.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let value = slot.value.as_mut()?;
            Some((slot.generation << INDEX_BITS | index as u32, value))
        })
    }
}

#[cfg(test)]
mod tests {
    type Small = super::Slab<&'static str, 4, 3>;

    #[test]
    fn a_freed_key_is_stale_until_its_generation_wraps() {
        let mut slab = Small::new();
        let first = slab.insert("a").unwrap();
        assert_eq!(slab.remove(first), Some("a"));
        for _ in 0..7 {
            let key = slab.insert("b").unwrap();
            assert_ne!(key, first);
            assert!(slab.get(first).is_none());
            slab.remove(key);
        }
        assert_eq!(slab.insert("c").unwrap(), first);
    }

    #[test]
    fn slots_are_reused_first_in_first_out() {
        let mut slab = Small::new();
        let keys: Vec<u32> = (0..3).map(|_| slab.insert("x").unwrap()).collect();
        for &key in &keys {
            slab.remove(key);
        }
        let again: Vec<u32> = (0..3).map(|_| slab.insert("y").unwrap() & 15).collect();
        assert_eq!(again, [0, 1, 2]);
    }

    #[test]
    fn a_full_slab_gives_the_value_back() {
        let mut slab = Small::new();
        for _ in 0..16 {
            slab.insert("x").unwrap();
        }
        assert_eq!(slab.insert("y"), Err("y"));
    }
}
