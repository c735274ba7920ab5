//! Handles that come back by address, and arrays of handles.

use crate::P;
use crate::list::{self, Buffer};

/// What no function writes: a place with it was left alone.
const UNSET: usize = usize::MAX;

/// The place for one handle.
pub struct OutHandle<H> {
    ours: usize,
    before: usize,
    theirs: *mut H,
}

/// A place for a handle that comes out.
#[inline(always)]
pub fn out<H>(theirs: *mut H, _of: fn(H) -> usize) -> OutHandle<H> {
    OutHandle { ours: UNSET, before: UNSET, theirs }
}

/// A place for a handle that goes in and comes out.
///
/// # Safety
/// Null or the program's.
#[inline(always)]
pub unsafe fn both<H: Copy>(theirs: *mut H, of: fn(H) -> usize) -> OutHandle<H> {
    // SAFETY: the caller's promise.
    let ours = if theirs.is_null() { UNSET } else { of(unsafe { *theirs }) };
    OutHandle { ours, before: ours, theirs }
}

impl<H> OutHandle<H> {
    /// What the standard function gets.
    #[inline(always)]
    pub fn place(&mut self) -> P {
        if self.theirs.is_null() { core::ptr::null_mut() } else { &raw mut self.ours as P }
    }

    /// Writes what has come, unless it is what was there.
    ///
    /// # Safety
    /// The place is the program's.
    #[inline(always)]
    pub unsafe fn give(&self, to: fn(usize) -> H) {
        if self.ours != self.before && !self.theirs.is_null() {
            // SAFETY: the caller's promise.
            unsafe { *self.theirs = to(self.ours) };
        }
    }
}

/// An array of handles.
pub struct List {
    now: Buffer<usize>,
    before: Option<Buffer<usize>>,
    null: bool,
}

impl List {
    /// The handles of an array.
    ///
    /// # Safety
    /// The array has as many.
    pub unsafe fn new<H: Copy>(theirs: *mut H, length: i64, of: fn(H) -> usize) -> List {
        // SAFETY: the caller's promise.
        let now = Buffer::new(list::length(theirs, length), |at| of(unsafe { *theirs.add(at) }));
        let before = Buffer::new(now.as_slice().len(), |at| now.as_slice()[at]);
        List { now, before: Some(before), null: theirs.is_null() }
    }

    /// Places for an array that comes out.
    pub fn out<H>(theirs: *mut H, length: i64, _of: fn(H) -> usize) -> List {
        let now = Buffer::new(list::length(theirs, length), |_| UNSET);
        List { now, before: None, null: theirs.is_null() }
    }

    /// What the standard function gets.
    pub fn place(&mut self) -> P {
        if self.null { core::ptr::null_mut() } else { self.now.as_mut_ptr() as P }
    }

    /// Writes what has changed.
    ///
    /// # Safety
    /// The array is the one that the list was made for.
    pub unsafe fn give<H>(&self, theirs: *mut H, to: fn(usize) -> H) {
        for (at, ours) in self.now.as_slice().iter().enumerate() {
            let before = self.before.as_ref().map_or(UNSET, |before| before.as_slice()[at]);
            if *ours != before {
                // SAFETY: the caller's promise.
                unsafe { *theirs.add(at) = to(*ours) };
            }
        }
    }
}
