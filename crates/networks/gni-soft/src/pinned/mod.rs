//! The pinned mode: a registration holds the pages that were mapped when it was made, as the hardware's does.
//!
//! ```text
//!    program            buffer ──munmap, mmap──▶ same address, other pages
//!    registration         └──── pages of then (a fixed buffer of io_uring)
//!    transfer                    copies from and to the pages of then
//! ```
//!
//! So a registration that was kept too long really reads old data and really writes where the program never looks,
//! which is what tests of registration caches need. Bulk data goes that way; control words and atomics are done in
//! place, and memory that the NIC itself has allocated is not pinned, as it stays mapped while it is registered.

mod uring;

use crate::mapping::{Mapping, memory_file};
use gni::limits;
use mem::{PeerBytes, PeerSpace};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use uring::{Copy, Uring};

/// Bytes that are copied at a time.
const STAGE: usize = 256 << 10;

/// The pages that the registrations of one NIC hold, by memory descriptor.
pub(crate) struct Pins {
    uring: Uring,
    /// What is copied passes through this file.
    file: OwnedFd,
    stage: Mapping,
    /// Whether a descriptor holds pages; the memory of the others is reached in place.
    held: Box<[bool]>,
}

impl Pins {
    /// # Errors
    /// Where io_uring is missing or forbidden.
    pub(crate) fn new() -> io::Result<Pins> {
        let file = memory_file(STAGE)?;
        let stage = Mapping::of(&file, STAGE)?;
        let uring = Uring::new(limits::MDDS)?;
        Ok(Pins { uring, file, stage, held: vec![false; limits::MDDS as usize].into() })
    }

    /// Holds the pages of `len` bytes at `addr` until [`Pins::unpin`]. What cannot be held (memory that is not
    /// writable, or more than 1 GiB) is reached in place.
    ///
    /// # Errors
    /// The limit of lockable memory.
    pub(crate) fn pin(&mut self, mdd: u16, addr: u64, len: u64) -> io::Result<()> {
        match self.uring.set_buffer(mdd.into(), addr, len) {
            Ok(()) => self.held[usize::from(mdd)] = true,
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub(crate) fn unpin(&mut self, mdd: u16) {
        if core::mem::take(&mut self.held[usize::from(mdd)]) {
            // Emptying a slot that is filled cannot fail; if it did, its pages would be held until the next use.
            let _ = self.uring.set_buffer(mdd.into(), 0, 0);
        }
    }

    /// Whether the descriptor's memory is held, and so must be reached through here.
    pub(crate) fn holds(&self, mdd: u16) -> bool {
        self.held[usize::from(mdd)]
    }

    /// Shows `take` the held bytes from `addr` on, piece by piece and in order.
    ///
    /// # Errors
    /// A range that is not held.
    pub(crate) fn read(
        &mut self,
        mdd: u16,
        addr: u64,
        len: u64,
        mut take: impl FnMut(PeerBytes<'_>),
    ) -> io::Result<()> {
        for (offset, piece) in pieces(len) {
            let moved = self.uring.copy(Copy::OutOf, self.file.as_fd(), mdd.into(), addr + offset, piece)?;
            whole(moved, piece)?;
            // SAFETY: the stage's beginning, mapped as long as `self`, which alone uses it.
            take(unsafe { PeerBytes::new(self.stage.address() as *const u8, piece as usize) });
        }
        Ok(())
    }

    /// Stores `bytes` to the held pages from `addr` on.
    ///
    /// # Errors
    /// A range that is not held.
    pub(crate) fn write(&mut self, mdd: u16, addr: u64, bytes: PeerBytes<'_>) -> io::Result<()> {
        for (offset, piece) in pieces(bytes.len() as u64) {
            let part = bytes.part(offset as usize, piece as usize);
            // SAFETY: the stage's beginning, mapped as long as `self`, which alone uses it.
            unsafe { PeerSpace::new(self.stage.address() as *mut u8, piece as usize) }.write(part);
            let moved = self.uring.copy(Copy::Into, self.file.as_fd(), mdd.into(), addr + offset, piece)?;
            whole(moved, piece)?;
        }
        Ok(())
    }
}

/// Offset and length of the pieces in which `len` bytes are copied.
fn pieces(len: u64) -> impl Iterator<Item = (u64, u32)> {
    (0..len).step_by(STAGE).map(move |offset| (offset, (len - offset).min(STAGE as u64) as u32))
}

fn whole(moved: u32, piece: u32) -> io::Result<()> {
    if moved == piece { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests;
