//! What a front-end in a library of its own calls: the Fortran library, over this C library and others.

use ffi::copies::{self, Functions};
use ffi::{Origin, origin};

/// States whose the call of this thread is that has `place` among its arguments and comes next; without a table it is the
/// standard C interface's. The number is that of the table's layout.
///
/// # Safety
/// The table is of that layout and stays.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_call_origin_1(place: usize, callers: Option<&'static ffi::Callers>) {
    origin::state(place, callers.map_or(Origin::STANDARD, Origin::of));
}

/// Whose call that was stated to be which has `place` among its arguments; none where nothing was stated, or the standard C
/// interface. A front-end hands it on that calls the standard functions with other places.
#[unsafe(no_mangle)]
extern "C" fn alhena_stated_origin_1(place: usize) -> Option<&'static ffi::Callers> {
    origin::of_call(core::ptr::without_provenance::<u8>(place)).callers()
}

/// The address of the error handler that the `error_handler` of a front-end's table is to call, on this thread.
#[unsafe(no_mangle)]
extern "C" fn alhena_due_handler_1() -> usize {
    ffi::due_handler()
}

/// States copies of the program's buffers for the call of this thread that has `place` among its arguments and comes next.
///
/// # Safety
/// The functions are for that state, and stay.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_call_copies_1(place: usize, state: usize, functions: &'static Functions) {
    copies::state(place, state, functions);
}

/// Has the statement hold for the call that has `to` among its arguments, if it was made for the one that has `from`: a front-end
/// calls the standard functions with other places than the program's.
#[unsafe(no_mangle)]
extern "C" fn alhena_hand_on_copies_1(from: usize, to: usize) {
    copies::hand_on(from, to);
}

/// Takes the statement back; whether no call had taken the copies.
#[unsafe(no_mangle)]
extern "C" fn alhena_take_back_copies_1() -> bool {
    copies::take_back()
}
