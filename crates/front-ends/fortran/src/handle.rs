//! Handles: the integer of a handle of Alhena is its number (MPI-5.0 section 20.2). Another library may have pointers; it gives
//! their integers.

use crate::library::{self, Element};
use crate::origin;

/// The handle types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Comm,
    Datatype,
    Errhandler,
    File,
    Group,
    Info,
    Message,
    Op,
    Request,
    Session,
    Win,
}

/// Whether the C library's handles are the integers.
#[inline(always)]
fn is_integer() -> bool {
    library::HANDLES_ARE_INTEGERS && origin::is_kept()
}

/// The C handle of an integer.
#[inline(always)]
pub fn of(kind: Kind, handle: i32) -> usize {
    if is_integer() { handle as u32 as usize } else { of_integer(kind, handle) }
}

/// The integer of a C handle.
#[inline(always)]
pub fn to(kind: Kind, handle: usize) -> i32 {
    if is_integer() { number(handle) } else { to_integer(kind, handle) }
}

/// What stands where C is to write a handle: what the program has there, or none where that need not be a handle.
#[inline(always)]
pub fn before(handle: i32) -> usize {
    if is_integer() { handle as u32 as usize } else { 0 }
}

/// Writes a handle that C has answered, if it has.
///
/// # Safety
/// The place is the program's.
#[inline(always)]
pub unsafe fn give(kind: Kind, place: *mut i32, handle: usize) {
    if is_integer() || handle != 0 {
        // SAFETY: the caller's promise.
        unsafe { *place = to(kind, handle) };
    }
}

/// The integer of a C handle of Alhena.
#[inline(always)]
pub fn number(handle: usize) -> i32 {
    handle as u32 as i32
}

macro_rules! conversions {
    ($($kind:ident $of:ident $to:ident)*) => {
        unsafe extern "C" {
            $( fn $of(handle: i32) -> usize; fn $to(handle: usize) -> i32; )*
        }

        #[cold]
        fn of_integer(kind: Kind, handle: i32) -> usize {
            match kind {
                // SAFETY: the functions may be called at any time, with anything that the program has.
                $( Kind::$kind => unsafe { $of(handle) }, )*
            }
        }

        #[cold]
        fn to_integer(kind: Kind, handle: usize) -> i32 {
            match kind {
                // SAFETY: as above.
                $( Kind::$kind => unsafe { $to(handle) }, )*
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/handles.rs"));

/// The C handles of an array.
///
/// # Safety
/// The array has as many elements.
pub unsafe fn list(kind: Kind, handles: *const i32, length: i64) -> Vec<Element> {
    // SAFETY: the caller's promise.
    (0..length.max(0) as usize).map(|at| of(kind, unsafe { *handles.add(at) }) as Element).collect()
}

/// Places for as many C handles.
///
/// # Safety
/// The array has as many elements.
pub unsafe fn places(_kind: Kind, handles: *const i32, length: i64) -> Vec<Element> {
    // SAFETY: the caller's promise.
    (0..length.max(0) as usize).map(|at| before(unsafe { *handles.add(at) }) as Element).collect()
}

/// Writes C handles to an array.
///
/// # Safety
/// The array has as many elements as the list.
pub unsafe fn give_list(kind: Kind, handles: *mut i32, list: &[Element]) {
    for (at, handle) in list.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { give(kind, handles.add(at), library::widened(*handle)) };
    }
}
