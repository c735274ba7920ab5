//! Memory that processes share: anonymous files of fixed size.
//!
//! Nothing to clean up, no `/dev/shm` limit, no name anybody could guess. The order of steps matters:
//! pages are allocated before anyone maps the file (a missing page would be a SIGBUS later), and the file
//! is sealed before it is handed out, so that no process can shrink it under the others. A process that gets such a
//! file from another one checks both ([`MemoryFile::adopt`]).

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crate::memory;

/// Bytes allocated per system call: small enough that the creator can look at other things in between.
const STEP: u64 = 8 << 20;

/// Bytes after which the system is asked anew how much memory it has.
const ASK_AFTER: u64 = 256 << 20;
/// One part in so many of the system's memory is left to others.
const RESERVE: u64 = 16;

/// A memfd of known size. The descriptor is close-on-exec.
#[derive(Debug)]
pub struct MemoryFile {
    /// The file.
    pub fd: OwnedFd,
    /// Its size in bytes.
    pub bytes: u64,
}

impl MemoryFile {
    /// A new file of zero size; [`MemoryFile::allocate_step`] gives it its `bytes`.
    ///
    /// # Errors
    /// The system's.
    pub fn create(bytes: u64) -> io::Result<MemoryFile> {
        // SAFETY: the name is a NUL-terminated literal.
        let fd = unsafe {
            libc::memfd_create(c"alhena-segment".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above returned a new descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(MemoryFile { fd, bytes })
    }

    /// Allocates the pages from byte `from` on, a few MiB at most. Returns where the next step begins;
    /// the file is complete when that is [`MemoryFile::bytes`].
    ///
    /// # Errors
    /// The system's: no memory, or the user's quota.
    pub fn allocate_step(&self, from: u64) -> io::Result<u64> {
        let length = STEP.min(self.bytes - from);
        let (offset, length) = (from as libc::off_t, length as libc::off_t);
        // SAFETY: plain numbers and an open descriptor.
        if length > 0 && unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, offset, length) } != 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => return Ok(from),
                // Writing allocates pages as well, only slower.
                Some(libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP) => {
                    self.write(from, &vec![0; length as usize])?
                }
                _ => return Err(error),
            }
        }
        Ok(from + length as u64)
    }

    /// Allocates all pages and seals the file. The system would rather end processes than refuse pages, so it is asked
    /// for what it has before each few hundred MiB.
    ///
    /// # Errors
    /// As [`MemoryFile::allocate_step`], and `OutOfMemory` if the system has less than is left to allocate.
    pub fn allocate(&self) -> io::Result<()> {
        let (mut done, mut asked_at) = (0, 0);
        while done < self.bytes {
            let left = self.bytes - done;
            if done >= asked_at && left > STEP / 8 {
                if memory::available().is_some_and(|available| left > available - available / RESERVE) {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                asked_at = done + ASK_AFTER;
            }
            done = self.allocate_step(done)?;
        }
        self.seal()
    }

    /// Fills `into` with the bytes from `at` on, without mapping the file.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof`: the file is shorter.
    pub fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file().read_exact_at(into, at)
    }

    /// Writes `bytes` from `at` on, without mapping the file.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file().write_all_at(bytes, at)
    }

    /// The descriptor as the standard library's file, which must not close it.
    fn file(&self) -> ManuallyDrop<File> {
        // SAFETY: the descriptor is open as long as `self`, which the result does not outlive here, and nobody closes it.
        ManuallyDrop::new(unsafe { File::from_raw_fd(self.fd.as_raw_fd()) })
    }

    /// Forbids for good to change the size or the seals.
    ///
    /// # Errors
    /// The system's.
    pub fn seal(&self) -> io::Result<()> {
        // SAFETY: plain numbers and an open descriptor.
        match unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The file behind a descriptor that another process gave, if its size can change no more; its size is read, not
    /// believed.
    ///
    /// # Errors
    /// `InvalidData`: it is no memory file, or not sealed. Else the system's.
    pub fn adopt(fd: OwnedFd) -> io::Result<MemoryFile> {
        // SAFETY: an open descriptor.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no memory file"));
        }
        if seals & SEALS != SEALS {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its size could change"));
        }
        // SAFETY: `stat` is plain data that the call fills.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: an open descriptor and a valid place for the answer.
        if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(MemoryFile { fd, bytes: stat.st_size as u64 })
    }
}

/// Size and seals stay as they are.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_segment_has_its_pages_and_keeps_its_size() {
        let segment = MemoryFile::create(20 << 20).unwrap();
        segment.allocate().unwrap();
        let file = File::from(segment.fd.try_clone().unwrap());
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 20 << 20);
        assert!(std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 >= 20 << 20);
        assert!(file.set_len(4096).is_err());
        assert!(file.set_len(40 << 20).is_err());
        assert!(segment.seal().is_err());
        segment.write(4096, b"here").unwrap();
        let mut bytes = [0; 5];
        segment.read(4095, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\0here");
        assert!(segment.read((20 << 20) - 4, &mut bytes).is_err());
        assert_eq!(MemoryFile::adopt(segment.fd).unwrap().bytes, 20 << 20);
    }

    #[test]
    fn only_sealed_memory_is_adopted() {
        let open = MemoryFile::create(4096).unwrap();
        open.allocate_step(0).unwrap();
        assert_eq!(MemoryFile::adopt(open.fd).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let no_memory = OwnedFd::from(File::open("/proc/self/exe").unwrap());
        assert_eq!(MemoryFile::adopt(no_memory).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
