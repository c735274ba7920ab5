//! Convertors: the state of moving the bytes of `count` items of a datatype into or out of a stream.

use crate::datatype::Datatype;
use crate::layout::{Layout, Shape};
use crate::packer::Packer;
use crate::walk::{Sink, walk};
use abi::Result;
use std::ops::Range;

/// One contiguous piece of a user buffer, laid out as the system's `struct iovec`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Run {
    /// Address of the first byte.
    pub addr: *mut u8,
    /// Length in bytes.
    pub len: usize,
}

impl Run {
    /// An empty piece, to fill arrays with.
    pub const EMPTY: Run = Run { addr: std::ptr::null_mut(), len: 0 };
}

/// The bytes of `count` items of a datatype in a user buffer, as a stream with a position.
///
/// The stream is the concatenation of the type map's basic elements in order: what `MPI_Pack` produces. It can be
/// read (`pack`), written (`unpack`) or enumerated (`next_runs`) from any byte, in pieces of any length, at a cost per
/// call of the type's nesting depth. Making one allocates nothing and keeps the pack program alive by itself; the
/// datatype may be freed meanwhile.
#[derive(Clone, Debug)]
pub struct Convertor {
    layout: Layout,
    base: usize,
    position: u64,
}

impl Convertor {
    /// A convertor at position 0 for `count` items of `datatype` at `base` (the buffer argument of the MPI call, which
    /// may be `MPI_BOTTOM`).
    ///
    /// Errors: `MPI_ERR_ARG` if the items' displacements or size exceed 63 bits.
    ///
    /// # Safety
    ///
    /// Until the last call of `pack`, `unpack` or the user of the runs is through, all bytes that the type map names
    /// from `base` on must be readable for packing and writable for unpacking, and no other code may write them (for
    /// unpacking: or read them) meanwhile.
    pub unsafe fn new(datatype: &Datatype, count: u64, base: *mut u8) -> Result<Convertor> {
        let layout = datatype.layout().repeated(count, datatype.extent())?;
        Ok(Convertor { layout, base: base.expose_provenance(), position: 0 })
    }

    /// Length of the stream in bytes.
    pub fn total(&self) -> u64 {
        self.layout.size
    }

    /// Bytes before the current position.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes from the current position to the end.
    pub fn remaining(&self) -> u64 {
        self.layout.size - self.position
    }

    /// Moves to `position`, or to the end if it lies beyond.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.layout.size);
    }

    /// Contiguous pieces in the whole stream, saturating.
    pub fn run_count(&self) -> u64 {
        self.layout.runs
    }

    /// Mean length in bytes of a contiguous piece; 0 for an empty stream.
    pub fn mean_run(&self) -> u64 {
        self.layout.size.checked_div(self.layout.runs).unwrap_or(0)
    }

    /// Bytes from the lowest to behind the highest that the stream stands for.
    pub fn span(&self) -> u64 {
        self.layout.hi.wrapping_sub(self.layout.lo) as u64
    }

    /// The addresses from the lowest byte that the stream stands for to behind the highest.
    pub fn bounds(&self) -> Range<usize> {
        let at = |disp: i64| self.base.wrapping_add_signed(disp as isize);
        at(self.layout.lo)..at(self.layout.hi)
    }

    /// The address of the stream's first byte, if the whole stream is one contiguous piece.
    pub fn contiguous(&self) -> Option<*mut u8> {
        match self.layout.shape {
            Shape::Run => Some(pointer(self.base.wrapping_add_signed(self.layout.offset as isize))),
            _ => None,
        }
    }

    /// Copies from the user buffer to `out`, at most `cap` bytes; returns how many and moves the position.
    ///
    /// # Safety
    ///
    /// `out` must be valid for writes of `cap` bytes and not overlap the user buffer. It may be memory shared with
    /// other processes: it is only written, by plain copies.
    pub unsafe fn pack(&mut self, out: *mut u8, cap: usize) -> usize {
        // SAFETY: the caller of `new` vouches for the user buffer, ours for `out`.
        unsafe { self.transfer::<true>(out, cap) }
    }

    /// Copies from `src` to the user buffer, at most `len` bytes; returns how many and moves the position.
    ///
    /// # Safety
    ///
    /// `src` must be valid for reads of `len` bytes and not overlap the user buffer. It may be memory shared with other
    /// processes: its bytes are only copied, never interpreted.
    pub unsafe fn unpack(&mut self, src: *const u8, len: usize) -> usize {
        // SAFETY: as in `pack`; an unpacking packer only reads from the stream side.
        unsafe { self.transfer::<false>(src.cast_mut(), len) }
    }

    #[inline]
    unsafe fn transfer<const PACK: bool>(&mut self, stream: *mut u8, len: usize) -> usize {
        let end = self.layout.size.min(self.position.saturating_add(len as u64));
        let moved = (end - self.position) as usize;
        // SAFETY: the walk hands the packer exactly `moved` bytes, all of them in the type map; see the callers.
        let mut packer = unsafe { Packer::<PACK>::new(stream, &self.layout, end == self.layout.size) };
        walk(&self.layout, self.base, self.position, end, &mut packer);
        self.position = end;
        moved
    }

    /// Fills `runs` with the contiguous pieces from the current position on, at most `limit` bytes in all; returns how
    /// many were filled and moves past them. 0 means the end (or nothing asked for). Pieces that happen to touch in memory
    /// may be given separately.
    pub fn next_runs(&mut self, runs: &mut [Run], limit: usize) -> usize {
        let end = self.layout.size.min(self.position.saturating_add(limit as u64));
        let mut list = RunFiller { runs, filled: 0, bytes: 0 };
        walk(&self.layout, self.base, self.position, end, &mut list);
        self.position += list.bytes;
        list.filled
    }
}

