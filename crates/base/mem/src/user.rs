//! A buffer of the MPI caller.

use crate::{PeerBytes, PeerSpace, Sink, Source, copy_bytes};

/// `len` bytes at an address that the MPI caller handed over for the duration of an operation.
///
/// Plain data: copying the view copies no bytes and transfers no ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserMem {
    address: usize,
    len: usize,
}

impl UserMem {
    /// No bytes at all.
    pub const EMPTY: UserMem = UserMem { address: 0, len: 0 };

    /// A view of `len` bytes at `address`.
    ///
    /// # Safety
    /// Until the last use of the view or of one split from it, the range must be readable, and writable if the
    /// view is ever written to. MPI gives this promise: the caller owns no part of a buffer that it passed to
    /// an operation until that operation is complete (MPI-5.0 section 2.4.1).
    #[inline(always)]
    pub const unsafe fn new(address: usize, len: usize) -> UserMem {
        UserMem { address, len }
    }

    /// The view of a slice; the borrow does not outlive the call that uses it, by the caller's care.
    ///
    /// # Safety
    /// As [`UserMem::new`].
    pub unsafe fn of(slice: &mut [u8]) -> UserMem {
        UserMem { address: slice.as_mut_ptr() as usize, len: slice.len() }
    }

    /// The address of the first byte.
    #[inline(always)]
    pub const fn address(self) -> usize {
        self.address
    }

    /// Length in bytes.
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `offset`, cut to what exists.
    #[inline(always)]
    pub fn part(self, offset: usize, len: usize) -> UserMem {
        let offset = offset.min(self.len);
        UserMem { address: self.address + offset, len: len.min(self.len - offset) }
    }

    /// Writes `bytes` at the start; what does not fit is left out. Returns the bytes written.
    #[inline(always)]
    pub fn write(self, bytes: PeerBytes<'_>) -> usize {
        let len = bytes.len().min(self.len);
        // SAFETY: `len` is within both views; the constructors vouch for the ranges, which cannot overlap since
        // a transport's memory is never lent to the MPI caller.
        unsafe { copy_bytes(bytes.as_ptr(), self.address as *mut u8, len) };
        len
    }

    /// Copies to another user buffer, as a message to oneself does; the ranges may overlap. Returns the bytes
    /// copied: the shorter of the two lengths.
    pub fn copy_to(self, to: UserMem) -> usize {
        let len = self.len.min(to.len);
        // SAFETY: both constructors vouch for their ranges; `copy` allows overlap.
        unsafe { core::ptr::copy(self.address as *const u8, to.address as *mut u8, len) };
        len
    }

    /// Room to be filled.
    pub fn as_space(&self) -> PeerSpace<'_> {
        // SAFETY: the constructor vouches that the range is writable when the view is written to.
        unsafe { PeerSpace::new(self.address as *mut u8, self.len) }
    }

    /// The bytes as a peer would see them, for code that serves both origins.
    #[inline(always)]
    pub fn as_bytes(&self) -> PeerBytes<'_> {
        // SAFETY: the constructor vouches that the range is readable.
        unsafe { PeerBytes::new(self.address as *const u8, self.len) }
    }
}

impl Source for UserMem {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn fill(&mut self, space: PeerSpace<'_>) {
        let taken = space.len().min(self.len);
        space.write(self.part(0, taken).as_bytes());
        *self = self.part(taken, self.len - taken);
    }

    #[inline(always)]
    fn contiguous(&self) -> Option<UserMem> {
        Some(*self)
    }

    fn take_contiguous(&mut self) -> Option<UserMem> {
        let rest = self.part(self.len, 0);
        Some(core::mem::replace(self, rest))
    }
}

impl Sink for UserMem {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn drain(&mut self, bytes: PeerBytes<'_>) {
        let written = self.write(bytes);
        *self = self.part(written, self.len - written);
    }
}
