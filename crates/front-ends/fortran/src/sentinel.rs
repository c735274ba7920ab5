//! Objects of the interfaces with a meaning of their own: `MPI_BOTTOM`, `MPI_IN_PLACE` … (MPI-5.0 section 2.5.4).
//!
//! Fortran passes their addresses, where C has small numbers. They are COMMON blocks in `mpif.h` and variables of the modules,
//! with one symbol for both; sizes must be those of the declarations. A program may have its own copy of each, which the
//! loader then makes this library's too, so their addresses are read from the loader's table.

use crate::library;
use crate::names::address_of;
use crate::place::P;

/// An object of so many bytes that lies where integers may.
#[repr(C, align(4))]
struct Words<const BYTES: usize>([u8; BYTES]);

/// An object of so many characters.
#[cfg(dialect)]
#[repr(C)]
struct Bytes<const BYTES: usize>([u8; BYTES]);

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Whether an address is no buffer of the program's own.
#[inline(always)]
pub fn is_special(address: P) -> bool {
    is_bottom(address) || is_in_place(address)
}

/// A buffer for C.
#[inline(always)]
pub fn buffer(address: P) -> P {
    if is_bottom(address) {
        library::BOTTOM as P
    } else if is_in_place(address) {
        library::IN_PLACE as P
    } else {
        address
    }
}

/// A buffer for C that a call may attach.
pub fn attached(address: P) -> P {
    if is_buffer_automatic(address) { library::BUFFER_AUTOMATIC as P } else { buffer(address) }
}

/// Replaces what C has for an automatic buffer by the program's object (MPI-5.0 section 3.6).
///
/// # Safety
/// The place is the program's and holds what C has answered.
pub unsafe fn detached(place: P) {
    // SAFETY: the caller's promise.
    let address = unsafe { &mut *place.cast::<P>() };
    if *address == library::BUFFER_AUTOMATIC as P {
        *address = buffer_automatic().unwrap_or(*address);
    }
}

/// A status for C.
#[inline(always)]
pub fn status(address: P) -> P {
    if is_status_ignore(address) { library::STATUS_IGNORE as P } else { address }
}

/// Statuses for C.
#[inline(always)]
pub fn statuses(address: P) -> P {
    if is_statuses_ignore(address) { library::STATUSES_IGNORE as P } else { address }
}

/// Weights for C.
pub fn weights(address: P) -> P {
    if is_unweighted(address) {
        library::UNWEIGHTED as P
    } else if is_weights_empty(address) {
        library::WEIGHTS_EMPTY as P
    } else {
        address
    }
}

/// Error codes for C.
pub fn error_codes(address: P) -> P {
    if is_errcodes_ignore(address) { library::ERRCODES_IGNORE as P } else { address }
}

/// Whether there are no arguments.
pub fn has_no_arguments(address: P) -> bool {
    is_argv_null(address) || is_argvs_null(address)
}