/// Copies the bytes of `count` items of `datatype` at `base` to `out`, in pack order: [`Convertor::pack`] at a stroke.
///
/// Errors: `MPI_ERR_ARG` if the items' displacements or size exceed 63 bits; nothing was copied.
///
/// # Safety
///
/// All bytes that the type map names from `base` on must be readable, and `out` writable for as many. The two must not
/// overlap.
pub unsafe fn pack(datatype: &Datatype, count: u64, base: *mut u8, out: *mut u8) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { transfer_all::<true>(datatype, count, base, out) }
}

/// The way back: [`Convertor::unpack`] at a stroke.
///
/// Errors: as [`pack`].
///
/// # Safety
///
/// All bytes that the type map names from `base` on must be writable, and `src` readable for as many. The two must not
/// overlap.
pub unsafe fn unpack(datatype: &Datatype, count: u64, base: *mut u8, src: *const u8) -> Result<()> {
    // SAFETY: the caller's promise; an unpacking packer only reads from the stream side.
    unsafe { transfer_all::<false>(datatype, count, base, src.cast_mut()) }
}

unsafe fn transfer_all<const PACK: bool>(
    datatype: &Datatype,
    count: u64,
    base: *mut u8,
    stream: *mut u8,
) -> Result<()> {
    let run = |layout: &Layout| {
        // SAFETY: the walk hands the packer all bytes of the type map once; see the callers.
        let mut packer = unsafe { Packer::<PACK>::new(stream, layout, true) };
        walk(layout, base.expose_provenance(), 0, layout.size, &mut packer);
    };
    match count {
        1 => run(datatype.layout()),
        _ => run(&datatype.layout().repeated(count, datatype.extent())?),
    }
    Ok(())
}

/// Moves bytes from the stream of `from` to that of `to`, both at their current positions, until either ends.
/// Returns how many. One of them being contiguous, the bytes are copied once.
///
/// # Safety
///
/// The two buffers must not overlap, and both must satisfy the promise made to [`Convertor::new`].
pub unsafe fn transfer(from: &mut Convertor, to: &mut Convertor) -> u64 {
    let len = from.remaining().min(to.remaining());
    if let Some(start) = to.contiguous() {
        // SAFETY: `start + position` up to `len` more lies in the destination buffer; the caller vouches for the rest.
        unsafe { from.pack(start.wrapping_add(to.position as usize), len as usize) };
        to.seek(to.position + len);
    } else if let Some(start) = from.contiguous() {
        // SAFETY: as above, for the source buffer.
        unsafe { to.unpack(start.wrapping_add(from.position as usize), len as usize) };
        from.seek(from.position + len);
    } else {
        // Fits the first-level cache with room for the data passing by.
        let mut buffer = [0u8; 8192];
        let mut left = len;
        while left > 0 {
            let step = left.min(buffer.len() as u64) as usize;
            // SAFETY: the buffer is local and at least `step` long; the caller vouches for the user buffers.
            unsafe {
                from.pack(buffer.as_mut_ptr(), step);
                to.unpack(buffer.as_ptr(), step);
            }
            left -= step as u64;
        }
    }
    len
}

pub(crate) fn pointer(addr: usize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(addr)
}

struct RunFiller<'a> {
    runs: &'a mut [Run],
    filled: usize,
    bytes: u64,
}

impl Sink for RunFiller<'_> {
    fn run(&mut self, addr: usize, len: u64) -> bool {
        if let Some(last) = self.filled.checked_sub(1).map(|i| &mut self.runs[i])
            && last.addr.addr().wrapping_add(last.len) == addr
        {
            last.len += len as usize;
            self.bytes += len;
            return true;
        }
        let Some(run) = self.runs.get_mut(self.filled) else { return false };
        *run = Run { addr: pointer(addr), len: len as usize };
        self.filled += 1;
        self.bytes += len;
        true
    }
}
