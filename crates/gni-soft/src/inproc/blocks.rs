//! Page-aligned memory that a NIC owns.

use core::ptr::NonNull;
use gni::{Error, Result};
use mem::UserMem;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;

const PAGE: usize = 4096;

/// The blocks of one NIC, by the address of their first page.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: HashMap<usize, (NonNull<u8>, Layout, usize)>,
}

/// Above this the allocator would write the zeroes itself; up to it, pages of a large block cost nothing until
/// they are used, which tens of thousands of virtual NICs depend on.
const ALIGN: usize = 16;

// SAFETY: the blocks are plain memory that nothing else owns; the pointers are used to free them only.
unsafe impl Send for Blocks {}

impl Blocks {
    /// `bytes` (not 0) of zeroed memory.
    pub(super) fn alloc(&mut self, bytes: usize) -> Result<UserMem> {
        let size = bytes.checked_next_multiple_of(PAGE).and_then(|size| size.checked_add(PAGE));
        let layout = Layout::from_size_align(size.ok_or(Error::NoMemory)?, ALIGN);
        let layout = layout.map_err(|_| Error::NoMemory)?;
        // SAFETY: the layout's size is not zero.
        let block = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Error::NoMemory)?;
        let address = (block.as_ptr() as usize).next_multiple_of(PAGE);
        self.blocks.insert(address, (block, layout, bytes));
        // SAFETY: the block, a page larger than its pages, is valid until it is freed, which ends the view's use
        // by contract.
        Ok(unsafe { UserMem::new(address, bytes) })
    }

    /// Whether `address` lies in one of the blocks.
    pub(super) fn contain(&self, address: u64) -> bool {
        let within = |(&start, &(.., bytes)): (&usize, &(NonNull<u8>, Layout, usize))| {
            (start..start + bytes).contains(&(address as usize))
        };
        self.blocks.iter().any(within)
    }

    /// Frees exactly what `alloc` returned.
    pub(super) fn free(&mut self, memory: UserMem) -> Result<()> {
        let known = self.blocks.get(&memory.address()).is_some_and(|&(.., bytes)| bytes == memory.len());
        if !known {
            return Err(Error::InvalidParam);
        }
        if let Some((block, layout, _)) = self.blocks.remove(&memory.address()) {
            // SAFETY: allocated with this layout, and just taken out of the map.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
        Ok(())
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (block, layout, _) in self.blocks.values() {
            // SAFETY: allocated with this layout and not freed yet.
            unsafe { dealloc(block.as_ptr(), *layout) };
        }
    }
}
