//! Match entries and their lists.

use super::SoftNic;
use crate::config::ENTRY_BYTES;
use crate::fabric::Fabric;
use portals::{Error, MatchBits, Md, Me, NewEntry, Position, ProcessId, ProcessMatch, Result, Unlink};

pub(super) struct Entry {
    index: u32,
    source: ProcessMatch,
    match_bits: MatchBits,
    ignore_bits: MatchBits,
    pub(super) unlink: Unlink,
    pub(super) md: Option<Md>,
    previous: Option<u32>,
    pub(super) next: Option<u32>,
}

impl Entry {
    /// Whether an operation of `id` with these bits is one that the entry stands for.
    #[inline]
    pub(super) fn fits(&self, id: ProcessId, match_bits: MatchBits) -> bool {
        (self.match_bits ^ match_bits) & !self.ignore_bits == 0 && self.source.fits(id)
    }
}

/// The entries of an index, linked in order.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    pub(super) head: Option<u32>,
    tail: Option<u32>,
    len: u32,
}

impl<F: Fabric> SoftNic<F> {
    /// Adds an entry to the head or tail of an index.
    pub(super) fn attach_entry(&mut self, index: u32, new: NewEntry, position: Position) -> Result<Me> {
        let list = *self.lists.get(index as usize).ok_or(Error::PtIndexInvalid)?;
        let (previous, next) = match position {
            Position::Before => (None, list.head),
            Position::After => (list.tail, None),
        };
        self.link_entry(index, new, previous, next)
    }

    /// Adds an entry beside another one.
    pub(super) fn insert_entry(&mut self, base: Me, new: NewEntry, position: Position) -> Result<Me> {
        let beside = self.entries.get(base.0).ok_or(Error::MeInvalid)?;
        let (previous, next) = match position {
            Position::Before => (beside.previous, Some(base.0)),
            Position::After => (Some(base.0), beside.next),
        };
        let index = beside.index;
        self.link_entry(index, new, previous, next)
    }

    /// An index that has no entries.
    pub(super) fn free_index(&self) -> Result<u32> {
        let free = self.lists.iter().position(|list| list.len == 0);
        free.map(|index| index as u32).ok_or(Error::PtFull)
    }

    fn link_entry(
        &mut self,
        index: u32,
        new: NewEntry,
        previous: Option<u32>,
        next: Option<u32>,
    ) -> Result<Me> {
        if self.lists[index as usize].len >= self.limits.max_me_list {
            return Err(Error::MeListTooLong);
        }
        if self.entries.len() >= self.limits.max_mes as usize {
            return Err(Error::NoSpace);
        }
        self.reserve(ENTRY_BYTES)?;
        let NewEntry { source, match_bits, ignore_bits, unlink } = new;
        let entry = Entry { index, source, match_bits, ignore_bits, unlink, md: None, previous, next };
        let Ok(key) = self.entries.insert(entry) else {
            self.unreserve(ENTRY_BYTES);
            return Err(Error::NoSpace);
        };
        self.join(index, previous, Some(key));
        self.join(index, Some(key), next);
        self.lists[index as usize].len += 1;
        Ok(Me(key))
    }

    /// Makes `after` the one after `before`; `None` is the list's end on that side.
    fn join(&mut self, index: u32, before: Option<u32>, after: Option<u32>) {
        match before.and_then(|key| self.entries.get_mut(key)) {
            Some(entry) => entry.next = after,
            None => self.lists[index as usize].head = after,
        }
        match after.and_then(|key| self.entries.get_mut(key)) {
            Some(entry) => entry.previous = before,
            None => self.lists[index as usize].tail = before,
        }
    }

    /// Removes an entry and its descriptor.
    pub(super) fn unlink_entry(&mut self, me: Me) -> Result<()> {
        let entry = self.entries.get(me.0).ok_or(Error::MeInvalid)?;
        if let Some(md) = entry.md {
            self.unlink_descriptor(md).map_err(|_| Error::MeInUse)?;
        }
        self.remove_entry(me);
        Ok(())
    }

    /// Removes an entry that has no descriptor any more.
    pub(super) fn remove_entry(&mut self, me: Me) {
        let Some(entry) = self.entries.remove(me.0) else { return };
        self.join(entry.index, entry.previous, entry.next);
        self.lists[entry.index as usize].len -= 1;
        self.unreserve(ENTRY_BYTES);
    }
}
