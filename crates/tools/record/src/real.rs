//! The library's own functions, found when they are first called.
//!
//! This library is in every process that `mpiexec` starts, also in those that load no MPI library, or load it later (an
//! interpreter does). So nothing here may be linked to it.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

/// A function of the library, by name.
pub struct Real {
    name: &'static str,
    address: AtomicUsize,
}

impl Real {
    /// `name` ends with a NUL.
    pub const fn new(name: &'static str) -> Real {
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
            let library = dlopen(c"libmpi_abi.so.1".as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
            dlsym(library, self.name.as_ptr().cast())
        } as usize;
        if found == 0 {
            eprintln!(
                "alhena: recording MPI calls failed\n  seen: {} is not in libmpi_abi.so.1, which this process has to \
                 have\n  next: start it without -record",
                self.name.trim_end_matches('\0')
            );
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}
