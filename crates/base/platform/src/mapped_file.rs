//! Short pieces of memory written into a file by its pages, many by one system call.
//!
//! ```text
//!   pieces ── writev(2) ──► pipe ── readv(2) ──► pages of the file
//! ```
//! A store into a mapped page changes its own bytes alone, so what others write beside them stays. Stores by the process
//! itself would end it by a signal where the file was cut or the device is full; those of a system call fail.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::file::PIECES;
use crate::tcp::Piece;

/// Bytes that a pipe takes without a reader (pipe(7)); one that takes less, as for a user with many, refuses.
const PIPE: usize = 64 << 10;
/// A multiple of all sizes of pages.
const PAGES: u64 = 64 << 10;

/// A range of a file that is mapped to be written.
#[derive(Debug)]
pub struct MappedFile {
    address: usize,
    len: usize,
    /// Where the mapping begins in the file.
    start: u64,
    reader: OwnedFd,
    writer: OwnedFd,
}

impl MappedFile {
    /// Maps a range of a file that is open for reading and writing. Only what lies before the end of the file can be written.
    ///
    /// # Errors
    /// The system's: a file that cannot be mapped, no descriptors.
    pub fn new(file: &File, range: &Range<u64>) -> io::Result<MappedFile> {
        let start = range.start - range.start % PAGES;
        let len = usize::try_from(range.end - start).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let at = i64::try_from(start).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        let (reader, writer) = pipe()?;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is there.
        let address = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                at,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(MappedFile { address: address as usize, len, start, reader, writer })
    }

    /// Writes pieces of memory to their places in the file.
    ///
    /// # Errors
    /// The system's, and a piece that is too long; some pieces may have been written. Nothing more can be then.
    ///
    /// # Safety
    /// Each piece is readable.
    pub unsafe fn write(&mut self, pieces: impl Iterator<Item = (Piece, u64)>) -> io::Result<()> {
        let (mut from, mut into, mut bytes) = (Vec::with_capacity(PIECES), Vec::with_capacity(PIECES), 0);
        for (piece, place) in pieces {
            let offset = place.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
            let offset = offset.filter(|&offset| {
                offset.checked_add(piece.len()).is_some_and(|end| end <= self.len && piece.len() <= PIPE)
            });
            let Some(offset) = offset else { return Err(io::ErrorKind::InvalidInput.into()) };
            if from.len() == PIECES || bytes + piece.len() > PIPE {
                // SAFETY: the caller's promise for the pieces; their places lie in the mapping.
                unsafe { self.through_pipe(&from, &into, bytes) }?;
                from.clear();
                into.clear();
                bytes = 0;
            }
            bytes += piece.len();
            from.push(piece);
            into.push(Piece::new(self.address + offset, piece.len()));
        }
        // SAFETY: as above.
        if from.is_empty() { Ok(()) } else { unsafe { self.through_pipe(&from, &into, bytes) } }
    }

    /// Moves `bytes` bytes, which the empty pipe takes at once, from pieces to places of the same lengths.
    ///
    /// # Safety
    /// The pieces are readable, and the places are in the mapping.
    unsafe fn through_pipe(&self, from: &[Piece], into: &[Piece], bytes: usize) -> io::Result<()> {
        let moved = |count: isize| match usize::try_from(count) {
            Ok(count) if count == bytes => Ok(()),
            // The page of a place is missing, or memory for the pipe.
            Ok(_) => Err(io::Error::from(io::ErrorKind::WriteZero)),
            Err(_) => Err(io::Error::last_os_error()),
        };
        let count = from.len() as libc::c_int;
        // SAFETY: pieces have an iovec's layout, and there are so many; the rest is the caller's promise.
        moved(unsafe { libc::writev(self.writer.as_raw_fd(), from.as_ptr().cast(), count) })?;
        // SAFETY: as above; the kernel checks whether it can write to the places.
        moved(unsafe { libc::readv(self.reader.as_raw_fd(), into.as_ptr().cast(), count) })
    }
}

/// A pipe on which nothing waits.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are new and this process's own.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: our mapping, to which no reference is given out.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn pieces<'a>(bytes: &'a [u8], places: &'a [u64], len: usize) -> impl Iterator<Item = (Piece, u64)> + 'a {
        let piece = move |at: usize| Piece::new(bytes[at..at + len].as_ptr() as usize, len);
        places.iter().enumerate().map(move |(index, &place)| (piece(index * len), place))
    }

    #[test]
    fn pieces_change_their_own_bytes_alone() {
        let file = crate::file::unnamed(&std::env::temp_dir()).unwrap();
        file.write_all_at(&[1; 100_000], 0).unwrap();
        // More pieces than one call takes, and more bytes than a pipe does.
        for (len, count) in [(3, 5000), (40, 2400)] {
            let bytes = vec![2; len * count];
            let places: Vec<u64> = (0..count).map(|index| (index * (len + 1)) as u64 + 7).collect();
            let range = 7..places[count - 1] + len as u64;
            let mut mapped = MappedFile::new(&file, &range).unwrap();
            // SAFETY: parts of a vector that lives on.
            unsafe { mapped.write(pieces(&bytes, &places, len)) }.unwrap();
            let mut there = vec![0; 100_000];
            file.read_exact_at(&mut there, 0).unwrap();
            let given = |at: usize| at >= 7 && (at - 7) % (len + 1) < len && (at - 7) / (len + 1) < count;
            assert!(there.iter().enumerate().all(|(at, &byte)| byte == if given(at) { 2 } else { 1 }));
            file.write_all_at(&[1; 100_000], 0).unwrap();
        }
    }

    #[test]
    fn what_has_no_page_is_an_error_and_no_signal() {
        let file = crate::file::unnamed(&std::env::temp_dir()).unwrap();
        file.set_len(10).unwrap();
        let mut mapped = MappedFile::new(&file, &(0..1 << 20)).unwrap();
        let bytes = [5; 4];
        // SAFETY: parts of an array that lives on.
        let mut write = |place| unsafe { mapped.write(pieces(&bytes, &[place], 4)) };
        assert!(write(3).is_ok());
        assert!(write(1 << 19).is_err());
        assert!(write(1 << 21).is_err(), "outside of what is mapped");
    }
}
