//! Memory that processes share beside the node's segment, and may let go again.

use platform::memory_file::MemoryFile;
use std::ops::Range;
use std::os::fd::AsFd;

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
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping that `map` has made; nothing borrowed from `self` is left.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
