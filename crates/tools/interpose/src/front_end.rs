//! Calls through front-ends: libraries with the names of other MPI libraries, whose handles and values are not the standard's.
//!
//! ```text
//!   program ── MPI_Send ──▶ preload: whose library does the caller mean? ── the standard's ──▶ tools, PMPI_Send
//!                              │ another's: notes function and place
//!                              ▼
//!                           MPI_Send of libmpi.so.12 (a tool of the program's ABI may come before): converts the arguments
//!                              │ by the table of addresses that it takes for the engine's; it is ours
//!                              ▼
//!                           preload: is this the call that was noted? ── yes ──▶ tools, PMPI_Send of libmpi_abi.so.1
//!                                                                     └─ no ───▶ PMPI_Send of libmpi_abi.so.1
//! ```
//!
//! So tools see calls of all programs in the terms of the standard, each once, and none that a front-end or another tool makes
//! for itself.

use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;

use crate::{FUNCTIONS, Index, key_of_call, real};

thread_local! {
    /// The function that the program has called in another ABI, and the place, until the engine is called.
    static NOTED: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// What is called next if the caller at `address` means another library than the standard's; else `None`.
#[inline]
pub fn next(number: usize, address: usize) -> Option<usize> {
    static KNOWN: Index<8192> = Index::new();
    let key = key_of_call(number, address);
    let next = KNOWN.find(key).unwrap_or_else(|| {
        let found = find(number, address).unwrap_or(0);
        KNOWN.insert(key, found);
        found
    });
    (next != 0).then_some(next)
}

#[cold]
fn find(number: usize, address: usize) -> Option<usize> {
    let pmpi = FUNCTIONS[number].real.name();
    let bound = bound_to(address, pmpi);
    if bound == 0 || bound == FUNCTIONS[number].real.address() {
        return None;
    }
    let mpi = mpi_name(pmpi)?;
    // A tool of the program's ABI may be next. Where the library is known to the caller alone, it is next itself.
    let next = real::after_this(mpi);
    Some(if next == 0 || next == real::in_library(mpi) { bound } else { next })
}

/// What is called for a function of the standard's ABI: a tool that the user has loaded behind this one, else the library's.
#[inline]
pub fn behind(number: usize) -> usize {
    static KNOWN: [AtomicUsize; FUNCTIONS.len()] = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];
    // Relaxed: whichever thread finds the function finds the same.
    match KNOWN[number].load(Relaxed) {
        0 => {
            let real = &FUNCTIONS[number].real;
            // What answers until a library is loaded does so no longer than that.
            let Some(found) = of_tool(real.name()).or_else(|| real.found()) else { return real.address() };
            KNOWN[number].store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// The function of a tool behind this one, by the name that begins with `PMPI_`.
fn of_tool(pmpi: &CStr) -> Option<usize> {
    let next = real::after_this(mpi_name(pmpi)?);
    let module = platform::image::module_at(next as u64)?;
    let file = module.path.file_name()?.to_string_lossy().into_owned();
    // Libraries of MPI, of any ABI, are none.
    (!["libmpi.so", "libmpi_", "libmpich"].iter().any(|start| file.starts_with(start))).then_some(next)
}

/// The name of a function without the P.
fn mpi_name(pmpi: &CStr) -> Option<&CStr> {
    CStr::from_bytes_with_nul(pmpi.to_bytes_with_nul().strip_prefix(b"P")?).ok()
}

/// The function of this name in the libraries of the caller at `address`; no tool defines one that begins with `PMPI_`.
fn bound_to(address: usize, name: &CStr) -> usize {
    let Some(module) = platform::image::module_at(address as u64) else { return real::anywhere(name) };
    let path = CString::new(module.path.into_os_string().into_vec()).ok().filter(|_| module.is_library);
    let object = real::loaded(path.as_deref());
    match if object.is_null() { 0 } else { real::in_object(object, name) } {
        // An object that does not state what it needs takes what the program has.
        0 => real::anywhere(name),
        found => found,
    }
}

/// The program calls this function in another ABI, at this place.
#[inline]
pub fn note(number: usize, site: usize) {
    NOTED.set(Some((number, site)));
}

/// A front-end calls this function of the engine: the place of the program's call, if it is that one.
#[inline]
pub fn noted(number: usize) -> Option<usize> {
    let (called, site) = NOTED.get()?;
    // A front-end may take the twin for large counts.
    let is_it = called == number || FUNCTIONS[called].base() == FUNCTIONS[number].base();
    is_it.then(|| {
        NOTED.set(None);
        site
    })
}
