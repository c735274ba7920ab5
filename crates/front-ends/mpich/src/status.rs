//! Statuses: MPICH's has 20 bytes, ours 32.

use dialect::list::{self, Buffer};

use crate::P;
use crate::functions::{errcode, rank, tag};

/// `MPI_Status` of MPICH's ABI.
///
/// ```text
///   0          4                                  8       12     16
///   count, low  count, high 31 bits | cancelled    SOURCE  TAG    ERROR
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    count_low: u32,
    count_high_and_cancelled: u32,
    source: i32,
    tag: i32,
    error: i32,
}

const _: () = assert!(size_of::<Status>() == 20);

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`; NULL is taken as the same.
#[inline(always)]
fn is_ignored(status: *mut Status) -> bool {
    status as usize <= 1
}

/// A source, or an error, that no function writes.
const UNSET: i32 = i32::MIN + 0x5eed;

const EMPTY: abi::Status = {
    let mut status = abi::Status::EMPTY;
    status.source = UNSET;
    status.error = UNSET;
    status
};

impl Status {
    /// Ours in MPICH's layout.
    pub fn of(ours: &abi::Status) -> Status {
        let mut status = Status { count_low: 0, count_high_and_cancelled: 0, source: 0, tag: 0, error: 0 };
        status.fill(ours);
        status
    }

    /// The same in our layout.
    pub fn ours(&self) -> abi::Status {
        let count = u64::from(self.count_low) | u64::from(self.count_high_and_cancelled >> 1) << 32;
        let mut status = abi::Status::new(rank::of(self.source), tag::of(self.tag), count);
        status.error = errcode::of(self.error);
        status.set_cancelled(self.count_high_and_cancelled & 1 != 0);
        status
    }

    /// Takes over what was written of ours.
    #[inline]
    pub fn fill(&mut self, ours: &abi::Status) {
        if ours.source != UNSET {
            let count = ours.bytes();
            self.count_low = count as u32;
            self.count_high_and_cancelled = ((count >> 32) as u32) << 1 | u32::from(ours.cancelled());
            self.source = rank::to(ours.source);
            self.tag = tag::to(ours.tag);
        }
        if ours.error != UNSET {
            self.error = errcode::give(ours.error);
        }
    }
}

/// A status that goes in.
///
/// # Safety
/// One to ignore, or the program's.
pub unsafe fn of(status: *mut Status) -> abi::Status {
    // SAFETY: the caller's promise.
    if is_ignored(status) { EMPTY } else { unsafe { (*status).ours() } }
}

/// What the standard function gets for it.
pub fn place(status: *mut Status, ours: &abi::Status) -> P {
    if is_ignored(status) { core::ptr::null_mut() } else { core::ptr::from_ref(ours).cast_mut() as P }
}

/// A status that comes out.
pub struct Out {
    ours: abi::Status,
    theirs: *mut Status,
}

impl Out {
    /// The place for a status.
    #[inline(always)]
    pub fn new(theirs: *mut Status) -> Out {
        Out { ours: EMPTY, theirs }
    }

    /// The place for a status that goes in, too.
    ///
    /// # Safety
    /// As [`of`].
    pub unsafe fn both(theirs: *mut Status) -> Out {
        // SAFETY: the caller's promise.
        Out { ours: unsafe { of(theirs) }, theirs }
    }

    /// What the standard function gets.
    #[inline(always)]
    pub fn place(&mut self) -> P {
        if is_ignored(self.theirs) { core::ptr::null_mut() } else { &raw mut self.ours as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The place is the program's.
    #[inline(always)]
    pub unsafe fn give(&self) {
        if !is_ignored(self.theirs) {
            // SAFETY: the caller's promise.
            unsafe { (*self.theirs).fill(&self.ours) };
        }
    }
}

/// An array of statuses that come out.
pub struct List {
    ours: Buffer<abi::Status>,
    theirs: *mut Status,
}

impl List {
    /// Places for an array.
    pub fn new(theirs: *mut Status, length: i64) -> List {
        let length = if is_ignored(theirs) { 0 } else { list::length(theirs, length) };
        List { ours: Buffer::new(length, |_| EMPTY), theirs }
    }

    /// What the standard function gets.
    pub fn place(&mut self) -> P {
        if is_ignored(self.theirs) { core::ptr::null_mut() } else { self.ours.as_mut_ptr() as P }
    }

    /// Writes what has come.
    ///
    /// # Safety
    /// The array is the program's.
    pub unsafe fn give(&self) {
        for (at, ours) in self.ours.as_slice().iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { (*self.theirs.add(at)).fill(ours) };
        }
    }
}
