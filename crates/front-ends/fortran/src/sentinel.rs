//! Objects of the interfaces with a meaning of their own: `MPI_BOTTOM`, `MPI_IN_PLACE` … (MPI-5.0 section 2.5.4).
//!
//! Fortran passes their addresses, where C has small numbers. They are COMMON blocks in `mpif.h` and variables of the modules,
//! with one symbol for both; sizes must be those of the declarations. A program may have its own copy of each, which the
//! loader then makes this library's too, so their addresses are read from the loader's table.

use crate::names::address_of;
use crate::place::P;

/// An object of so many integers.
#[repr(C, align(16))]
pub struct Object<const INTEGERS: usize>([i32; INTEGERS]);

macro_rules! objects {
    ($($symbol:ident $name:ident $size:literal)*) => { $(
        #[unsafe(no_mangle)]
        static mut $symbol: Object<$size> = Object([0; $size]);

        #[inline(always)]
        fn $name() -> P {
            address_of!($symbol)
        }
    )* };
}

objects! {
    mpi_fortran_bottom_ bottom 4
    mpi_fortran_in_place_ in_place 4
    mpi_fortran_buffer_automatic_ buffer_automatic 4
    mpi_fortran_status_ignore_ status_ignore 8
    mpi_fortran_statuses_ignore_ statuses_ignore 8
    mpi_f08_status_ignore_ typed_status_ignore 8
    mpi_f08_statuses_ignore_ typed_statuses_ignore 8
    mpi_fortran_errcodes_ignore_ errcodes_ignore 4
    mpi_fortran_unweighted_ unweighted 4
    mpi_fortran_weights_empty_ weights_empty 4
    mpi_fortran_argv_null_ argv_null 4
    mpi_fortran_argvs_null_ argvs_null 4
}

/// A buffer for C.
#[inline(always)]
pub fn buffer(address: P) -> P {
    if address == bottom() {
        abi::BOTTOM as P
    } else if address == in_place() {
        abi::IN_PLACE as P
    } else if address == buffer_automatic() {
        abi::BUFFER_AUTOMATIC as P
    } else {
        address
    }
}

/// Whether a buffer is `MPI_IN_PLACE`.
pub fn is_in_place(address: P) -> bool {
    address == in_place()
}

/// A status for C.
#[inline(always)]
pub fn status(address: P) -> P {
    if address == status_ignore() || address == typed_status_ignore() {
        abi::STATUS_IGNORE as P
    } else {
        address
    }
}

/// Statuses for C.
#[inline(always)]
pub fn statuses(address: P) -> P {
    if address == statuses_ignore() || address == typed_statuses_ignore() {
        abi::STATUSES_IGNORE as P
    } else {
        address
    }
}

/// Weights for C.
pub fn weights(address: P) -> P {
    if address == unweighted() {
        abi::UNWEIGHTED as P
    } else if address == weights_empty() {
        abi::WEIGHTS_EMPTY as P
    } else {
        address
    }
}

/// Error codes for C.
pub fn error_codes(address: P) -> P {
    if address == errcodes_ignore() { abi::ERRCODES_IGNORE as P } else { address }
}

/// Whether there are no arguments.
pub fn is_argv_null(address: P) -> bool {
    address == argv_null() || address == argvs_null()
}
