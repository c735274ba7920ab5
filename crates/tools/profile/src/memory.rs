//! The memory of the tables: a file that mpiexec holds, mapped.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

use crate::tables::{BYTES, WORDS};

/// Names the file: a rank's tables lie at the place of its number. Set by `mpiexec -profile`.
pub const VARIABLE: &str = "ALHENA_PROFILE";

/// Maps the tables of rank `rank` of `size`.
///
/// # Errors
/// The system's, or that the file is too short.
pub fn map(path: &std::ffi::OsStr, rank: u32, size: u32) -> std::io::Result<&'static [AtomicU64]> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    // Each rank has as much, in whole pages.
    let each = file.metadata()?.len() / u64::from(size.max(1)) & !4095;
    let offset = u64::from(rank) * each;
    if each < BYTES as u64 || rank >= size {
        return Err(std::io::Error::other("the memory has no place for this rank"));
    }
    // SAFETY: the file is that long, and nothing shortens it: mpiexec seals it. The mapping stays until the process ends.
    let address = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset as i64,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the mapping is that long, aligned to a page, and all access to it is atomic.
    Ok(unsafe { core::slice::from_raw_parts(address.cast::<AtomicU64>(), WORDS) })
}
