//! Lists that a call needs for its own time: on the stack while they are short.

use core::mem::MaybeUninit;

const SHORT: usize = 16;

/// Elements in one piece.
pub struct Buffer<T: Copy> {
    short: [MaybeUninit<T>; SHORT],
    long: Vec<T>,
    length: usize,
}

impl<T: Copy> Buffer<T> {
    /// A list of the elements that `make` gives.
    #[inline]
    pub fn new(length: usize, mut make: impl FnMut(usize) -> T) -> Buffer<T> {
        let mut list = Buffer { short: [MaybeUninit::uninit(); SHORT], long: Vec::new(), length };
        if length <= SHORT {
            for (at, place) in list.short.iter_mut().enumerate().take(length) {
                place.write(make(at));
            }
        } else {
            list.long = (0..length).map(make).collect();
        }
        list
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        if self.length > SHORT {
            return &self.long;
        }
        // SAFETY: `new` wrote as many.
        unsafe { core::slice::from_raw_parts(self.short.as_ptr().cast(), self.length) }
    }

    /// Where they begin.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        if self.length > SHORT { self.long.as_mut_ptr() } else { self.short.as_mut_ptr().cast() }
    }
}

/// As many elements as an array of the program has; none where there is no array.
pub fn length<T>(array: *mut T, length: i64) -> usize {
    if array.is_null() { 0 } else { length.max(0) as usize }
}
