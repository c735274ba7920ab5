//! Where this code was loaded from.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The folder this library is installed in: two above its own file (`PREFIX/lib/libmpi_abi.so.1`).
///
/// None where the loader names no absolute path, as in a program that holds the library itself: a folder relative
/// to wherever the program was started must never be taken for an installation.
pub fn prefix() -> Option<PathBuf> {
    let here: fn() -> Option<PathBuf> = prefix;
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and writes only to `info`, which is valid for writes.
    let found = unsafe { libc::dladdr(here as *const c_void, info.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid `Dl_info` (null pointers), and `dladdr` leaves a valid one.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: on success `dli_fname` is a NUL-terminated name that lives as long as the loaded file, which is this code.
    let name = unsafe { CStr::from_ptr(name) };
    let file = Path::new(OsStr::from_bytes(name.to_bytes()));
    let root = file.parent()?.parent()?;
    file.is_absolute().then(|| root.to_path_buf())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_prefix_is_absolute() {
        assert!(super::prefix().is_none_or(|prefix| prefix.is_absolute()));
    }
}
