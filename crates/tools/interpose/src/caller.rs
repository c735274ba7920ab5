//! Where a call comes from: calls of Fortran and C++ programs come through libraries of their languages, and the program's own
//! place is meant.
//!
//! What a processor brings: `of`, which walks up through them.

use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_arch = "aarch64")]
#[path = "caller/aarch64.rs"]
mod processor;
#[cfg(target_arch = "x86_64")]
#[path = "caller/x86_64.rs"]
mod processor;

pub use processor::of;

/// Libraries between programs and C's functions, by how the names of their files begin.
const SHIMS: [&str; 7] =
    ["libmpifort", "libmpichf", "libmpi_mpifh", "libmpi_usempi", "libmpicxx", "libmpichcxx", "libmpi_cxx"];

/// Where they lie; an empty range is one that is not loaded.
static RANGES: [[AtomicUsize; 2]; SHIMS.len()] = [const { [const { AtomicUsize::new(0) }; 2] }; SHIMS.len()];

/// Looks for the libraries that calls come through. Called at the first call of the process.
pub fn find_shims() {
    for (name, [begin, end]) in SHIMS.iter().zip(&RANGES) {
        if let Some(module) = platform::image::library(name) {
            end.store(module.range.end as usize, Ordering::Relaxed);
            // Release: another thread that reads the beginning reads the end that belongs to it.
            begin.store(module.range.start as usize, Ordering::Release);
        }
    }
}

fn is_in_shim(address: usize) -> bool {
    let contains = |[begin, end]: &[AtomicUsize; 2]| {
        let begin = begin.load(Ordering::Acquire);
        begin != 0 && (begin..end.load(Ordering::Relaxed)).contains(&address)
    };
    RANGES.iter().any(contains)
}
