//! Page-aligned memory that a NIC owns.

use gni::{Error, Result};
use mem::UserMem;
use std::collections::HashMap;

const PAGE: usize = 4096;

/// The blocks of one NIC: bytes asked for, by address.
///
/// Each is a mapping of its own, so that pages which are never used cost nothing: tens of thousands of virtual NICs
/// depend on that, and an allocator would zero by hand what it has given out before.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: HashMap<usize, usize>,
}

impl Blocks {
    /// `bytes` (not 0) of zeroed memory.
    pub(super) fn alloc(&mut self, bytes: usize) -> Result<UserMem> {
        let size = bytes.checked_next_multiple_of(PAGE).ok_or(Error::NoMemory)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that exists.
        let start = unsafe { libc::mmap(core::ptr::null_mut(), size, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::NoMemory);
        }
        self.blocks.insert(start as usize, bytes);
        // SAFETY: the mapping is there until it is freed, which ends the view's use by contract.
        Ok(unsafe { UserMem::new(start as usize, bytes) })
    }

    /// Whether `address` lies in one of the blocks.
    pub(super) fn contain(&self, address: u64) -> bool {
        let within =
            |(&start, &bytes): (&usize, &usize)| (start..start + bytes).contains(&(address as usize));
        self.blocks.iter().any(within)
    }

    /// Frees exactly what `alloc` returned.
    pub(super) fn free(&mut self, memory: UserMem) -> Result<()> {
        if self.blocks.get(&memory.address()) != Some(&memory.len()) {
            return Err(Error::InvalidParam);
        }
        self.blocks.remove(&memory.address());
        unmap(memory.address(), memory.len());
        Ok(())
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (&start, &bytes) in &self.blocks {
            unmap(start, bytes);
        }
    }
}

/// Gives a block back.
fn unmap(start: usize, bytes: usize) {
    // SAFETY: the caller has the block from `alloc`, and its NIC has given it back, or ends.
    unsafe { libc::munmap(start as *mut libc::c_void, bytes.next_multiple_of(PAGE)) };
}
