//! Staged data in a file of a local path: a ring that entries enter and leave in order.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file without a name, of a fixed length, which goes with the process.
#[derive(Debug)]
pub struct Log {
    file: File,
    len: u64,
}

impl Log {
    /// A log in a folder, for at most `len` bytes at a time.
    ///
    /// # Errors
    /// The system's: the folder is missing, or nothing may be written there.
    pub fn create(folder: &Path, len: u64) -> io::Result<Log> {
        Ok(Log { file: platform::file::unnamed(folder)?, len: len.max(1) })
    }

    /// Writes the bytes that a count of bytes comes before.
    ///
    /// # Errors
    /// The system's: the folder's file system is full.
    pub(crate) fn write(&self, count: u64, bytes: &[u8]) -> io::Result<()> {
        let at = count % self.len;
        let (first, wrapped) = bytes.split_at(bytes.len().min((self.len - at) as usize));
        self.file.write_all_at(first, at)?;
        self.file.write_all_at(wrapped, 0)
    }

    /// Reads what was written at a range of counts.
    ///
    /// # Errors
    /// The system's errors.
    pub(crate) fn read(&self, counts: Range<u64>) -> io::Result<Vec<u8>> {
        let (at, len) = (counts.start % self.len, (counts.end - counts.start) as usize);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len)?;
        bytes.resize(len, 0);
        let (first, wrapped) = bytes.split_at_mut(len.min((self.len - at) as usize));
        self.file.read_exact_at(first, at)?;
        self.file.read_exact_at(wrapped, 0)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Log;

    #[test]
    fn a_log_goes_round_and_leaves_no_name() {
        let folder = std::env::temp_dir().join(format!("alhena-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = Log::create(&folder, 10).unwrap();
        log.write(0, b"abcdef").unwrap();
        log.write(6, b"ghijkl").unwrap();
        assert_eq!(log.read(6..12).unwrap(), b"ghijkl");
        assert_eq!(log.read(2..6).unwrap(), b"cdef");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
        assert!(Log::create(&folder, 10).is_err());
    }
}
