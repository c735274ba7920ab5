//! The shared memory of a node: one anonymous file per node and job.
//!
//! Nothing to clean up, no `/dev/shm` limit, no name anybody could guess. The order of steps matters:
//! pages are allocated before anyone maps the file (a missing page would be a SIGBUS later), and the file
//! is sealed before it is handed out, so that no rank can shrink it under the others.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes allocated per system call: small enough that the creator can look at other things in between.
const STEP: u64 = 8 << 20;

/// A memfd of known size. The descriptor is close-on-exec.
#[derive(Debug)]
pub struct Segment {
    /// The file.
    pub fd: OwnedFd,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Segment {
    /// A new file of zero size; [`Segment::allocate_step`] gives it its `bytes`.
    pub fn create(bytes: u64) -> io::Result<Segment> {
        // SAFETY: the name is a NUL-terminated literal.
        let fd = unsafe {
            libc::memfd_create(c"alhena-segment".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above returned a new descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Segment { fd, bytes })
    }

    /// Allocates the pages from byte `from` on, a few MiB at most. Returns where the next step begins;
    /// the file is complete when that is [`Segment::bytes`].
    pub fn allocate_step(&self, from: u64) -> io::Result<u64> {
        let length = STEP.min(self.bytes - from);
        let (offset, length) = (from as libc::off_t, length as libc::off_t);
        // SAFETY: plain numbers and an open descriptor.
        if length > 0 && unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, offset, length) } != 0 {
            return match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => Ok(from),
                e => Err(e),
            };
        }
        Ok(from + length as u64)
    }

    /// Allocates all pages and seals the file.
    pub fn allocate(&self) -> io::Result<()> {
        let mut done = 0;
        while done < self.bytes {
            done = self.allocate_step(done)?;
        }
        self.seal()
    }

    /// Forbids for good to change the size or the seals.
    pub fn seal(&self) -> io::Result<()> {
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: plain numbers and an open descriptor.
        match unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_sealed_segment_has_its_pages_and_keeps_its_size() {
        let segment = Segment::create(20 << 20).unwrap();
        segment.allocate().unwrap();
        let file = File::from(segment.fd.try_clone().unwrap());
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), 20 << 20);
        assert!(std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 >= 20 << 20);
        assert!(file.set_len(4096).is_err());
        assert!(file.set_len(40 << 20).is_err());
        assert!(segment.seal().is_err());
    }
}
