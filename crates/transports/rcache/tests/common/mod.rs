//! Memory and network interfaces that the tests share.
#![allow(dead_code, reason = "each test program uses a part")]

use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use mem::UserMem;
use rcache::Register;

pub mod pinned;

pub const PAGE: usize = 4096;

/// Anonymous memory of `pages` pages: at `address`, replacing what was there, or anywhere for 0.
pub fn map(address: usize, pages: usize) -> usize {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: an address that is given belongs to the test that gives it.
    let base = unsafe { libc::mmap(address as *mut _, pages * PAGE, protection, flags, -1, 0) };
    assert_ne!(base, libc::MAP_FAILED);
    base as usize
}

/// The same where the kernel puts nothing by itself, since it fills addresses from far above. A test may unmap pages
/// here and map them again: nothing of a thread that starts in between can have taken their place.
pub fn map_apart(pages: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);
    map(NEXT.fetch_add(2 * pages * PAGE, Ordering::Relaxed), pages)
}

pub fn unmap(address: usize, pages: usize) {
    // SAFETY: a mapping of the test's.
    assert_eq!(unsafe { libc::munmap(address as *mut _, pages * PAGE) }, 0);
}

pub fn fill(address: usize, byte: u8, pages: usize) {
    // SAFETY: mapped by the test.
    unsafe { ptr::write_bytes(address as *mut u8, byte, pages * PAGE) };
}

pub fn memory(address: usize, len: usize) -> UserMem {
    // SAFETY: mapped by the test, or only registered with an interface that does not look.
    unsafe { UserMem::new(address, len) }
}

/// An interface that only counts, with room for `limit` registrations.
#[derive(Default)]
pub struct Counting {
    pub limit: usize,
    pub made: u64,
    pub live: Vec<(u64, UserMem)>,
    pub fail_to_end: bool,
}

impl Register for Counting {
    type Handle = u64;
    type Error = &'static str;

    fn register(&mut self, memory: UserMem) -> Result<u64, &'static str> {
        if self.live.len() >= self.limit {
            return Err("exhausted");
        }
        self.made += 1;
        self.live.push((self.made, memory));
        Ok(self.made)
    }

    fn deregister(&mut self, handle: u64) -> Result<(), &'static str> {
        if self.fail_to_end {
            return Err("in use");
        }
        let at = self.live.iter().position(|&(live, _)| live == handle).ok_or("unknown")?;
        self.live.swap_remove(at);
        Ok(())
    }

    fn is_exhausted(error: &&'static str) -> bool {
        *error == "exhausted"
    }
}
