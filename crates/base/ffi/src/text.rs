//! Strings of the caller, and text written to the caller's memory.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use abi::{ERR_ARG, Error, Result};

/// An IN string.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL.
///
/// # Safety
/// The contract of this crate: a NUL-terminated string.
pub unsafe fn c_str<'a>(pointer: *const c_char, what: &'static str) -> Result<&'a CStr> {
    if pointer.is_null() {
        return Err(Error::new(ERR_ARG, what));
    }
    // SAFETY: not NULL, and a NUL-terminated string by the contract.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// An IN string that counts at the root alone: elsewhere it may be anything, and is not read.
#[derive(Clone, Copy, Debug)]
pub struct RootText<'a> {
    pointer: *const c_char,
    what: &'static str,
    lifetime: PhantomData<&'a CStr>,
}

impl<'a> RootText<'a> {
    /// Takes the pointer; nothing is read yet.
    ///
    /// # Safety
    /// The contract of this crate, at the root. Elsewhere nothing is promised, and [`RootText::get`] is not called.
    pub unsafe fn new(pointer: *const c_char, what: &'static str) -> RootText<'a> {
        RootText { pointer, what, lifetime: PhantomData }
    }

    /// The string, at the root.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for NULL.
    pub fn get(&self) -> Result<&'a CStr> {
        // SAFETY: the constructor's promise, since this is the root.
        unsafe { c_str(self.pointer, self.what) }
    }
}

/// Output text with a bound that both sides know (`MPI_MAX_…`), and often with a length beside it.
#[derive(Debug)]
pub struct StrOut<'a> {
    text: *mut c_char,
    capacity: usize,
    length: Option<&'a mut i32>,
}

impl<'a> StrOut<'a> {
    /// Text of at most `capacity` bytes with its NUL.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for NULL.
    ///
    /// # Safety
    /// The contract of this crate, for `capacity` bytes of `text`.
    pub unsafe fn new(
        text: *mut c_char,
        capacity: usize,
        length: Option<&'a mut i32>,
        what: &'static str,
    ) -> Result<StrOut<'a>> {
        if text.is_null() {
            return Err(Error::new(ERR_ARG, what));
        }
        Ok(StrOut { text, capacity, length })
    }

    /// Writes `value` with a NUL, cut to what fits, and the number of bytes before the NUL. Only the bytes
    /// written are touched.
    pub fn set(&mut self, value: &str) {
        let written = match self.capacity.checked_sub(1) {
            // SAFETY: the constructor vouches for `capacity` bytes.
            Some(room) => unsafe { write(self.text, room, value.as_bytes()) },
            None => 0,
        };
        if let Some(length) = &mut self.length {
            **length = i32::try_from(written).unwrap_or(i32::MAX);
        }
    }
}

/// Writes at most `room` bytes and a NUL; returns the bytes before the NUL.
///
/// # Safety
/// `room + 1` bytes at `text` must be writable.
unsafe fn write(text: *mut c_char, room: usize, value: &[u8]) -> usize {
    let written = value.len().min(room);
    // SAFETY: `written <= room`, and the caller vouches for `room + 1` bytes, which cannot be part of `value`.
    unsafe {
        core::ptr::copy_nonoverlapping(value.as_ptr(), text.cast::<u8>(), written);
        text.add(written).write(0);
    }
    written
}

/// Output text whose length goes both ways: room with the NUL on entry, the length needed with the NUL on return
/// (`MPI_Info_get_string`, `MPI_Session_get_nth_pset`, the tool interface).
#[derive(Debug)]
pub struct TextOut<'a> {
    text: *mut c_char,
    length: Option<&'a mut i32>,
}

impl<'a> TextOut<'a> {
    /// Text with `length` bytes of room; without `length`, or with NULL text, nothing is written there.
    ///
    /// # Safety
    /// The contract of this crate, for `length` bytes of `text`.
    pub unsafe fn new(text: *mut c_char, length: Option<&'a mut i32>) -> TextOut<'a> {
        TextOut { text, length }
    }

    /// Writes `value`, cut to what fits, and the length needed.
    pub fn set(&mut self, value: &str) {
        let Some(length) = &mut self.length else { return };
        if !self.text.is_null() && **length > 0 {
            // SAFETY: the constructor vouches for `length` bytes.
            unsafe { write(self.text, **length as usize - 1, value.as_bytes()) };
        }
        **length = i32::try_from(value.len() + 1).unwrap_or(i32::MAX);
    }
}

/// An IN array of strings.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    first: *const *const c_char,
    what: &'static str,
    lifetime: PhantomData<&'a CStr>,
}

