//! `libmpi_cxx.so.40`, as far as programs have it without using MPI's C++ interface: inline functions of Open MPI's `mpi.h`
//! for C++, which MPI-3 removed, refer to these names wherever a C++ file includes it.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{null, without_provenance};
use std::sync::atomic::{AtomicUsize, Ordering};

use abi::Address;

use crate::functions::{PMPI_Type_free, PMPI_Win_free, comm};
use crate::{Handle, P};

/// An object of these classes: the address of its virtual functions, and the handle.
#[repr(C)]
struct Object {
    functions: *const c_void,
    handle: Handle,
}

/// `MPI::Comm::Comm()` for the constructor of a class derived from it, which then writes the address of its own functions.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI4CommC2Ev(this: *mut Object) {
    // SAFETY: the program's object.
    unsafe { (*this).handle = comm::to(abi::COMM_NULL.0) };
}

/// The same where the object is no more than that.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI4CommC1Ev(this: *mut Object) {
    // SAFETY: as above.
    unsafe { _ZN3MPI4CommC2Ev(this) };
}

/// `MPI::Win::Free()`
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI3Win4FreeEv(this: *mut Object) {
    // SAFETY: as above.
    unsafe { PMPI_Win_free(&raw mut (*this).handle) };
}

/// `MPI::Datatype::Free()`
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn _ZN3MPI8Datatype4FreeEv(this: *mut Object) {
    // SAFETY: as above.
    unsafe { PMPI_Type_free(&raw mut (*this).handle) };
}

thread_local! {
    /// The place for the function of the operation that this thread has made last with [`ompi_mpi_cxx_op_intercept`].
    static MADE: Cell<Option<&'static AtomicUsize>> = const { Cell::new(None) };
}

/// Tells the place of a function in C++ from the address of one in C: no address has this bit.
const CXX: usize = 1 << 63;

/// What `MPI::Op::Init` gives to `MPI_Op_create`; the function in C++ follows by [`ompi_op_set_cxx_callback`].
#[unsafe(no_mangle)]
extern "C" fn ompi_mpi_cxx_op_intercept(_: P, _: P, _: *mut c_int, _: *mut Handle, _: P) {
    eprintln!(
        "alhena: a reduction in C++ was called as one in C\n\
         alhena: seen: the program made it otherwise than by MPI::Op::Init\n\
         alhena: next: make the operation by MPI_Op_create"
    );
    std::process::abort();
}

/// States the function in C++ of the operation that this thread has just made.
#[unsafe(no_mangle)]
extern "C" fn ompi_op_set_cxx_callback(_op: Handle, function: P) {
    if let Some(place) = MADE.take() {
        place.store(function.expose_provenance(), Ordering::Release);
    }
}

/// What the engine keeps of a reduction. Operations may be used until the process ends, so their places stay.
pub fn reduction(function: P) -> P {
    if function.addr() != ompi_mpi_cxx_op_intercept as *const () as usize {
        return function;
    }
    let place: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    MADE.set(Some(place));
    (core::ptr::from_ref(place).expose_provenance() | CXX) as P
}

/// Calls a reduction in C++; whether it is one.
pub fn reduce(function: usize, input: Address, in_out: Address, length: i32, handle: Handle) -> bool {
    if function & CXX == 0 {
        return false;
    }
    type Function = unsafe extern "C-unwind" fn(Address, Address, c_int, *const Object);
    // SAFETY: made by `reduction`, and never freed.
    let place = unsafe { &*core::ptr::with_exposed_provenance::<AtomicUsize>(function & !CXX) };
    let functions = ffi::weak_address!("_ZTVN3MPI8DatatypeE");
    // The functions stand behind two words of a table, which the program has.
    let functions =
        if functions == 0 { null() } else { without_provenance(functions + 2 * size_of::<usize>()) };
    let datatype = Object { functions, handle };
    let function = place.load(Ordering::Acquire);
    if function != 0 {
        // SAFETY: `MPI::Op::Init` gave a function of this type.
        let function = unsafe { core::mem::transmute::<usize, Function>(function) };
        // SAFETY: as above; the object stays for the call.
        unsafe { function(input, in_out, length, &raw const datatype) };
    }
    true
}
