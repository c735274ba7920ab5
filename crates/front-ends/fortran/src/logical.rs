//! `LOGICAL`: what the compiler has for `.true.` is not 0, and mostly 1.

use core::sync::atomic::{AtomicI32, Ordering};

/// What no C function answers, so that a value it has left alone is recognised.
pub const UNSET: i32 = i32::MIN;

/// `.true.`
static TRUE: AtomicI32 = AtomicI32::new(1);

/// Has `.true.` written as another number.
pub fn set_true(value: i32) {
    TRUE.store(value, Ordering::Relaxed);
}

/// A truth value for C.
#[inline(always)]
pub fn of(value: i32) -> i32 {
    i32::from(value != 0)
}

/// A truth value of C for Fortran.
#[inline(always)]
pub fn to(value: i32) -> i32 {
    if value == 0 { 0 } else { TRUE.load(Ordering::Relaxed) }
}

/// Writes what C has answered, if it has.
///
/// # Safety
/// The place is the program's.
#[inline(always)]
pub unsafe fn give(place: *mut i32, value: i32) {
    if value != UNSET {
        // SAFETY: the caller's promise.
        unsafe { *place = to(value) };
    }
}

/// Truth values for C.
///
/// # Safety
/// The array has as many elements.
pub unsafe fn list(values: *const i32, length: i64) -> Vec<i32> {
    // SAFETY: the caller's promise.
    (0..length.max(0) as usize).map(|at| of(unsafe { *values.add(at) })).collect()
}

/// Places for as many truth values of C.
pub fn unset(_values: *mut i32, length: i64) -> Vec<i32> {
    vec![UNSET; length.max(0) as usize]
}

/// Writes what C has answered.
///
/// # Safety
/// The array has as many elements as the list.
pub unsafe fn give_list(values: *mut i32, list: &[i32]) {
    for (at, value) in list.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { give(values.add(at), *value) };
    }
}
