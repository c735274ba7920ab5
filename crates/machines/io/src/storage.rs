//! What a driver does, and the loops that make whole transfers of what a system call moves.

use std::io;
use std::ops::Range;

use mem::{PeerBytes, PeerSpace};

use crate::plan::Cover;

/// A file that bytes are written to, by positions. All calls may come from several threads at once.
///
/// What writes has no way to read. So it cannot write back what it has read, and undo what other openings of the file
/// write meanwhile between its bytes: accesses without a common byte do not conflict (MPI-5.0 section 14.6.1), and no
/// lock keeps those apart that take none.
pub trait Sink {
    /// Writes at most all of `from` to byte `at` and those behind.
    ///
    /// # Errors
    /// The system's, interruptions included.
    fn write(&self, from: PeerBytes<'_>, at: u64) -> io::Result<usize>;

    /// Writes at most all of some pieces of memory, one behind the other, to byte `at` and those behind.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn write_pieces(&self, from: &[PeerBytes<'_>], at: u64) -> io::Result<usize> {
        from.first().map_or(Ok(0), |&first| self.write(first, at))
    }

    /// Writes the bytes of a window that `cover` has to their places, the window's first one at byte `at`.
    ///
    /// # Errors
    /// As [`Sink::write`], but for interruptions; which bytes were written is not known then.
    fn write_covered(&self, window: &[u8], cover: &Cover, at: u64) -> io::Result<()> {
        write_runs(self, window, cover, at)
    }

    /// Waits for a lock on a range of bytes that excludes the locks of other processes, and of other threads of this one.
    ///
    /// # Errors
    /// The system's; a file system without locks.
    fn lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()>;

    /// Gives a lock back.
    ///
    /// # Errors
    /// The system's errors.
    fn unlock(&self, range: Range<u64>) -> io::Result<()>;
}

/// A file that is read, too.
pub trait Storage: Sink {
    /// Reads at most as much as there is room for, from byte `at` on; 0 at the end of the file.
    ///
    /// # Errors
    /// The system's, interruptions included.
    fn read(&self, into: PeerSpace<'_>, at: u64) -> io::Result<usize>;
}

/// What came of a transfer: bytes that were moved, and why not all.
#[derive(Debug, Default)]
pub struct Moved {
    /// From the first on, without a gap.
    pub bytes: u64,
    /// `None`: everything, or the end of the file.
    pub error: Option<io::Error>,
}

/// Reads until there is no room or the file ends.
pub fn read_fully(storage: &dyn Storage, into: &PeerSpace<'_>, at: u64) -> Moved {
    let mut done = 0;
    while done < into.len() {
        match storage.read(part_of(into, done), at + done as u64) {
            Ok(0) => break,
            Ok(moved) => done += moved.min(into.len() - done),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Moved { bytes: done as u64, error: Some(error) },
        }
    }
    Moved { bytes: done as u64, error: None }
}

/// Writes all.
pub(crate) fn write_fully<S: Sink + ?Sized>(storage: &S, from: PeerBytes<'_>, at: u64) -> Moved {
    let mut done = 0;
    while done < from.len() {
        match storage.write(from.part(done, from.len()), at + done as u64) {
            // No error and no byte: a disk that is full, as far as POSIX defines it.
            Ok(0) => {
                let error = Some(io::Error::from(io::ErrorKind::StorageFull));
                return Moved { bytes: done as u64, error };
            }
            Ok(moved) => done += moved.min(from.len() - done),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Moved { bytes: done as u64, error: Some(error) },
        }
    }
    Moved { bytes: done as u64, error: None }
}

/// Writes the runs of a window by a call each, as [`Sink::write_covered`] requires.
pub fn write_runs<S: Sink + ?Sized>(storage: &S, window: &[u8], cover: &Cover, at: u64) -> io::Result<()> {
    cover.runs().try_for_each(|run| {
        let place = at + run.start as u64;
        write_fully(storage, PeerBytes::of(&window[run]), place).error.map_or(Ok(()), Err)
    })
}

/// Writes all of some pieces of memory, none of them empty, one behind the other. They are used up.
pub fn write_pieces_fully(storage: &dyn Sink, mut from: &mut [PeerBytes<'_>], at: u64) -> Moved {
    let mut done = 0;
    while !from.is_empty() {
        match storage.write_pieces(from, at + done) {
            Ok(0) => {
                let error = Some(io::Error::from(io::ErrorKind::StorageFull));
                return Moved { bytes: done, error };
            }
            Ok(moved) => {
                done += moved as u64;
                from = behind(from, moved);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Moved { bytes: done, error: Some(error) },
        }
    }
    Moved { bytes: done, error: None }
}

/// The pieces without their first `bytes` bytes.
fn behind<'a, 'b>(pieces: &'a mut [PeerBytes<'b>], mut bytes: usize) -> &'a mut [PeerBytes<'b>] {
    let mut whole = 0;
    while whole < pieces.len() && pieces[whole].len() <= bytes {
        bytes -= pieces[whole].len();
        whole += 1;
    }
    let rest = &mut pieces[whole..];
    if let Some(first) = rest.first_mut() {
        *first = first.part(bytes, first.len());
    }
    rest
}

/// The room from byte `from` on.
fn part_of<'a>(space: &'a PeerSpace<'_>, from: usize) -> PeerSpace<'a> {
    space.part(from, space.len())
}
