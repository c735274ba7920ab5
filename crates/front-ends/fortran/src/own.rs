//! The usual case: Alhena's C library is known to be the C library, and buffers are known to be the program's memory.

use crate::handle::{Kind, number};
use crate::place::P;

/// See [`crate::sentinel::buffer`].
#[inline(always)]
pub fn buffer(address: P) -> P {
    address
}

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
