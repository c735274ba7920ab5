//! Blocks of memory of this process alone, from the kernel, on huge pages where it has them.

use mem::UserMem;
use std::ptr;

/// Size of a huge page in bytes, and alignment of blocks: the usual one of x86-64 and of aarch64 with 4 KiB pages.
pub const HUGE_PAGE: usize = 2 << 20;

/// Which pages blocks are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HugePages {
    /// Ordinary ones.
    Never,
    /// Those that the kernel joins by itself when it is asked to.
    #[default]
    Transparent,
    /// Those that the administrator has set aside (`vm.nr_hugepages`), or else transparent ones.
    Reserved,
}

/// Mapped memory, unmapped when dropped.
#[derive(Debug)]
pub struct PrivateBlock {
    address: usize,
    len: usize,
}

impl PrivateBlock {
    /// Zeroed memory of at least `len` bytes, a multiple of [`HUGE_PAGE`] and aligned to it. `None`: there is none.
    pub fn map(len: usize, pages: HugePages) -> Option<PrivateBlock> {
        let len = len.checked_next_multiple_of(HUGE_PAGE)?;
        if pages == HugePages::Reserved
            && let Some(address) = map(len, libc::MAP_HUGETLB)
        {
            return Some(PrivateBlock { address, len });
        }
        // Mapped with room for the alignment; what is too much is given back.
        let wide = map(len.checked_add(HUGE_PAGE)?, 0)?;
        let address = wide.next_multiple_of(HUGE_PAGE);
        unmap(wide, address - wide);
        unmap(address + len, wide + HUGE_PAGE - address);
        let advice = if pages == HugePages::Never { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // SAFETY: the mapping just made. A kernel without huge pages refuses, which changes nothing.
        unsafe { libc::madvise(address as *mut _, len, advice) };
        Some(PrivateBlock { address, len })
    }

    /// All of it.
    pub fn memory(&self) -> UserMem {
        // SAFETY: mapped as long as the block exists; its owner drops it after what uses the memory.
        unsafe { UserMem::new(self.address, self.len) }
    }
}

impl Drop for PrivateBlock {
    fn drop(&mut self) {
        unmap(self.address, self.len);
    }
}

fn map(len: usize, flags: i32) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let base = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

fn unmap(address: usize, len: usize) {
    if len > 0 {
        // SAFETY: memory mapped by this module that is not used any more.
        unsafe { libc::munmap(address as *mut _, len) };
    }
}
