//! The engine: the library of the standard ABI, reached by its table of addresses.

/// The place of each function in the table.
#[allow(non_upper_case_globals, missing_docs)]
pub mod row {
    include!(concat!(env!("OUT_DIR"), "/rows.rs"));
}

/// What `libmpi_abi.so.1` exports for front-ends.
#[repr(C)]
pub struct Functions {
    version: u64,
    functions: [*const (); row::COUNT],
}

// SAFETY: addresses of functions, never written.
unsafe impl Sync for Functions {}

unsafe extern "C" {
    #[link_name = "alhena_front_end_v1"]
    static ENGINE: Functions;
}

/// The address of a standard function.
///
/// # Safety
/// `row` is one of [`row`].
#[inline(always)]
pub unsafe fn function(row: usize) -> *const () {
    // SAFETY: the loader has bound it before anything runs.
    unsafe { ENGINE.functions[row] }
}

/// A standard function, by its row and its type.
#[macro_export]
macro_rules! call {
    ($row:expr, ($($kind:ty),*) -> $returns:ty) => {
        core::mem::transmute::<*const (), unsafe extern "C-unwind" fn($($kind),*) -> $returns>(
            $crate::engine::function($row)
        )
    };
}

/// Ends a process whose two libraries do not belong together, when they are loaded.
unsafe extern "C" fn check() {
    // SAFETY: as above; the version comes first in every version of the table.
    let found = unsafe { ENGINE.version };
    if found != row::VERSION {
        eprintln!(
            "alhena: the library with the names of another MPI library cannot use the libmpi_abi.so.1 that the loader found\n\
             alhena: seen: it was built from another table of functions\n\
             alhena: next: ldd PROGRAM | grep mpi, and take both from one installation"
        );
        std::process::abort();
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CHECK: unsafe extern "C" fn() = check;
