//! Memory that processes share beside the node's segment, and may let go again.

use platform::memory_file::MemoryFile;
use std::ops::Range;
use std::os::fd::AsFd;

use crate::area;
use crate::layout::{area_bytes, area_parts};
use crate::mapping::{MapError, advise, map_shared};
use crate::sync::AtomicU64;

/// A memory file or a part of one, mapped as long as this lives.
#[derive(Debug)]
pub struct SharedMemory {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: the base address is constant, and what it points to is only handed out as atomics or raw.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps all of `file`. A forked child does not have the mapping.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn map(file: &MemoryFile) -> Result<SharedMemory, MapError> {
        SharedMemory::map_near(file, 0)
    }

    /// As [`SharedMemory::map`], at `wish` if nothing is there, a multiple of a page; 0: anywhere.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn map_near(file: &MemoryFile, wish: usize) -> Result<SharedMemory, MapError> {
        SharedMemory::map_part(file, 0..file.bytes, wish)
    }

    /// As [`SharedMemory::map_near`], a part of `file`, whole pages.
    ///
    /// # Errors
    /// As above, and [`MapError::TooShort`] if the file does not have the part.
    pub fn map_part(file: &MemoryFile, part: Range<u64>, wish: usize) -> Result<SharedMemory, MapError> {
        if part.end > file.bytes {
            return Err(MapError::TooShort { have: file.bytes, need: part.end });
        }
        let bytes = (part.end - part.start) as usize;
        Ok(SharedMemory { base: map_shared(file.fd.as_fd(), part, wish)?, bytes })
    }

    /// Lets processes that this one forks from now on have the mapping, too.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn leave_to_children(&self) -> Result<(), MapError> {
        advise(self.base, self.bytes, libc::MADV_DOFORK)
    }

    /// Where it is.
    pub fn address(&self) -> usize {
        self.base as usize
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The first `count` words.
    pub fn words(&self, count: usize) -> &[AtomicU64] {
        assert!(count <= self.bytes / size_of::<AtomicU64>(), "words within the memory");
        // SAFETY: the range lies within the mapping, which is page-aligned and lives as long as `self`; the file cannot
        // shrink (`MemoryFile::create` and `adopt` see to that); any bits are a valid word, which peers may change.
        unsafe { core::slice::from_raw_parts(self.base.cast(), count) }
    }

    /// An area for `ranks` processes in this memory, from byte `start` on, a multiple of a page; there are
    /// [`area_bytes`](crate::area_bytes) of them, all zero at first.
    ///
    /// # Safety
    /// The result, and what is made of it, is used only as long as `self` lives.
    pub unsafe fn area(&self, start: usize, ranks: usize) -> area::Memory {
        assert!((1..=area::MOST_RANKS).contains(&ranks), "ranks of an area");
        assert!(
            start.is_multiple_of(4096) && start + area_bytes(ranks) <= self.bytes,
            "a part of the memory"
        );
        let [slots, words, payloads, bounce_buffers] =
            area_parts(ranks).map(|part| self.base.wrapping_add(start + part));
        area::Memory {
            // SAFETY: the range lies within the mapping, page-aligned as the parts of the segment's areas are; the file cannot
            // shrink; any bits are a valid slot, which peers may change. The caller sees to its life.
            slots: unsafe { core::slice::from_raw_parts(slots.cast(), area::slots(ranks)) },
            // SAFETY: as above, of words.
            words: unsafe { core::slice::from_raw_parts(words.cast(), area::words(ranks)) },
            payloads: payloads as usize,
            bounce_buffers: bounce_buffers as usize,
            bounce_count: ranks * area::bounce_buffers(ranks),
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping that `map` has made; nothing borrowed from `self` is left.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
