//! Handles over Alhena's C library, where that is known to be the C library: as [`crate::handle`].

use crate::handle::{Kind, number};

/// See [`crate::handle::of`].
#[inline(always)]
pub fn of(_kind: Kind, handle: i32) -> usize {
    handle as u32 as usize
}

/// See [`crate::handle::before`].
#[inline(always)]
pub fn before(handle: i32) -> usize {
    handle as u32 as usize
}

/// See [`crate::handle::give`].
///
/// # Safety
/// The place is the program's.
#[inline(always)]
pub unsafe fn give(_kind: Kind, place: *mut i32, handle: usize) {
    // SAFETY: the caller's promise.
    unsafe { *place = number(handle) };
}
