//! What a driver does, and the loops that make whole transfers of what a system call moves.

use std::io;
use std::ops::Range;

use mem::{PeerBytes, PeerSpace};

/// A file, by positions. All calls may come from several threads at once.
pub trait Storage {
    /// Reads at most as much as there is room for, from byte `at` on; 0 at the end of the file.
    ///
    /// # Errors
    /// The system's, interruptions included.
    fn read(&self, into: PeerSpace<'_>, at: u64) -> io::Result<usize>;

    /// Writes at most all of `from` to byte `at` and those behind.
    ///
    /// # Errors
    /// The system's, interruptions included.
    fn write(&self, from: PeerBytes<'_>, at: u64) -> io::Result<usize>;

    /// Waits for a lock on a range of bytes that excludes the locks of other processes.
    ///
    /// # Errors
    /// The system's; a file system without locks.
    fn lock(&self, range: Range<u64>, exclusive: bool) -> io::Result<()>;

    /// Gives a lock back.
    ///
    /// # Errors
    /// The system's.
    fn unlock(&self, range: Range<u64>) -> io::Result<()>;
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
pub fn write_fully(storage: &dyn Storage, from: PeerBytes<'_>, at: u64) -> Moved {
    let mut done = 0;
    while done < from.len() {
        match storage.write(from.part(done, from.len()), at + done as u64) {
            // No error and no byte: a disk that is full, as far as POSIX says anything.
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

/// The room from byte `from` on.
fn part_of<'a>(space: &'a PeerSpace<'_>, from: usize) -> PeerSpace<'a> {
    space.part(from, space.len())
}
