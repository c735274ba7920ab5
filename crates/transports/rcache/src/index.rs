//! The cache's core, without system calls: which ranges are registered, which are in use, which goes first.
//!
//! # Finding
//!
//! No range in the map covers another one, as the smaller would be of no use. So the ranges have the same order by
//! beginning and by end, and of those that begin at or before an address, the last one reaches farthest:
//!
//! ```text
//!     wanted            |----|
//!     map     |------|           reaches less far than the next
//!                |-----|         begins last before `wanted`: covers it or none does
//!                         |---|
//! ```
//!
//! # Life of an entry
//!
//! ```text
//!   insert ─▶ in the map, used ◀──find── in the map, idle (in the LRU list) ──evict──▶ gone
//!                  │     └────release──────▶
//!                retire (invalid, or covered by a new one)
//!                  ▼
//!             not in the map, used ──release──▶ gone
//! ```

use crate::extent::Extent;
use crate::watch::WatchId;
use mem::Slab;
use std::collections::BTreeMap;

/// Names an entry as long as it exists.
pub type Key = u32;

/// Why an entry may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// As long as it is valid for the watch.
    Watched(WatchId),
    /// The owner of the memory has promised that it stays.
    Promised,
    /// Not at all: it is gone with its first user.
    Once,
}

#[derive(Debug)]
struct Entry<H> {
    extent: Extent,
    handle: H,
    hold: Hold,
    users: u32,
    in_map: bool,
    /// Neighbours in the list of idle entries.
    newer: Key,
    older: Key,
}

const NONE: Key = u32::MAX;

/// Registered ranges; see the module.
#[derive(Debug)]
pub struct Index<H> {
    entries: Slab<Entry<H>, 20, 12>,
    map: BTreeMap<usize, Key>,
    newest: Key,
    oldest: Key,
}

impl<H: Copy> Default for Index<H> {
    fn default() -> Self {
        Index { entries: Slab::new(), map: BTreeMap::new(), newest: NONE, oldest: NONE }
    }
}

impl<H> Index<H> {
    /// Why each entry is kept, those out of the map included.
    pub fn holds(&self) -> impl Iterator<Item = Hold> {
        self.entries.iter().map(|(_, entry)| entry.hold)
    }
}

impl<H: Copy> Index<H> {
    /// Entries, those out of the map included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An entry of the map that covers `wanted`, if there is one.
    pub fn find(&self, wanted: Extent) -> Option<Key> {
        let (_, &key) = self.map.range(..=wanted.start).next_back()?;
        self.entries.get(key).is_some_and(|entry| entry.extent.covers(wanted)).then_some(key)
    }

    /// An entry of the map that lies within `covering`, if there is one.
    pub fn within(&self, covering: Extent) -> Option<Key> {
        let (_, &key) = self.map.range(covering.start..).next()?;
        self.entries.get(key).is_some_and(|entry| covering.covers(entry.extent)).then_some(key)
    }

    /// Adds a registration with one user. Of a range that is kept, the caller has made sure that no entry covers it
    /// and that none lies within.
    ///
    /// # Errors
    /// The handle, when there are 2^20 entries.
    pub fn insert(&mut self, extent: Extent, handle: H, hold: Hold) -> Result<Key, H> {
        let in_map = hold != Hold::Once;
        debug_assert!(!in_map || self.find(extent).is_none() && self.within(extent).is_none());
        let entry = Entry { extent, handle, hold, users: 1, in_map, newer: NONE, older: NONE };
        let key = self.entries.insert(entry).map_err(|entry| entry.handle)?;
        if in_map {
            self.map.insert(extent.start, key);
        }
        Ok(key)
    }

    /// One more user.
    pub fn use_entry(&mut self, key: Key) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.users += 1;
        if entry.users == 1 && entry.in_map {
            self.unlink(key);
        }
    }

    /// One user less. `true`: the entry cannot be used any more, [`Index::remove`] it.
    pub fn release(&mut self, key: Key) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        entry.users = entry.users.saturating_sub(1);
        let (idle, in_map) = (entry.users == 0, entry.in_map);
        if idle && in_map {
            self.link(key);
        }
        idle && !in_map
    }

    /// Takes an entry out of the map, so that it is not found any more. `true` as in [`Index::release`].
    pub fn retire(&mut self, key: Key) -> bool {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.in_map) else { return false };
        entry.in_map = false;
        let (start, idle) = (entry.extent.start, entry.users == 0);
        self.map.remove(&start);
        if idle {
            self.unlink(key);
        }
        idle
    }

    /// Forgets an entry that cannot be used.
    pub fn remove(&mut self, key: Key) -> Option<(Extent, H, Hold)> {
        debug_assert!(self.entries.get(key).is_none_or(|entry| entry.users == 0 && !entry.in_map));
        let entry = self.entries.remove(key)?;
        Some((entry.extent, entry.handle, entry.hold))
    }

    /// The idle entry that was used least recently.
    pub fn oldest(&self) -> Option<Key> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Handle and hold of an entry.
    pub fn get(&self, key: Key) -> Option<(H, Hold)> {
        self.entries.get(key).map(|entry| (entry.handle, entry.hold))
    }

    /// The entries of the map.
    pub fn entries(&self) -> impl Iterator<Item = (Key, Hold)> {
        self.map.values().filter_map(|&key| Some((key, self.entries.get(key)?.hold)))
    }

    /// Puts an entry at the newest end of the idle ones.
    fn link(&mut self, key: Key) {
        let older = self.newest;
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.newer, entry.older) = (NONE, older);
        }
        match self.entries.get_mut(older) {
            Some(entry) => entry.newer = key,
            None => self.oldest = key,
        }
        self.newest = key;
    }

    fn unlink(&mut self, key: Key) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (newer, older) = (entry.newer, entry.older);
        (entry.newer, entry.older) = (NONE, NONE);
        match self.entries.get_mut(newer) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}
