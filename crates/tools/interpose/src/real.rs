//! The library's own functions, found when they are first called.
//!
//! The wrappers are in every process that `mpiexec` starts, also in those that load no MPI library, or load it later (an
//! interpreter does). So nothing here may be linked to it.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
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

    /// Its name.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its address; before a library is loaded, of what answers in its place, if that can be. Else ends the process: a program that
    /// calls MPI has the library.
    pub fn address(&self) -> usize {
        self.found().or_else(|| without_library(self.name)).unwrap_or_else(|| {
            eprintln!(
                "alhena: calling {} failed\n  seen: it is not in libmpi_abi.so.1, which this process has to have\n  \
                 next: start it without -profile, -check, -trace and -record",
                self.name.to_string_lossy()
            );
            std::process::abort();
        })
    }

    /// Its address, once a library is loaded that has it.
    pub fn found(&self) -> Option<usize> {
        // Relaxed: whichever thread finds the function finds the same.
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return Some(known);
        }
        let found = in_library(self.name);
        self.address.store(found, Ordering::Relaxed);
        (found != 0).then_some(found)
    }
}

/// What answers programs that look whether there is an MPI in the process, and find the wrappers where no library is loaded yet (mpi4py
/// asks for the ABI's version before it chooses a library): no version, and nothing initialized.
fn without_library(name: &CStr) -> Option<usize> {
    extern "C" fn no_version(major: *mut i32, minor: *mut i32) -> i32 {
        // SAFETY: the program's places, under MPI's contract.
        unsafe {
            major.write(-1);
            minor.write(-1);
        }
        0
    }
    extern "C" fn not_yet(flag: *mut i32) -> i32 {
        // SAFETY: as above.
        unsafe { flag.write(0) };
        0
    }
    match name.to_bytes() {
        b"PMPI_Abi_get_version" => Some(no_version as *const () as usize),
        b"PMPI_Initialized" | b"PMPI_Finalized" => Some(not_yet as *const () as usize),
        _ => None,
    }
}

/// A function of the library; 0: it has none of this name, or is not loaded.
pub fn in_library(name: &CStr) -> usize {
    let library = loaded(Some(c"libmpi_abi.so.1"));
    if library.is_null() { 0 } else { in_object(library, name) }
}

/// The loader's handle of an object that is loaded already, or of the program; null: it is none. It is only counted once more.
pub fn loaded(object: Option<&CStr>) -> *mut c_void {
    let name = object.map_or(core::ptr::null(), CStr::as_ptr);
    // SAFETY: the name ends with a NUL.
    unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
}

/// What an object and those that it needs call by this name; 0: nothing.
pub fn in_object(object: *mut c_void, name: &CStr) -> usize {
    // SAFETY: a handle of the loader, and a name that ends with a NUL.
    (unsafe { libc::dlsym(object, name.as_ptr()) }) as usize
}

/// The definition of this name that the loader finds next after this library's; 0: there is none.
pub fn after_this(name: &CStr) -> usize {
    in_object(libc::RTLD_NEXT, name)
}

/// What a program without a file has by this name: code that was made at run time; 0: nothing.
pub fn anywhere(name: &CStr) -> usize {
    in_object(null_mut(), name)
}
