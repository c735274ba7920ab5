//! What functions of the program are given, and those that the library itself has for it.

use crate::functions::{comm, datatype, file, session, win};
use crate::{Handle, P};

/// The handle of an object with attributes or an error handler, of whichever kind. Those of communicators, windows, files and
/// sessions that a program did not make, and of datatypes, lie apart in the standard ABI; files have addresses.
pub fn object(ours: usize) -> usize {
    const FILE_NULL: usize = abi::FILE_NULL.0;
    const WIN_NULL: usize = abi::WIN_NULL.0;
    const SESSION_NULL: usize = abi::SESSION_NULL.0;
    const DATATYPES: usize = abi::DATATYPE_NULL.0;
    let integer = |handle: Handle| handle as u32 as usize;
    match ours {
        0x1000.. => ours,
        FILE_NULL => file::to(ours),
        WIN_NULL => integer(win::to(ours)),
        SESSION_NULL => integer(session::to(ours)),
        DATATYPES.. => integer(datatype::to(ours)),
        _ => integer(comm::to(ours)),
    }
}

/// `MPI_COMM_DUP_FN` and its kin: the copy of an object gets the same attribute.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn MPIR_Dup_fn(_: i32, _: i32, _: P, value: P, copy: *mut P, flag: *mut i32) -> i32 {
    // SAFETY: the program's places.
    unsafe { (*copy, *flag) = (value, 1) };
    0
}

/// The function that copies an attribute, which for this ABI may be [`MPIR_Dup_fn`], and NULL for none.
pub fn copy(function: P) -> P {
    if function == MPIR_Dup_fn as *const () as P { abi::COMM_DUP_FN as P } else { function }
}

/// The function that deletes an attribute: NULL for none here, too.
pub fn delete(function: P) -> P {
    function
}

// The C++ bindings make their reductions by these.
dialect::reductions_in_cxx!(alhena_cxx_reduction_1, alhena_cxx_set_reduction_1);
