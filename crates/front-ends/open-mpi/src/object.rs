//! Handles as addresses of objects.
//!
//! ```text
//!  predefined   address of an object, in the library or copied into the executable; its first word is our value
//!  dynamic      bit 63 | our value: no address of a program has that bit
//! ```

/// An object of `WORDS` words, as large as the one that an executable may have a copy of.
#[repr(C, align(16))]
pub struct Object<const WORDS: usize>([usize; WORDS]);

impl<const WORDS: usize> Object<WORDS> {
    /// The object of a predefined handle.
    pub const fn of(value: usize) -> Self {
        let mut words = [0; WORDS];
        words[0] = value;
        Object(words)
    }
}

const DYNAMIC: usize = 1 << 63;

/// Our value of a handle. NULL, small numbers and odd addresses are no objects, and have none.
#[inline(always)]
pub fn value(handle: usize) -> usize {
    if handle & DYNAMIC != 0 {
        handle & !DYNAMIC
    } else if handle < 4096 || !handle.is_multiple_of(align_of::<usize>()) {
        0
    } else {
        // SAFETY: a handle is the address of one of the objects, as the program has it.
        unsafe { *core::ptr::with_exposed_provenance::<usize>(handle) }
    }
}

/// The handle of an object that the program made.
#[inline(always)]
pub fn dynamic(value: usize) -> usize {
    value | DYNAMIC
}
