//! Has the engine know that the functions of a call are those of a program of another ABI.

use ffi::Callers;

use crate::P;

unsafe extern "C" {
    /// The next call of this thread that has the place among its arguments has functions that the table calls; the number is
    /// that of the table's layout.
    fn alhena_call_origin_1(place: usize, callers: Option<&'static Callers>);
}

/// A call with functions of the program, under way.
pub struct Call;

/// States whose the functions are of the call that comes next and has `place` among its arguments.
pub fn call(place: P, callers: &'static Callers) -> Call {
    // SAFETY: the table stays, and is of that layout.
    unsafe { alhena_call_origin_1(place.addr(), Some(callers)) };
    Call
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: no call is another ABI's then.
        unsafe { alhena_call_origin_1(0, None) };
    }
}
