//! Text: blank-padded with its length in Fortran, ended by a NUL in C.

use core::ffi::{CStr, c_char};
use core::slice;
use std::ffi::CString;

use crate::place::P;
use crate::{library, sentinel};

/// Text that goes in, without the blanks behind it.
///
/// # Safety
/// The text has as many bytes.
pub unsafe fn input(text: *const u8, length: usize) -> CString {
    // SAFETY: the caller's promise.
    until_nul(without_end(unsafe { bytes(text, length) }))
}

/// Text that goes in, without the blanks around it.
///
/// # Safety
/// The text has as many bytes.
pub unsafe fn trimmed(text: *const u8, length: usize) -> CString {
    // SAFETY: the caller's promise.
    let text = without_end(unsafe { bytes(text, length) });
    let first = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
    until_nul(&text[first..])
}

unsafe fn bytes<'a>(text: *const u8, length: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(text, length) }
}

/// Text without the blanks behind it.
fn without_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

/// Programs may end text by themselves.
fn until_nul(text: &[u8]) -> CString {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Strings as C has them: pointers with NULL behind the last one.
pub struct List {
    _texts: Vec<CString>,
    pointers: Option<Vec<*const c_char>>,
}

impl List {
    fn new(texts: Vec<CString>) -> List {
        let ends = texts.iter().map(|text| text.as_ptr()).chain([core::ptr::null()]);
        let pointers = Some(ends.collect());
        List { _texts: texts, pointers }
    }

    /// The address of the pointers, or what C has for no arguments.
    pub fn address(&self) -> P {
        self.pointers.as_ref().map_or(library::ARGV_NULL as P, |pointers| pointers.as_ptr() as P)
    }
}

/// Strings of an array, without the blanks around them: the commands of MPI_Comm_spawn_multiple.
///
/// # Safety
/// The array has as many elements of that length.
pub unsafe fn list(texts: *const u8, length: usize, count: i64) -> List {
    // SAFETY: the caller's promise.
    List::new(
        (0..count.max(0) as usize).map(|at| unsafe { trimmed(texts.add(at * length), length) }).collect(),
    )
}

/// Strings of an array up to the first blank one, without the blanks around them (MPI-5.0 section 11.8.2).
///
/// # Safety
/// The array is `MPI_ARGV_NULL` or has a blank element.
pub unsafe fn until_blank(texts: *const u8, length: usize) -> List {
    if sentinel::has_no_arguments(texts as P) {
        return List { _texts: Vec::new(), pointers: None };
    }
    // SAFETY: the caller's promise.
    List::new(unsafe { column(texts, length, length) })
}

unsafe fn column(texts: *const u8, length: usize, stride: usize) -> Vec<CString> {
    // SAFETY: no element behind the blank one is read.
    let all = (0..).map(|at: usize| unsafe { trimmed(texts.add(at * stride), length) });
    all.take_while(|text| !text.is_empty()).collect()
}

/// The arguments of several commands.
pub struct Table {
    _rows: Vec<List>,
    pointers: Option<Vec<P>>,
}

impl Table {
    /// The address of the pointers, or what C has for no arguments.
    pub fn address(&self) -> P {
        self.pointers.as_ref().map_or(library::ARGVS_NULL as P, |pointers| pointers.as_ptr() as P)
    }
}

/// The rows of an array of `rows` rows, each up to its first blank element; the first `used` of them.
///
/// # Safety
/// The array is `MPI_ARGVS_NULL` or each of these rows has a blank element.
pub unsafe fn table(texts: *const u8, length: usize, rows: i32, used: i64) -> Table {
    if sentinel::has_no_arguments(texts as P) {
        return Table { _rows: Vec::new(), pointers: None };
    }
    let stride = length * rows.max(0) as usize;
    // SAFETY: the caller's promise.
    let row = |at: usize| unsafe { column(texts.add(at * length), length, stride) };
    let rows: Vec<List> = (0..used.max(0) as usize).map(|at| List::new(row(at))).collect();
    let pointers = Some(rows.iter().map(List::address).collect());
    Table { _rows: rows, pointers }
}

/// The longest text whose length a program gives, with its NUL: a value of an info object or the name of a process set.
const LONGEST: i32 = max(library::MAX_INFO_VAL, library::MAX_PSET_NAME_LEN);

const fn max(one: i32, other: i32) -> i32 {
    if one > other { one } else { other }
}

/// Room for as many characters and the NUL, and for the longest text at most: no text is as long as that room.
pub fn room(characters: i32) -> i32 {
    characters.min(LONGEST) + 1
}

/// Text that comes out.
pub struct Output {
    bytes: Vec<u8>,
}

/// A byte that C functions begin no text with.
const UNTOUCHED: u8 = 0xff;

impl Output {
    /// Room for so many bytes with the NUL.
    pub fn new(capacity: i32) -> Output {
        let mut bytes = vec![0; capacity.max(1) as usize + 1];
        bytes[0] = UNTOUCHED;
        Output { bytes }
    }

    /// Where C writes.
    pub fn address(&mut self) -> P {
        self.bytes.as_mut_ptr() as P
    }

    /// Gives the text with blanks behind it, if C has written some.
    ///
    /// # Safety
    /// The place has as many bytes.
    pub unsafe fn give(&self, place: *mut u8, length: usize) {
        if self.bytes[0] == UNTOUCHED || place.is_null() {
            return;
        }
        let text = CStr::from_bytes_until_nul(&self.bytes).map_or(&[][..], CStr::to_bytes);
        // SAFETY: the caller's promise.
        let place = unsafe { slice::from_raw_parts_mut(place, length) };
        let taken = text.len().min(length);
        place[..taken].copy_from_slice(&text[..taken]);
        place[taken..].fill(b' ');
    }
}
