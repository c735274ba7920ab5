//! Which parts of an address range are free: the smallest that is large enough, neighbours joined.

use std::collections::{BTreeMap, BTreeSet};

/// The free parts of one block; no two touch.
#[derive(Clone, Debug)]
pub struct FreeList {
    /// Length by address.
    parts: BTreeMap<usize, usize>,
    /// The same as length and address.
    by_length: BTreeSet<(usize, usize)>,
    bytes: usize,
}

/// Parts that may be large enough, by their alignment, which are tried before one that is in any case.
const TRIED: usize = 8;

impl FreeList {
    /// All of `len` bytes at `start` are free.
    pub fn new(start: usize, len: usize) -> FreeList {
        let mut list = FreeList { parts: BTreeMap::new(), by_length: BTreeSet::new(), bytes: 0 };
        list.give(start, len);
        list
    }

    /// Takes `len` bytes (not 0) at a multiple of `align`, a power of two.
    pub fn take(&mut self, len: usize, align: usize) -> Option<usize> {
        let fits = |&&(room, start): &&(usize, usize)| {
            let address = start.checked_next_multiple_of(align);
            address.is_some_and(|address| address - start <= room - len)
        };
        let surely = len.checked_add(align - 1)?;
        let mut tight = self.by_length.range((len, 0)..).take(TRIED);
        let found = tight.find(fits).or_else(|| self.by_length.range((surely, 0)..).find(fits));
        let &(room, start) = found?;
        self.remove(start, room);
        let address = start.next_multiple_of(align);
        self.insert(start, address - start);
        self.insert(address + len, start + room - (address + len));
        Some(address)
    }

    /// Gives back what was taken.
    pub fn give(&mut self, address: usize, len: usize) {
        let (mut start, mut end) = (address, address + len);
        if let Some((&before, &room)) = self.parts.range(..address).next_back()
            && before + room == address
        {
            self.remove(before, room);
            start = before;
        }
        if let Some(&room) = self.parts.get(&end) {
            self.remove(end, room);
            end += room;
        }
        self.insert(start, end - start);
    }

    /// Free bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn insert(&mut self, start: usize, len: usize) {
        if len > 0 {
            self.parts.insert(start, len);
            self.by_length.insert((len, start));
            self.bytes += len;
        }
    }

    fn remove(&mut self, start: usize, len: usize) {
        self.parts.remove(&start);
        self.by_length.remove(&(len, start));
        self.bytes -= len;
    }
}
