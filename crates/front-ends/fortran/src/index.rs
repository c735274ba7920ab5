//! Positions in arrays, which Fortran counts from 1.

use crate::library;
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

/// Writes the positions that C has answered.
///
/// # Safety
/// The array has as many elements as the list.
pub unsafe fn give_list(places: *mut i32, list: &[i32]) {
    for (at, value) in list.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { give(places.add(at), *value) };
    }
}

fn from_one(value: i32) -> i32 {
    if value == library::UNDEFINED { value } else { value + 1 }
}
