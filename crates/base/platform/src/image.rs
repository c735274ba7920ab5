//! Where this code was loaded from.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
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

/// The program's writable segments that stay writable, ascending: its globals and statics. Another process that runs
/// the same file has as many of the same lengths, wherever the loader has put them.
pub fn writable() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // SAFETY: the callback gets the pointer that is given here, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(first_object), (&raw mut found).cast()) };
    found
}

/// Reads the segments of the first object, which is the program, and asks for no other.
unsafe extern "C" fn first_object(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> i32 {
    // SAFETY: the loader passes a valid record, and `writable` its vector, which nothing else uses meanwhile.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Range<usize>>>()) };
    if info.dlpi_phdr.is_null() {
        return 1;
    }
    // SAFETY: the record names so many headers, which stay mapped with their object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = (info.dlpi_addr + header.p_vaddr) as usize;
        start..start + header.p_memsz as usize
    };
    // What the loader relocates and then protects lies at the start of a writable segment.
    let protected = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map(range);
    let protected = protected.unwrap_or(0..0);
    for header in headers {
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
            let mut segment = range(header);
            if segment.contains(&protected.start) || protected.contains(&segment.start) {
                segment.start = protected.end;
            }
            if !segment.is_empty() {
                found.push(segment);
            }
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    #[test]
    fn statics_lie_in_writable_segments() {
        static ZERO: AtomicU64 = AtomicU64::new(0);
        static ONE: AtomicU64 = AtomicU64::new(1);
        let segments = super::writable();
        assert!(segments.is_sorted_by(|one, next| one.end <= next.start));
        for word in [&ZERO, &ONE] {
            assert!(segments.iter().any(|segment| segment.contains(&word.as_ptr().addr())));
        }
    }

    #[test]
    fn a_prefix_is_absolute() {
        assert!(super::prefix().is_none_or(|prefix| prefix.is_absolute()));
    }
}
