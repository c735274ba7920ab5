//! Has the engine know that the functions of a call are those of a program of another ABI.

use ffi::Callers;

use crate::P;

unsafe extern "C" {
    /// The next call of this thread that has the place among its arguments has functions that the table calls; the number is
    /// that of the table's layout.
    fn alhena_call_origin_1(place: usize, callers: Option<&'static Callers>);

    /// Whose call that was stated to be which has the place among its arguments, if it was.
    fn alhena_stated_origin_1(place: usize) -> Option<&'static Callers>;

    /// Copies of buffers that were stated for the call that has `from` among its arguments go to the one that has `to`.
    safe fn alhena_hand_on_copies_1(from: usize, to: usize);
}

/// A call with functions of the program, under way.
pub struct Call;

/// States whose the functions are of the call that comes next and has `place` among its arguments: the dialect's, unless the
/// call that has `theirs` among its arguments was stated to be Fortran's.
pub fn call<T>(theirs: *mut T, place: P, callers: &'static Callers) -> Call {
    // SAFETY: the table stays, and is of that layout.
    unsafe {
        let callers = alhena_stated_origin_1(theirs.addr()).unwrap_or(callers);
        alhena_call_origin_1(place.addr(), Some(callers));
    }
    Call
}

/// Whether the call that has the place among its arguments has attributes that are integers.
pub fn has_integers(place: P) -> bool {
    // SAFETY: as above.
    unsafe { alhena_stated_origin_1(place.addr()) }.is_some_and(|callers| callers.attributes_are_integers)
}

/// Hands on copies that Fortran has made of sections: from the call that has `theirs` among its arguments to the one that comes
/// next and has `place`.
pub fn hand_on_copies<T>(theirs: *mut T, place: P) {
    alhena_hand_on_copies_1(theirs.addr(), place.addr());
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: no call is another ABI's then.
        unsafe { alhena_call_origin_1(0, None) };
    }
}
