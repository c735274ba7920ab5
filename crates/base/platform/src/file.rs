//! Files at positions: what the standard library does only for slices, and what it does not do.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::tcp::Piece;

/// Most bytes that the kernel moves in one call.
const MOST: usize = 0x7fff_f000;

/// Reads at most `len` bytes from byte `at` of a file; how many came, 0 at its end.
///
/// # Errors
/// The system's, an interruption included.
///
/// # Safety
/// `address` is writable for `len` bytes.
pub unsafe fn read_at(fd: BorrowedFd<'_>, address: usize, len: usize, at: u64) -> io::Result<usize> {
    let at = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: the caller's promise.
    let moved = unsafe { libc::pread64(fd.as_raw_fd(), address as *mut libc::c_void, len.min(MOST), at) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Writes at most `len` bytes to byte `at` of a file; how many went.
///
/// # Errors
/// The system's, an interruption included.
///
/// # Safety
/// `address` is readable for `len` bytes.
pub unsafe fn write_at(fd: BorrowedFd<'_>, address: usize, len: usize, at: u64) -> io::Result<usize> {
    let at = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: the caller's promise.
    let moved = unsafe { libc::pwrite64(fd.as_raw_fd(), address as *const libc::c_void, len.min(MOST), at) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Most pieces of one system call (UIO_MAXIOV).
pub const PIECES: usize = 1024;

/// As [`write_at`], from the first [`PIECES`] of some pieces of memory, one behind the other.
///
/// # Errors
/// As [`write_at`].
///
/// # Safety
/// Each piece is readable.
pub unsafe fn write_pieces_at(fd: BorrowedFd<'_>, pieces: &[Piece], at: u64) -> io::Result<usize> {
    let at = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    let count = pieces.len().min(PIECES) as libc::c_int;
    // SAFETY: pieces have an iovec's layout, and there are so many; the rest is the caller's promise.
    let moved = unsafe { libc::pwritev64(fd.as_raw_fd(), pieces.as_ptr().cast(), count, at) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Has the file system keep room for the first `bytes` bytes of a file, which grows to them; what is there stays.
///
/// # Errors
/// The system's: no room, or a file system that keeps none (`EOPNOTSUPP`).
pub fn allocate(fd: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    let bytes = i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    loop {
        // SAFETY: plain numbers and an open descriptor.
        if bytes == 0 || unsafe { libc::fallocate64(fd.as_raw_fd(), 0, 0, bytes) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}

/// A file of its own in a folder, for reading and writing by this user alone, that never had a name or has lost it.
///
/// # Errors
/// The system's error.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(folder) {
        // Not every file system makes files without names.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) =>
        {
            let path = folder.join(format!(".alhena-{:016x}", crate::random::number()?));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        opened => opened,
    }
}

/// What a file system reports of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its number: `f_type` of statfs(2).
    pub magic: i64,
    /// Its block in bytes.
    pub block: u64,
}

/// The file system on which an open file is.
///
/// # Errors
/// The system's error.
pub fn file_system(fd: BorrowedFd<'_>) -> io::Result<FileSystem> {
    // SAFETY: all of the structure's fields are plain numbers, for which zero is a value.
    let mut found: libc::statfs64 = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours and as long as the call expects.
    match unsafe { libc::fstatfs64(fd.as_raw_fd(), &mut found) } {
        0 => {
            Ok(FileSystem { magic: found.f_type as i64, block: u64::try_from(found.f_bsize).unwrap_or(4096) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an extended attribute of an open file; how many bytes it has.
///
/// # Errors
/// The system's: there is no such attribute, or it is longer than the room for it.
pub fn attribute(fd: BorrowedFd<'_>, name: &CStr, into: &mut [u8]) -> io::Result<usize> {
    let room = into.as_mut_ptr().cast();
    // SAFETY: the name ends with a NUL, and the room is writable for its length.
    let len = unsafe { libc::fgetxattr(fd.as_raw_fd(), name.as_ptr(), room, into.len()) };
    usize::try_from(len).map_err(|_| io::Error::last_os_error())
}

/// Bytes of `struct lov_user_md_v1`, without targets.
pub const LUSTRE_LAYOUT: usize = 32;
/// `O_LOV_DELAY_CREATE`: a file that Lustre makes gets its storage later. Other file systems do not heed these flags.
pub const LUSTRE_DELAYED: i32 = libc::O_NOCTTY | libc::O_ASYNC;

/// Has Lustre lay out a file that was made with [`LUSTRE_DELAYED`] (`LL_IOC_LOV_SETSTRIPE`).
///
/// # Errors
/// The system's: the file has storage, or the file system is another one (`ENOTTY`).
pub fn set_lustre_layout(fd: BorrowedFd<'_>, layout: &[u8; LUSTRE_LAYOUT]) -> io::Result<()> {
    // _IOW('f', 154, long)
    const SET_STRIPE: libc::c_ulong = 0x4008_669a;
    // SAFETY: the call reads a structure of this length, and nothing is written.
    match unsafe { libc::ioctl(fd.as_raw_fd(), SET_STRIPE as _, layout.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for a lock on a range of bytes that belongs to the open file description: it excludes those of other
/// openings, in this process and in others, and goes with the description's last close.
///
/// # Errors
/// The system's: file systems without locks give `ENOLCK`, `EOPNOTSUPP` or `EINVAL`.
pub fn lock(fd: BorrowedFd<'_>, range: Range<u64>, exclusive: bool) -> io::Result<()> {
    set_lock(fd, range, if exclusive { libc::F_WRLCK } else { libc::F_RDLCK })
}

/// Gives a lock back.
///
/// # Errors
/// The system's error.
pub fn unlock(fd: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    set_lock(fd, range, libc::F_UNLCK)
}

fn set_lock(fd: BorrowedFd<'_>, range: Range<u64>, kind: i32) -> io::Result<()> {
    let too_far = || io::Error::from_raw_os_error(libc::EOVERFLOW);
    let start = i64::try_from(range.start).map_err(|_| too_far())?;
    let length = i64::try_from(range.end - range.start).map_err(|_| too_far())?;
    // SAFETY: all of the structure's fields are plain numbers, for which zero is a value.
    let mut lock: libc::flock64 = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = (start, length);
    loop {
        // SAFETY: the structure is ours and of the type that the command takes.
        if length == 0 || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLKW, &lock) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}
