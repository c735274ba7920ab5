//! Positions in arrays, which Fortran counts from 1.

use crate::logical::UNSET;

/// Writes a position that C has answered.
///
/// # Safety
/// The place is the program's.
pub unsafe fn give(place: *mut i32, value: i32) {
    if value != UNSET {
        // SAFETY: the caller's promise.
        unsafe { *place = from_one(value) };
    }
}

/// Counts the first positions of an array from 1.
///
/// # Safety
/// The array has as many elements.
pub unsafe fn give_all(places: *mut i32, count: i32) {
    if count == abi::UNDEFINED {
        return;
    }
    for at in 0..count.max(0) as usize {
        // SAFETY: the caller's promise.
        unsafe { *places.add(at) = from_one(*places.add(at)) };
    }
}

fn from_one(value: i32) -> i32 {
    if value == abi::UNDEFINED { value } else { value + 1 }
}
