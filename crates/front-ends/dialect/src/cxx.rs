//! Reductions in C++, which take an object of the datatype: `MPI::Op::Init` of a dialect's C++ bindings makes an operation with a
//! function that it has for this, and states the program's own afterwards.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{null, without_provenance};
use std::sync::atomic::{AtomicUsize, Ordering};

use abi::Address;

use crate::P;

/// An object of a class of the bindings: the address of its virtual functions, and the handle.
#[repr(C)]
pub struct Object<H> {
    functions: *const c_void,
    /// Of the communicator, datatype or window.
    pub handle: H,
}

thread_local! {
    /// The place for the function of the operation in C++ that this thread has made last.
    static MADE: Cell<Option<&'static AtomicUsize>> = const { Cell::new(None) };
}

/// Tells the place of a function in C++ from the address of one in C: no address has this bit.
const CXX: usize = 1 << 63;

/// What was called is the function that stands for one in C++.
pub fn called_as_c() -> ! {
    eprintln!(
        "alhena: a reduction in C++ was called as one in C\n\
         alhena: seen: the program made it otherwise than by MPI::Op::Init\n\
         alhena: next: make the operation by MPI_Op_create"
    );
    std::process::abort();
}

/// States the function in C++ of the operation that this thread has just made.
pub fn set(function: P) {
    if let Some(place) = MADE.take() {
        place.store(function.expose_provenance(), Ordering::Release);
    }
}

/// What the engine keeps of a reduction; `stands` is the function that stands for one in C++. Operations may be used until the
/// process ends, so their places stay.
pub fn reduction(function: P, stands: usize) -> P {
    if function.addr() != stands {
        return function;
    }
    let place: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    MADE.set(Some(place));
    (core::ptr::from_ref(place).expose_provenance() | CXX) as P
}

/// Calls a reduction in C++; whether it is one.
pub fn reduce<H>(function: usize, input: Address, in_out: Address, length: i32, handle: H) -> bool {
    if function & CXX == 0 {
        return false;
    }
    // SAFETY: made by `reduction`, and never freed.
    let place = unsafe { &*core::ptr::with_exposed_provenance::<AtomicUsize>(function & !CXX) };
    let functions = ffi::weak_address!("_ZTVN3MPI8DatatypeE");
    // The functions stand behind two words of a table, which the program or its library has.
    let functions =
        if functions == 0 { null() } else { without_provenance(functions + 2 * size_of::<usize>()) };
    let datatype = Object { functions, handle };
    let function = place.load(Ordering::Acquire);
    if function != 0 {
        // SAFETY: `MPI::Op::Init` gave a function of this type.
        let function = unsafe {
            core::mem::transmute::<
                usize,
                unsafe extern "C-unwind" fn(Address, Address, c_int, *const Object<H>),
            >(function)
        };
        // SAFETY: as above; the object stays for the call.
        unsafe { function(input, in_out, length, &raw const datatype) };
    }
    true
}

/// The two names by which the C++ bindings of a dialect make reductions, and what [`crate::callback`] asks of them.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "what the front-end has at its root")]
macro_rules! reductions_in_cxx {
    ($stands:ident, $set:ident) => {
        /// What `MPI::Op::Init` gives to `MPI_Op_create`; the function in C++ follows.
        #[unsafe(no_mangle)]
        extern "C" fn $stands(_: crate::P, _: crate::P, _: *mut core::ffi::c_int, _: crate::P, _: crate::P) {
            $crate::cxx::called_as_c()
        }

        /// States the function in C++ of the operation that this thread has just made.
        #[unsafe(no_mangle)]
        extern "C" fn $set(_op: crate::Handle, function: crate::P) {
            $crate::cxx::set(function);
        }

        /// What the engine keeps of a reduction.
        pub fn reduction(function: crate::P) -> crate::P {
            $crate::cxx::reduction(function, $stands as *const () as usize)
        }
    };
}
