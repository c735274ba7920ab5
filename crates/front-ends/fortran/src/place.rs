//! Places in the program's memory.

/// An address of the program.
pub type P = *mut core::ffi::c_void;

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
