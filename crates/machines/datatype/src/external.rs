//! The portable data representation "external32" (MPI-5.0 section 15.5.2): `MPI_Pack_external` and file views.
//!
//! Big-endian, packed without holes, with the lengths of [`Basic::external_size`]. The signature of a type lists its
//! basic elements in the same order as a convertor yields their bytes, so conversion never looks at displacements:
//!
//! ```text
//!   user buffer ──convertor──> native bytes ──codec of each run of equal basics──> external bytes
//! ```

use crate::basic::Basic;
use crate::codec;
use crate::convertor::Convertor;
use crate::datatype::{Datatype, total_size};
use crate::layout::OVERFLOW;
use crate::signature::Signature;
use abi::{Error, Result};

/// Bytes of each of the two working buffers; several times the largest element.
const BUFFER: usize = 4096;

/// Bytes that `count` items take in external32: `MPI_Pack_external_size`.
///
/// Errors: `MPI_ERR_ARG` on overflow.
pub fn external_size(datatype: &Datatype, count: u64) -> Result<u64> {
    let one = datatype.signature().weighted_sum(&Basic::external_size).ok_or(OVERFLOW)?;
    total_size(one, count)
}

/// Converts `count` items at `base` to external32 at `out`, which has room for `cap` bytes. Returns the bytes written.
///
/// Errors: `MPI_ERR_TRUNCATE` if the room does not suffice (nothing is written then); `MPI_ERR_CONVERSION` if a value
/// does not fit its external type, as an `MPI_LONG` beyond 32 bits.
///
/// # Safety
///
/// The promises of [`Convertor::new`] for reading and of [`Convertor::pack`] for `out` and `cap`.
pub unsafe fn pack_external(
    datatype: &Datatype,
    count: u64,
    base: *const u8,
    out: *mut u8,
    cap: u64,
) -> Result<u64> {
    let size = external_size(datatype, count)?;
    if size > cap {
        return Err(NO_ROOM);
    }
    // SAFETY: the caller's promise; the convertor is only packed from.
    let mut items = unsafe { Convertor::new(datatype, count, base.cast_mut())? };
    let mut native = Reader::new(|buffer: &mut [u8]| {
        // SAFETY: the buffer is as long as it is.
        unsafe { items.pack(buffer.as_mut_ptr(), buffer.len()) }
    });
    let mut written = 0;
    let mut external = Writer::new(|bytes: &[u8]| {
        // SAFETY: all that is written amounts to `size` bytes, for which there is room.
        unsafe { out.add(written).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        written += bytes.len();
    });
    convert(&datatype.shared_signature().repeated(count)?, |basic, n| {
        let from = native.take(n * basic.size() as usize);
        codec::encode(basic, from, external.give(n * basic.external_size() as usize))
    })?;
    external.flush();
    Ok(size)
}

/// Converts `count` items from the external32 bytes at `src`, of which there are `len`, to the user buffer at `base`.
/// Returns the bytes consumed.
///
/// Errors: `MPI_ERR_TRUNCATE` if there are fewer bytes than the items take (nothing is written then).
///
/// # Safety
///
/// The promises of [`Convertor::new`] for writing and of [`Convertor::unpack`] for `src` and `len`.
pub unsafe fn unpack_external(
    src: *const u8,
    len: u64,
    datatype: &Datatype,
    count: u64,
    base: *mut u8,
) -> Result<u64> {
    if external_size(datatype, count)? > len {
        return Err(NO_DATA);
    }
    // SAFETY: the caller's promise.
    unsafe { unpack_external_part(src, len, datatype, count, base) }.map(|(consumed, _)| consumed)
}

/// As [`unpack_external`], where the bytes may end before the items do: as many whole basic elements are converted as
/// there are. Returns the bytes consumed and those that they are in memory.
///
/// Errors: `MPI_ERR_ARG` on overflow.
///
/// # Safety
///
/// As [`unpack_external`].
pub unsafe fn unpack_external_part(
    src: *const u8,
    len: u64,
    datatype: &Datatype,
    count: u64,
    base: *mut u8,
) -> Result<(u64, u64)> {
    let size = external_size(datatype, count)?.min(len);
    let mut done = 0;
    let mut external = Reader::new(|buffer: &mut [u8]| {
        let step = buffer.len().min(size as usize - done);
        // SAFETY: `done + step` is at most `size`, which is at most `len`.
        unsafe { buffer.as_mut_ptr().copy_from_nonoverlapping(src.add(done), step) };
        done += step;
        step
    });
    // SAFETY: the caller's promise.
    let mut items = unsafe { Convertor::new(datatype, count, base)? };
    let mut native = Writer::new(|bytes: &[u8]| {
        // SAFETY: the bytes are as many as they are.
        unsafe { items.unpack(bytes.as_ptr(), bytes.len()) };
    });
    let (mut consumed, mut converted) = (0, 0);
    let whole = convert(&datatype.shared_signature().repeated(count)?, |basic, asked| {
        let n = (asked as u64).min((size - consumed) / basic.external_size());
        let from = external.take(n as usize * basic.external_size() as usize);
        codec::decode(basic, from, native.give(n as usize * basic.size() as usize));
        consumed += n * basic.external_size();
        converted += n * basic.size();
        if n < asked as u64 { Err(NO_DATA) } else { Ok(()) }
    });
    debug_assert!(whole.is_ok() || consumed + 32 > size, "the end of the bytes is the only reason to stop");
    native.flush();
    Ok((consumed, converted))
}

/// Calls `step` for the elements of a signature in order, a few equal ones at a time.
fn convert(signature: &Signature, mut step: impl FnMut(Basic, usize) -> Result<()>) -> Result<()> {
    let mut result = Ok(());
    signature.for_each_run(&mut |basic, mut left| {
        let most = BUFFER as u64 / basic.size().max(basic.external_size());
        while left > 0 && result.is_ok() {
            let n = left.min(most);
            result = step(basic, n as usize);
            left -= n;
        }
        result.is_ok()
    });
    result
}

/// A buffer in front of a source of bytes.
struct Reader<F> {
    fill: F,
    buffer: [u8; BUFFER],
    begin: usize,
    end: usize,
}

impl<F: FnMut(&mut [u8]) -> usize> Reader<F> {
    fn new(fill: F) -> Self {
        Reader { fill, buffer: [0; BUFFER], begin: 0, end: 0 }
    }

    /// The next `n` bytes, at most [`BUFFER`], which the source must have.
    fn take(&mut self, n: usize) -> &[u8] {
        if self.end - self.begin < n {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            self.end += (self.fill)(&mut self.buffer[self.end..]);
        }
        self.begin += n;
        &self.buffer[self.begin - n..self.begin]
    }
}

/// A buffer in front of a sink of bytes.
struct Writer<F> {
    drain: F,
    buffer: [u8; BUFFER],
    end: usize,
}

impl<F: FnMut(&[u8])> Writer<F> {
    fn new(drain: F) -> Self {
        Writer { drain, buffer: [0; BUFFER], end: 0 }
    }

    /// Room for the next `n` bytes, at most [`BUFFER`].
    fn give(&mut self, n: usize) -> &mut [u8] {
        if self.end + n > BUFFER {
            self.flush();
        }
        self.end += n;
        &mut self.buffer[self.end - n..self.end]
    }

    fn flush(&mut self) {
        (self.drain)(&self.buffer[..self.end]);
        self.end = 0;
    }
}

const NO_ROOM: Error = Error::new(abi::ERR_TRUNCATE, "the pack buffer is too small for the external32 data");
const NO_DATA: Error = Error::new(abi::ERR_TRUNCATE, "the pack buffer ends before the external32 data do");
