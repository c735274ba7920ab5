//! How Alhena's C library gets to know that a call is Fortran's: it keeps that with what the call makes, and calls the program's
//! procedures by these tables. Other C libraries get functions that call the program's ([`crate::callback`]).

use ffi::Callers;
use ffi::copies::Functions;

use crate::library;
use crate::place::P;

/// A function of Alhena's C library, if that is the C library.
macro_rules! library {
    ($symbol:literal, $kind:ty) => {{
        let address = ffi::weak_address!($symbol);
        // SAFETY: a symbol's number is that of its type.
        (address != 0).then(|| unsafe { core::mem::transmute::<usize, $kind>(address) })
    }};
}

/// What the compiler of the program has for `.true.`, if the program was linked with that: the value of an absolute symbol.
pub fn value_of_true() -> Option<i32> {
    let value = ffi::weak_address!("alhena_fortran_true");
    (value != 0).then_some(value as i32)
}

/// A bit for each type that the compiler of the program has ([`crate::compiler`]), in the same way.
pub fn kinds() -> Option<usize> {
    let value = ffi::weak_address!("alhena_fortran_kinds");
    (value != 0).then_some(value)
}

type State = unsafe extern "C" fn(usize, Option<&'static Callers>);

fn library() -> Option<State> {
    library!("alhena_call_origin_1", State)
}

/// Whether the C library keeps whose a call was; those of the dialects do.
#[inline(always)]
pub fn is_kept() -> bool {
    !library::IS_STANDARD || library().is_some()
}

/// The address of the error handler that is to be called, on this thread.
pub fn due_handler() -> usize {
    type Due = extern "C" fn() -> usize;
    library!("alhena_due_handler_1", Due).map_or(0, |due| due())
}

/// A call of Fortran under way, known to the C library.
pub struct Call(Option<State>);

/// The next call that has `place` among its arguments is Fortran's.
pub fn call(place: P, callers: &'static Callers) -> Call {
    let library = library();
    if let Some(state) = library {
        // SAFETY: the table is of the layout that the symbol has in its name.
        unsafe { state(place.addr(), Some(callers)) };
    }
    Call(library)
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(state) = self.0 {
            // SAFETY: no call is Fortran's then.
            unsafe { state(0, None) };
        }
    }
}

/// States copies of the program's buffers for the call that has `place` among its arguments.
pub fn state_copies(place: P, state: usize, functions: &'static Functions) {
    type StateCopies = unsafe extern "C" fn(usize, usize, &'static Functions);
    if let Some(library) = library!("alhena_call_copies_1", StateCopies) {
        // SAFETY: the functions are for that state.
        unsafe { library(place.addr(), state, functions) };
    }
}

/// Takes that back; whether no call had taken the copies.
pub fn take_back_copies() -> bool {
    type TakeBack = extern "C" fn() -> bool;
    library!("alhena_take_back_copies_1", TakeBack).is_none_or(|library| library())
}
