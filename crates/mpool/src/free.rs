//! Which parts of an address range are free: first fit, neighbours joined.

use std::collections::BTreeMap;

/// The free parts of one block, by address; no two touch.
#[derive(Clone, Debug)]
pub struct FreeList {
    parts: BTreeMap<usize, usize>,
}

impl FreeList {
    /// All of `len` bytes at `start` are free.
    pub fn new(start: usize, len: usize) -> FreeList {
        FreeList { parts: BTreeMap::from([(start, len)]) }
    }

    /// Takes `len` bytes (not 0) at a multiple of `align`, a power of two: the lowest that are free.
    pub fn take(&mut self, len: usize, align: usize) -> Option<usize> {
        let (start, room, address) = self.parts.iter().find_map(|(&start, &room)| {
            let address = start.checked_next_multiple_of(align)?;
            (address.checked_add(len)? <= start + room).then_some((start, room, address))
        })?;
        self.parts.remove(&start);
        if address > start {
            self.parts.insert(start, address - start);
        }
        let (end, room_end) = (address + len, start + room);
        if room_end > end {
            self.parts.insert(end, room_end - end);
        }
        Some(address)
    }

    /// Gives back what was taken.
    pub fn give(&mut self, address: usize, len: usize) {
        let (mut start, mut end) = (address, address + len);
        if let Some((&before, &room)) = self.parts.range(..address).next_back()
            && before + room == address
        {
            self.parts.remove(&before);
            start = before;
        }
        if let Some(room) = self.parts.remove(&end) {
            end += room;
        }
        self.parts.insert(start, end - start);
    }

    /// Free bytes.
    pub fn bytes(&self) -> usize {
        self.parts.values().sum()
    }
}
