//! Numbers that come back by address, and arrays of numbers.

use crate::P;
use crate::list::{self, Buffer};

/// What no function writes: a place with it was left alone.
const UNSET: i32 = i32::MIN + 0x5eed;

/// The place for one number.
pub struct OutNumber {
    ours: i32,
    theirs: *mut i32,
}

/// A place for a number that comes out.
#[inline(always)]
pub fn out(theirs: *mut i32, _of: fn(i32) -> i32) -> OutNumber {
    OutNumber { ours: UNSET, theirs }
}

/// A place for a number that goes in and comes out.
///
/// # Safety
/// Null or the program's.
#[inline(always)]
pub unsafe fn both(theirs: *mut i32, of: fn(i32) -> i32) -> OutNumber {
    // SAFETY: the caller's promise.
    let ours = if theirs.is_null() { UNSET } else { of(unsafe { *theirs }) };
    OutNumber { ours, theirs }
}

impl OutNumber {
    /// What the standard function gets.
    #[inline(always)]
    pub fn place(&mut self) -> P {
        if self.theirs.is_null() { core::ptr::null_mut() } else { &raw mut self.ours as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The place is the program's.
    #[inline(always)]
    pub unsafe fn give(&self, to: fn(i32) -> i32) {
        if self.ours != UNSET && !self.theirs.is_null() {
            // SAFETY: the caller's promise.
            unsafe { *self.theirs = to(self.ours) };
        }
    }
}

/// An array of numbers.
pub struct List {
    list: Buffer<i32>,
    null: bool,
}

impl List {
    /// The numbers of an array.
    ///
    /// # Safety
    /// The array has as many.
    pub unsafe fn new(theirs: *mut i32, length: i64, of: fn(i32) -> i32) -> List {
        // SAFETY: the caller's promise.
        let list = Buffer::new(list::length(theirs, length), |at| of(unsafe { *theirs.add(at) }));
        List { list, null: theirs.is_null() }
    }

    /// Places for an array that comes out.
    pub fn out(theirs: *mut i32, length: i64, _of: fn(i32) -> i32) -> List {
        List { list: Buffer::new(list::length(theirs, length), |_| UNSET), null: theirs.is_null() }
    }

    /// What the standard function gets.
    pub fn place(&mut self) -> P {
        if self.null { core::ptr::null_mut() } else { self.list.as_mut_ptr() as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The array is the one that the list was made for.
    pub unsafe fn give(&self, theirs: *mut i32, to: fn(i32) -> i32) {
        for (at, ours) in self.list.as_slice().iter().enumerate() {
            if *ours != UNSET {
                // SAFETY: the caller's promise.
                unsafe { *theirs.add(at) = to(*ours) };
            }
        }
    }
}

/// Converts the numbers of an array where they are.
///
/// # Safety
/// Null, or the program's with as many elements.
pub unsafe fn in_place(array: *mut i32, length: i64, to: fn(i32) -> i32) {
    for at in 0..list::length(array, length) {
        // SAFETY: the caller's promise.
        unsafe { *array.add(at) = to(*array.add(at)) };
    }
}
