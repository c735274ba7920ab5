//! Places in the program's memory.

use crate::library;

/// An address of the program.
pub type P = *mut core::ffi::c_void;

unsafe extern "C" {
    fn PMPI_Comm_call_errhandler(comm: usize, code: i32) -> i32;
}

/// Fails a call of what the C library does not have.
///
/// # Safety
/// `ierror` is null or the program's.
#[cold]
pub unsafe fn missing(ierror: *mut i32) {
    let code = library::ERR_UNSUPPORTED_OPERATION;
    // SAFETY: the caller's promise.
    unsafe {
        PMPI_Comm_call_errhandler(library::comm_self(), code);
        give(ierror, code);
    }
}

/// Gives the error code to a program that asks for it.
///
/// # Safety
/// `ierror` is null or the program's.
#[inline(always)]
pub unsafe fn give(ierror: *mut i32, code: i32) {
    if !ierror.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *ierror = code };
    }
}
