//! Statuses: a program's have its ABI's layout, ours 32 bytes.

use crate::P;
use crate::list::{self, Buffer};

/// The status of an ABI.
pub trait Layout: Copy {
    /// All bits zero.
    const ZERO: Self;
    /// Whether the program's place is `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`.
    fn is_ignored(place: *mut Self) -> bool;
    /// The same in our layout.
    fn ours(&self) -> abi::Status;
    /// Takes over source, tag, bytes and whether the request was cancelled; `ours` has our source and tag.
    fn set_message(&mut self, ours: &abi::Status);
    /// Takes over the error code, which is one of ours.
    fn set_error(&mut self, ours: i32);
}

/// A source, or an error, that no function writes.
const UNSET: i32 = i32::MIN + 0x5eed;

const EMPTY: abi::Status = {
    let mut status = abi::Status::EMPTY;
    status.source = UNSET;
    status.error = UNSET;
    status
};

/// Takes over what was written of ours.
#[inline]
pub fn fill<S: Layout>(theirs: &mut S, ours: &abi::Status) {
    if ours.source != UNSET {
        theirs.set_message(ours);
    }
    if ours.error != UNSET {
        theirs.set_error(ours.error);
    }
}

/// A status that goes in.
///
/// # Safety
/// One to ignore, or the program's.
pub unsafe fn of<S: Layout>(status: *mut S) -> abi::Status {
    // SAFETY: the caller's promise.
    if S::is_ignored(status) { EMPTY } else { unsafe { (*status).ours() } }
}

/// What the standard function gets for it.
pub fn place<S: Layout>(status: *mut S, ours: &abi::Status) -> P {
    if S::is_ignored(status) { core::ptr::null_mut() } else { core::ptr::from_ref(ours).cast_mut() as P }
}

/// A status that comes out.
pub struct Out<S> {
    ours: abi::Status,
    theirs: *mut S,
}

impl<S: Layout> Out<S> {
    /// The place for a status.
    #[inline(always)]
    pub fn new(theirs: *mut S) -> Out<S> {
        Out { ours: EMPTY, theirs }
    }

    /// The place for a status that goes in, too.
    ///
    /// # Safety
    /// As [`of`].
    pub unsafe fn both(theirs: *mut S) -> Out<S> {
        // SAFETY: the caller's promise.
        Out { ours: unsafe { of(theirs) }, theirs }
    }

    /// What the standard function gets.
    #[inline(always)]
    pub fn place(&mut self) -> P {
        if S::is_ignored(self.theirs) { core::ptr::null_mut() } else { &raw mut self.ours as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The place is the program's.
    #[inline(always)]
    pub unsafe fn give(&self) {
        if !S::is_ignored(self.theirs) {
            // SAFETY: the caller's promise.
            fill(unsafe { &mut *self.theirs }, &self.ours);
        }
    }
}

/// An array of statuses that come out.
pub struct List<S> {
    ours: Buffer<abi::Status>,
    theirs: *mut S,
}

impl<S: Layout> List<S> {
    /// Places for an array.
    pub fn new(theirs: *mut S, length: i64) -> List<S> {
        let length = if S::is_ignored(theirs) { 0 } else { list::length(theirs, length) };
        List { ours: Buffer::new(length, |_| EMPTY), theirs }
    }

    /// What the standard function gets.
    pub fn place(&mut self) -> P {
        if S::is_ignored(self.theirs) { core::ptr::null_mut() } else { self.ours.as_mut_ptr() as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The array is the program's.
    pub unsafe fn give(&self) {
        for (at, ours) in self.ours.as_slice().iter().enumerate() {
            // SAFETY: the caller's promise.
            fill(unsafe { &mut *self.theirs.add(at) }, ours);
        }
    }
}
