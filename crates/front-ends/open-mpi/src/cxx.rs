//! What programs have of `libmpi_cxx.so.40` without using MPI's C++ interface: inline functions of Open MPI's `mpi.h` for C++,
//! which MPI-3 removed, refer to these names wherever a C++ file includes it. The library itself is C++ (`dialect/cxx`); where no
//! compiler was there to make it, its name is a link to this library, and these programs run all the same.

use dialect::cxx::Object;

use crate::Handle;
use crate::functions::{PMPI_Type_free, PMPI_Win_free, comm};

/// `MPI::Comm::Comm()` for the constructor of a class derived from it, which then writes the address of its own functions.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI4CommC2Ev(this: *mut Object<Handle>) {
    // SAFETY: the program's object.
    unsafe { (*this).handle = comm::to(abi::COMM_NULL.0) };
}

/// The same where the object is no more than that.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI4CommC1Ev(this: *mut Object<Handle>) {
    // SAFETY: as above.
    unsafe { _ZN3MPI4CommC2Ev(this) };
}

/// `MPI::Win::Free()`
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI3Win4FreeEv(this: *mut Object<Handle>) {
    // SAFETY: as above.
    unsafe { PMPI_Win_free(&raw mut (*this).handle) };
}

/// `MPI::Datatype::Free()`
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI8Datatype4FreeEv(this: *mut Object<Handle>) {
    // SAFETY: as above.
    unsafe { PMPI_Type_free(&raw mut (*this).handle) };
}

dialect::reductions_in_cxx!(ompi_mpi_cxx_op_intercept, ompi_op_set_cxx_callback);
