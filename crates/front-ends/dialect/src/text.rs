//! Text that comes out: the program's place has the length of MPICH's ABI, which may be shorter than ours.

use crate::P;

/// A place for text of up to `OURS` bytes, of which the program takes up to `THEIRS`.
pub struct Output<const OURS: usize, const THEIRS: usize> {
    text: [u8; OURS],
    theirs: *mut u8,
}

impl<const OURS: usize, const THEIRS: usize> Output<OURS, THEIRS> {
    const FITS: bool = THEIRS >= OURS;

    /// The place for a text.
    #[inline]
    pub fn new(theirs: P) -> Self {
        Output { text: [0; OURS], theirs: theirs.cast() }
    }

    /// What the standard function gets.
    pub fn place(&mut self) -> P {
        if Self::FITS || self.theirs.is_null() { self.theirs as P } else { self.text.as_mut_ptr() as P }
    }

    /// Writes what has come, and how long it is.
    ///
    /// # Safety
    /// The place is the program's, with room for `THEIRS` bytes; `length` is null or the program's.
    pub unsafe fn give(&self, length: P) {
        if Self::FITS || self.theirs.is_null() {
            return;
        }
        let whole = self.text.iter().position(|byte| *byte == 0).unwrap_or(OURS - 1);
        let kept = whole.min(THEIRS - 1);
        // SAFETY: the caller's promise.
        unsafe {
            core::ptr::copy_nonoverlapping(self.text.as_ptr(), self.theirs, kept);
            *self.theirs.add(kept) = 0;
            if !length.is_null() {
                *length.cast::<i32>() = kept as i32;
            }
        }
    }
}
