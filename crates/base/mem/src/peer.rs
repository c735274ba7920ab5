//! Bytes that another process may read or write while we look at them.

use core::marker::PhantomData;

use crate::{Source, UserMem, copy_bytes};

/// Readable bytes that a peer may still be changing. Only raw copies are made of them, and what is decided on
/// is read once into a local first.
#[derive(Clone, Copy, Debug)]
pub struct PeerBytes<'a> {
    ptr: *const u8,
    len: usize,
    lifetime: PhantomData<&'a ()>,
}

// SAFETY: the view stands for bytes that others may change at any time anyway; a thread more changes nothing.
unsafe impl Send for PeerBytes<'_> {}

impl<'a> PeerBytes<'a> {
    /// A view of `len` bytes at `ptr`.
    ///
    /// # Safety
    /// The range must stay mapped and readable for `'a`.
    #[inline(always)]
    pub const unsafe fn new(ptr: *const u8, len: usize) -> PeerBytes<'a> {
        PeerBytes { ptr, len, lifetime: PhantomData }
    }

    /// The view of bytes that are ours.
    #[inline(always)]
    pub const fn of(bytes: &'a [u8]) -> PeerBytes<'a> {
        PeerBytes { ptr: bytes.as_ptr(), len: bytes.len(), lifetime: PhantomData }
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

    /// The first byte's address, for `copy_bytes` and the kernel's copy calls.
    #[inline(always)]
    pub const fn as_ptr(self) -> *const u8 {
        self.ptr
    }

    /// `len` bytes from `offset`, cut to what exists.
    #[inline(always)]
    pub fn part(self, offset: usize, len: usize) -> PeerBytes<'a> {
        let offset = offset.min(self.len);
        let len = len.min(self.len - offset);
        // SAFETY: `offset <= self.len`, so the pointer stays within or one past the range.
        PeerBytes { ptr: unsafe { self.ptr.add(offset) }, len, lifetime: PhantomData }
    }

    /// The native-endian word `index` (8 bytes each), or 0 past the end. Read once.
    #[inline(always)]
    pub fn word(self, index: usize) -> u64 {
        if (index + 1) * 8 > self.len {
            return 0;
        }
        // SAFETY: the eight bytes lie within the range by the check above; volatile, since a peer may write.
        unsafe { self.ptr.add(index * 8).cast::<u64>().read_volatile_unaligned() }
    }

    /// Has the bytes brought into this core's caches, where they are not yet: the core that wrote them still has them.
    #[inline(always)]
    pub fn prefetch(self) {
        #[cfg(target_arch = "x86_64")]
        for line in (0..self.len).step_by(64) {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the pointer stays within the range, and prefetching is a hint that changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.ptr.add(line).cast()) };
        }
    }

    /// Copies into our own bytes; returns how many: the shorter of the two lengths.
    pub fn copy_to(self, to: &mut [u8]) -> usize {
        let len = self.len.min(to.len());
        // SAFETY: `len` is within both; `to` is exclusively ours, hence no overlap.
        unsafe { copy_bytes(self.ptr, to.as_mut_ptr(), len) };
        len
    }

    /// A copy that is ours.
    pub fn to_vec(self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.len);
        // SAFETY: the reservation holds `len` bytes, all of which are written before the length is set.
        unsafe {
            copy_bytes(self.ptr, copy.as_mut_ptr(), self.len);
            copy.set_len(self.len);
        }
        copy
    }
}

/// Bytes that are ours, or that still lie at a transport, on their way to a peer.
impl Source for PeerBytes<'_> {
    fn remaining(&self) -> usize {
        self.len
    }

    fn fill(&mut self, space: PeerSpace<'_>) {
        let taken = space.len().min(self.len);
        space.write(self.part(0, taken));
        *self = self.part(taken, self.len - taken);
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }
}

/// Room that a peer may be reading or writing, to be filled by us.
#[derive(Debug)]
pub struct PeerSpace<'a> {
    ptr: *mut u8,
    len: usize,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> PeerSpace<'a> {
    /// A view of `len` writable bytes at `ptr`.
    ///
    /// # Safety
    /// The range must stay mapped and writable for `'a`, and nothing else in this process may use it meanwhile.
    #[inline(always)]
    pub const unsafe fn new(ptr: *mut u8, len: usize) -> PeerSpace<'a> {
        PeerSpace { ptr, len, lifetime: PhantomData }
    }

    /// Room that is ours.
    pub fn of(bytes: &'a mut [u8]) -> PeerSpace<'a> {
        PeerSpace { ptr: bytes.as_mut_ptr(), len: bytes.len(), lifetime: PhantomData }
    }

    /// Length in bytes.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no room.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `offset`, cut to what exists; the caller does not use the whole meanwhile.
    pub fn part(&self, offset: usize, len: usize) -> PeerSpace<'_> {
        let offset = offset.min(self.len);
        let len = len.min(self.len - offset);
        // SAFETY: `offset <= self.len`, so the pointer stays within or one past the range.
        PeerSpace { ptr: unsafe { self.ptr.add(offset) }, len, lifetime: PhantomData }
    }

    /// The first byte's address, for pack kernels and the kernel's copy calls.
    #[inline(always)]
    pub const fn as_mut_ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Copies `bytes` to the start of the room; what does not fit is left out.
    #[inline(always)]
    pub fn write(&self, bytes: PeerBytes<'_>) {
        // SAFETY: the length is within both views, whose constructors vouch for the ranges; room of a
        // transport never overlaps a user buffer.
        unsafe { copy_bytes(bytes.as_ptr(), self.ptr, bytes.len().min(self.len)) };
    }
}

/// `read_volatile` for addresses without alignment, by bytes' worth of one word.
trait ReadVolatileUnaligned {
    /// # Safety
    /// Eight readable bytes at `self`.
    unsafe fn read_volatile_unaligned(self) -> u64;
}

impl ReadVolatileUnaligned for *const u64 {
    #[inline(always)]
    unsafe fn read_volatile_unaligned(self) -> u64 {
        #[repr(C, packed)]
        struct Word(u64);
        // SAFETY: eight readable bytes by the caller's promise; `Word` has alignment 1.
        unsafe { self.cast::<Word>().read_volatile().0 }
    }
}
