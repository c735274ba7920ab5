//! Memory for what is longer than its receive.
//!
//! MPI wants an error for a message that is longer than its receive, and nothing else lost (MPI-5.0 section 3.2.4). Those of
//! libfabric 1.17 over TCP end the connection then; and a message that was cut does not show its sender. So a receive
//! names two runs, the user's memory and this overflow, and no message is longer than both.
//!
//! ```text
//!   receive      [ user's memory ][ overflow                              ]
//!   addresses                     | piece | piece | piece |  …   | piece |     32 GiB
//!   memory                            └───────┴───────┴─ the same 64 MiB ┘
//! ```
//! The overflow is never read, so all its pieces are the same memory, and all receives share it. It has pages while
//! something was written to it.

use core::ffi::c_void;
use core::ptr::null_mut;

use crate::abi::Iovec;

const PIECE: usize = 64 << 20;
const PIECES: usize = 512;

/// See the module's documentation.
pub(crate) struct Overflow(*mut c_void);

impl Overflow {
    /// `None`: the process may not have so many addresses.
    pub fn new() -> Option<Overflow> {
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let lazily = libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new mappings where the kernel chooses, and duplicates of the second in the range of the first, which is ours.
        unsafe {
            let private = libc::MAP_PRIVATE | lazily;
            let start = libc::mmap(null_mut(), PIECE * PIECES, libc::PROT_NONE, private, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            let overflow = Overflow(start);
            let first = libc::MAP_SHARED | libc::MAP_FIXED | lazily;
            if libc::mmap(start, PIECE, writable, first, -1, 0) == libc::MAP_FAILED {
                return None;
            }
            for piece in 1..PIECES {
                // An old size of 0 leaves the old mapping where it is: see mremap(2).
                let place = start.byte_add(piece * PIECE);
                if libc::mremap(start, 0, PIECE, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, place) != place {
                    return None;
                }
            }
            // A forked child and a core file need none of it.
            libc::madvise(start, PIECE * PIECES, libc::MADV_DONTFORK);
            libc::madvise(start, PIECE * PIECES, libc::MADV_DONTDUMP);
            Some(overflow)
        }
    }

    pub fn run(&self) -> Iovec {
        Iovec { base: self.0, len: PIECE * PIECES }
    }

    /// Gives its pages back. What arrives meanwhile may get new ones.
    pub fn release(&self) {
        // SAFETY: a shared mapping of ours, whose bytes are never read.
        unsafe { libc::madvise(self.0, PIECE, libc::MADV_REMOVE) };
    }
}

impl Drop for Overflow {
    fn drop(&mut self) {
        // SAFETY: the range of `new`, which no operation uses any more: its endpoint is closed first.
        unsafe { libc::munmap(self.0, PIECE * PIECES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many KiB of this process's memory are shared pages.
    fn shared() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("proc");
        let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:")).expect("a line of proc");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    }

    /// All of its addresses can be written, and take the memory of one piece.
    #[test]
    fn pieces_share_their_memory() {
        let overflow = Overflow::new().expect("addresses");
        let Iovec { base, len } = overflow.run();
        let byte = |at: usize| base.cast::<u8>().wrapping_add(at);
        for at in [0, PIECE - 1, PIECE, 7 * PIECE + 5, len - 1] {
            // SAFETY: within the overflow, which is this test's.
            unsafe { byte(at).write_volatile(at as u8) };
        }
        // SAFETY: as above.
        unsafe {
            assert_eq!(byte(5).read_volatile(), (7 * PIECE + 5) as u8);
            for at in (0..8 * PIECE).step_by(4096) {
                byte(at).write_volatile(1);
            }
            overflow.release();
            assert_eq!(byte(5).read_volatile(), 0);
        }
        assert!(shared() < PIECE >> 10);
    }
}