impl<'a> Strings<'a> {
    /// Takes the pointer; nothing is read yet, and NULL is legal where no element is.
    ///
    /// # Safety
    /// The contract of this crate, for as many strings as the standard defines for the argument.
    pub unsafe fn new(first: *const *const c_char, what: &'static str) -> Strings<'a> {
        Strings { first, what, lifetime: PhantomData }
    }

    /// The string at `index`, which is below the number that the standard defines for the argument.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` where the array or the string is NULL.
    pub fn get(&self, index: usize) -> Result<&'a CStr> {
        if self.first.is_null() {
            return Err(Error::new(ERR_ARG, self.what));
        }
        // SAFETY: within the array by this function's contract; the strings are the constructor's promise.
        unsafe { c_str(*self.first.add(index), self.what) }
    }
}

/// An argument list that ends with NULL; `MPI_ARGV_NULL` is an empty one.
#[derive(Clone, Copy, Debug)]
pub struct Argv<'a> {
    first: *const *const c_char,
    lifetime: PhantomData<&'a CStr>,
}

impl<'a> Argv<'a> {
    /// Takes the pointer.
    ///
    /// # Safety
    /// The contract of this crate: NULL, or strings up to a NULL.
    pub unsafe fn new(first: *const *const c_char) -> Argv<'a> {
        Argv { first, lifetime: PhantomData }
    }

    /// The arguments in order.
    pub fn iter(self) -> impl Iterator<Item = &'a CStr> {
        let mut next = self.first;
        std::iter::from_fn(move || {
            if next.is_null() {
                return None;
            }
            // SAFETY: `next` has not passed the NULL that ends the list, which the constructor promises.
            let argument = unsafe { c_str(*next, "argv") }.ok()?;
            // SAFETY: the element was not the terminating NULL, so there is one after it.
            next = unsafe { next.add(1) };
            Some(argument)
        })
    }
}

/// One argument list per command of `MPI_Comm_spawn_multiple`; `MPI_ARGVS_NULL` gives every one an empty list.
#[derive(Clone, Copy, Debug)]
pub struct Argvs<'a> {
    first: *const *const *const c_char,
    lifetime: PhantomData<&'a CStr>,
}

impl<'a> Argvs<'a> {
    /// Takes the pointer.
    ///
    /// # Safety
    /// The contract of this crate: NULL, or one list per command.
    pub unsafe fn new(first: *const *const *const c_char) -> Argvs<'a> {
        Argvs { first, lifetime: PhantomData }
    }

    /// The list of the command at `index`, which is below the number of commands.
    pub fn get(self, index: usize) -> Argv<'a> {
        let list = match self.first.is_null() {
            true => std::ptr::null(),
            // SAFETY: below the number of commands, for which the constructor promises lists.
            false => unsafe { *self.first.add(index) },
        };
        Argv { first: list, lifetime: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text written by `set` into room that it must not overrun: the canary behind it stays.
    fn bounded(capacity: usize, value: &str) -> (Vec<u8>, i32) {
        let mut memory = [b'#'; 8];
        let mut length = -1;
        // SAFETY: the array is longer than every capacity used here.
        let out = unsafe { StrOut::new(memory.as_mut_ptr().cast(), capacity, Some(&mut length), "text") };
        out.unwrap().set(value);
        (memory.to_vec(), length)
    }

    #[test]
    fn bounded_text_is_cut_and_terminated() {
        assert_eq!(bounded(4, "abcdef"), (b"abc\0####".to_vec(), 3));
        assert_eq!(bounded(4, "ab"), (b"ab\0#####".to_vec(), 2));
        assert_eq!(bounded(0, "ab"), (b"########".to_vec(), 0));
    }

    #[test]
    fn two_way_text_reports_the_length_needed() {
        let mut memory = [b'#'; 8];
        let mut length = 3;
        // SAFETY: the array has more than three bytes.
        unsafe { TextOut::new(memory.as_mut_ptr().cast(), Some(&mut length)) }.set("abcdef");
        assert_eq!((&memory, length), (b"ab\0#####", 7));
        length = 0;
        // SAFETY: with length zero nothing is written to the text.
        unsafe { TextOut::new(memory.as_mut_ptr().cast(), Some(&mut length)) }.set("xyz");
        assert_eq!((&memory, length), (b"ab\0#####", 4));
    }

    #[test]
    fn argument_lists_end_at_null() {
        let list = [c"a".as_ptr(), c"b".as_ptr(), std::ptr::null()];
        // SAFETY: two strings and the terminating NULL.
        let argv = unsafe { Argv::new(list.as_ptr()) };
        assert_eq!(argv.iter().collect::<Vec<_>>(), [c"a", c"b"]);
        // SAFETY: NULL is the empty list.
        assert_eq!(unsafe { Argv::new(std::ptr::null()) }.iter().count(), 0);
    }
}
