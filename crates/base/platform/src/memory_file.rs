//! Memory that processes share: anonymous files of fixed size.
//!
//! Nothing to clean up, no `/dev/shm` limit, no name to guess. The order of steps matters:
//! pages are allocated before a process maps the file (a missing page would be a SIGBUS later), and the file
//! is sealed before it is handed out, so that no process can shrink it under the others. A process that gets such a
//! file from another one checks both ([`MemoryFile::adopt`]).
//!
//! A file may be longer than what is allocated of it ([`MemoryFile::leave_room`]): processes that all have it get memory
//! that they share out of the rest, part by part, and no process needs a descriptor of another one for that.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crate::memory;

/// Bytes allocated per system call: small enough that the creator can look at other things in between.
const STEP: u64 = 8 << 20;

/// Bytes after which the system is asked anew how much memory it has.
const ASK_AFTER: u64 = 256 << 20;
/// One part in so many of the system's memory is left to others.
const RESERVE: u64 = 16;

/// Lengths of a file with room, in bytes, the one that is tried first first. Parts of the first are used once and no
/// more: no system allocates so many bytes.
const ROOMS: [u64; 4] = [1 << 62, 1 << 54, 1 << 46, 1 << 40];

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
    /// The system's error.
    pub fn create(bytes: u64) -> io::Result<MemoryFile> {
        // SAFETY: the name is a NUL-terminated literal.
        let fd = unsafe {
            libc::memfd_create(c"alhena-segment".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above returned a new descriptor, which has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(MemoryFile { fd, bytes })
    }

    /// Allocates the pages from byte `from` on, a few MiB at most. Returns where the next step begins;
    /// the file is complete when that is [`MemoryFile::bytes`].
    ///
    /// # Errors
    /// The system's: no memory, or the user's quota.
    pub fn allocate_step(&self, from: u64) -> io::Result<u64> {
        self.step(from, self.bytes)
    }

    fn step(&self, from: u64, end: u64) -> io::Result<u64> {
        let length = STEP.min(end - from);
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
        self.allocate_pages(0..self.bytes)?;
        self.seal()
    }

    /// As [`MemoryFile::allocate`], with room behind the pages ([`MemoryFile::leave_room`]).
    ///
    /// # Errors
    /// As [`MemoryFile::allocate`].
    pub fn allocate_with_room(&self) -> io::Result<()> {
        self.allocate_pages(0..self.bytes)?;
        self.leave_room();
        self.seal()
    }

    fn allocate_pages(&self, part: Range<u64>) -> io::Result<()> {
        let (mut done, mut asked_at) = (part.start, part.start);
        while done < part.end {
            let left = part.end - done;
            if done >= asked_at && left > STEP / 8 {
                if memory::available().is_some_and(|available| left > available - available / RESERVE) {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                asked_at = done + ASK_AFTER;
            }
            done = self.step(done, part.end)?;
        }
        Ok(())
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
    /// The system's error.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file().write_all_at(bytes, at)
    }

    /// The descriptor as the standard library's file, which must not close it.
    fn file(&self) -> ManuallyDrop<File> {
        // SAFETY: the descriptor is open as long as `self`, which the result does not outlive here; no call closes it.
        ManuallyDrop::new(unsafe { File::from_raw_fd(self.fd.as_raw_fd()) })
    }

    /// Forbids for good to change the size or the seals.
    ///
    /// # Errors
    /// The system's error.
    pub fn seal(&self) -> io::Result<()> {
        // SAFETY: plain numbers and an open descriptor.
        match unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Makes the file longer, by as much as the system lets: the rest has no memory behind it, until a process allocates
    /// parts of it ([`MemoryFile::allocate_part`]). To be called before the file is sealed; where it fails, there is no rest.
    pub fn leave_room(&self) {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the place for the answer lives.
        let asked = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
        // Beyond its limit for files a process would be ended by a signal.
        let most = if asked == 0 { limit.rlim_cur } else { 0 };
        let mut longer = ROOMS.map(|room| room.min(most)).into_iter().filter(|&room| room > self.bytes);
        let is_done = |&room: &u64| self.file().set_len(room).is_ok();
        let _ = longer.find(is_done);
    }

    /// Allocates the pages of a part of the file, as [`MemoryFile::allocate`] does for all of it; the part is zero.
    ///
    /// # Errors
    /// As [`MemoryFile::allocate`]; then no page of the part stays allocated.
    pub fn allocate_part(&self, part: Range<u64>) -> io::Result<()> {
        let allocated = self.allocate_pages(part.clone());
        if allocated.is_err() {
            self.drop_part(part);
        }
        allocated
    }

    /// Gives the memory of a part of the file back to the system; the part is zero afterwards.
    pub fn drop_part(&self, part: Range<u64>) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (offset, length) = (part.start as libc::off_t, (part.end - part.start) as libc::off_t);
        // SAFETY: plain numbers and an open descriptor.
        while unsafe { libc::fallocate(self.fd.as_raw_fd(), mode, offset, length) } != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }

    /// Whether no page of a part of the file was written to; `None`: the system cannot tell.
    pub fn is_hole(&self, part: Range<u64>) -> Option<bool> {
        // SAFETY: plain numbers and an open descriptor; no user of the file goes by its position.
        let data =
            unsafe { libc::lseek64(self.fd.as_raw_fd(), part.start as libc::off64_t, libc::SEEK_DATA) };
        match u64::try_from(data) {
            Ok(data) => Some(data >= part.end),
            Err(_) => (io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO)).then_some(true),
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
    fn parts_of_the_rest_come_and_go() {
        let segment = MemoryFile::create(8192).unwrap();
        segment.allocate_step(0).unwrap();
        segment.leave_room();
        segment.seal().unwrap();
        let file = MemoryFile::adopt(segment.fd).unwrap();
        assert!(file.bytes >= 1 << 40, "{}", file.bytes);
        let part = file.bytes - (1 << 20)..file.bytes;
        assert_ne!(file.is_hole(part.clone()), Some(false));
        file.allocate_part(part.clone()).unwrap();
        file.write(part.start, b"here").unwrap();
        assert_ne!(file.is_hole(part.clone()), Some(true));
        file.drop_part(part.clone());
        assert_ne!(file.is_hole(part.clone()), Some(false));
        let mut bytes = [1; 4];
        file.read(part.start, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
        let too_much = 1 << 30..1 << 60;
        assert_eq!(file.allocate_part(too_much.clone()).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert_ne!(file.is_hole(too_much), Some(false));
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
