//! The short way to a peer's mailbox: what a look at its registration and queue found, good while neither changes.
//!
//! A message costs one load of the registration's sequence count and one of the queue's place instead of the whole read,
//! the check of the handle, and two searches for mappings.

use super::core_segment::{CoreSegment, Seen};
use super::own::ring_in;
use crate::mapping::Mapping;
use crate::ring::Ring;
use gni::MemHandle;
use std::sync::Arc;

/// Registered memory of a peer that is mapped here and that this NIC may write, with the queue of its registration.
pub(super) struct Lane {
    handle: MemHandle,
    mdd: u16,
    /// The registration's sequence count when it was read.
    sequence: u64,
    /// Address of the first byte at its owner, and of the first one after the last.
    first: u64,
    end: u64,
    /// The block that holds it, and where in that the first byte is.
    map: Arc<Mapping>,
    offset: usize,
    pub(super) queue: Option<u32>,
    arrivals: Option<Arrivals>,
}

/// Where the arrival queue is.
struct Arrivals {
    block: u32,
    entries: usize,
    map: Arc<Mapping>,
}

impl Lane {
    /// The lane that a look at the registration of `handle` found, in the block `map`; the caller has checked that the
    /// handle may be used for writing. `None`: the block is too short for what its owner states of it.
    pub(super) fn new(handle: MemHandle, seen: &Seen, offset: u64, map: &Arc<Mapping>) -> Option<Lane> {
        let registration = &seen.registration;
        let end = offset.checked_add(registration.len)?;
        (end <= map.len() as u64).then(|| Lane {
            handle,
            mdd: registration.mdd,
            sequence: seen.sequence,
            first: registration.addr,
            end: registration.addr + registration.len,
            map: Arc::clone(map),
            offset: offset as usize,
            queue: registration.queue,
            arrivals: None,
        })
    }

    /// Where `len` bytes at `addr` of the memory that `handle` names are here, as far as this lane leads there.
    #[inline]
    pub(super) fn place(
        &self,
        core: &CoreSegment,
        handle: MemHandle,
        addr: u64,
        len: usize,
    ) -> Option<*mut u8> {
        let inside = addr.wrapping_sub(self.first);
        let room = (self.end - self.first).checked_sub(inside)?;
        let holds = self.handle == handle && core.sequence(self.mdd) == Some(self.sequence);
        (holds && len as u64 <= room).then(|| (self.map.address() + self.offset + inside as usize) as *mut u8)
    }

    /// The arrival queue, if it is still the one in `block`.
    #[inline]
    pub(super) fn arrivals(&self, queue: u32, block: u32, entries: usize) -> Option<Ring<'_, 1>> {
        let known = self.arrivals.as_ref()?;
        let same = self.queue == Some(queue) && (known.block, known.entries) == (block, entries);
        if same { ring_in::<1>(&known.map, entries) } else { None }
    }

    /// Remembers where the arrival queue is.
    pub(super) fn note_arrivals(&mut self, queue: u32, block: u32, entries: usize, map: Arc<Mapping>) {
        if self.queue == Some(queue) {
            self.arrivals = Some(Arrivals { block, entries, map });
        }
    }
}
