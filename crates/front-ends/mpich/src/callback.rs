//! Functions of the program that the library calls.

use crate::P;

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
