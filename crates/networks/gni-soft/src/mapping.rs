//! Memory files and their mappings.

use core::ptr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use platform::memory_file::MemoryFile;

/// Types that may lie in memory shared with other processes.
///
/// # Safety
/// Every bit pattern is a valid value, all fields are atomics or arrays of them, and the type owns nothing.
pub(crate) unsafe trait Shared {}

// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for core::sync::atomic::AtomicU64 {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for core::sync::atomic::AtomicU32 {}

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// A mapped memory file, or a page of one; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: the base is constant; what it points to is handed out as `Shared` types or raw addresses only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the whole of `file`, whose length must be at least `least`; the length is read once. The file is
    /// sealed against shrinking, or nothing is mapped.
    pub(crate) fn of(file: &impl AsFd, least: usize) -> io::Result<Mapping> {
        let fd = file.as_fd().as_raw_fd();
        let len = lasting_length(fd)?;
        if len < least || len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a memory file that is too short"));
        }
        Mapping::range(fd, 0, len)
    }

    /// Maps the page of `file` that begins at `offset`, under the same conditions.
    pub(crate) fn page(file: &impl AsFd, offset: u64) -> io::Result<Mapping> {
        let fd = file.as_fd().as_raw_fd();
        let len = lasting_length(fd)? as u64;
        if offset.checked_add(PAGE as u64).is_none_or(|end| end > len) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a memory file that is too short"));
        }
        Mapping::range(fd, offset, PAGE)
    }

    fn range(fd: RawFd, offset: u64, len: usize) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, offset as libc::off_t)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A forked child never takes part in the traffic. Where the kernel refuses, the child has a view that
        // it does not use.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
        Ok(Mapping { base: base.cast(), len })
    }

    /// Address of the first byte.
    pub(crate) fn address(&self) -> usize {
        self.base as usize
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// `count` values at `offset`; panics when they do not lie within the mapping, which only a wrong constant
    /// in this crate can cause.
    pub(crate) fn many<T: Shared>(&self, offset: usize, count: usize) -> &[T] {
        assert!(offset + count * size_of::<T>() <= self.len, "a part of the mapping");
        assert!(offset.is_multiple_of(align_of::<T>()), "an aligned part of the mapping");
        // SAFETY: the range lies within the mapping, which lives as long as `self` and whose file cannot
        // shrink; any bits are a valid `T`, which peers may change (`Shared`).
        unsafe { core::slice::from_raw_parts(self.base.add(offset).cast(), count) }
    }

    /// The value at `offset`; otherwise as [`Mapping::many`].
    pub(crate) fn one<T: Shared>(&self, offset: usize) -> &T {
        &self.many(offset, 1)[0]
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; the borrow rules ended all views of it.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// Length of a memory file that is sealed against shrinking.
fn lasting_length(fd: RawFd) -> io::Result<usize> {
    // SAFETY: F_GET_SEALS takes no argument.
    let seals = unsafe { libc::fcntl(fd, libc::F_GET_SEALS) };
    if seals & libc::F_SEAL_SHRINK == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a memory file that can shrink"));
    }
    // SAFETY: `stat` is plain data that the call fills.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a valid descriptor and a valid place for the answer.
    if unsafe { libc::fstat(fd, &mut stat) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stat.st_size as usize)
}

/// A memory file of `len` zero bytes: allocated, close-on-exec, and sealed so that its length stays.
pub(crate) fn memory_file(len: usize) -> io::Result<OwnedFd> {
    let file = MemoryFile::create(len as u64)?;
    file.allocate()?;
    Ok(file.fd)
}

#[cfg(test)]
mod tests {
    use super::{Mapping, memory_file};
    use core::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn two_mappings_of_one_file_are_the_same_memory() {
        let file = memory_file(8192).unwrap();
        let (one, other) = (Mapping::of(&file, 8192).unwrap(), Mapping::of(&file, 1).unwrap());
        one.one::<AtomicU64>(4096).store(7, Ordering::Relaxed);
        assert_eq!(other.one::<AtomicU64>(4096).load(Ordering::Relaxed), 7);
        assert!(Mapping::of(&file, 8193).is_err());
        assert_eq!(Mapping::page(&file, 4096).unwrap().one::<AtomicU64>(0).load(Ordering::Relaxed), 7);
        assert!(Mapping::page(&file, 8192).is_err());
    }

    #[test]
    fn a_file_that_could_shrink_is_refused() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(Mapping::of(&file, 1).is_err());
    }
}
