//! The library's own functions, found when they are first called.
//!
//! The wrappers are in every process that `mpiexec` starts, also in those that load no MPI library, or load it later (an
//! interpreter does). So nothing here may be linked to it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A function of the library, by name.
pub struct Real {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Real {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Real {
        Real { name, address: AtomicUsize::new(0) }
    }

    /// Its address. Ends the process if there is none: a program that calls MPI has the library.
    pub fn address(&self) -> usize {
        // Relaxed: whichever thread finds the function finds the same.
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: both names end with a NUL; a library that is there already is only counted once more.
        let found = unsafe {
            let library = libc::dlopen(c"libmpi_abi.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            libc::dlsym(library, self.name.as_ptr())
        } as usize;
        if found == 0 {
            eprintln!(
                "alhena: calling {} failed\n  seen: it is not in libmpi_abi.so.1, which this process has to have\n  \
                 next: start it without -profile, -check, -trace and -record",
                self.name.to_string_lossy()
            );
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}
