//! What functions of the program are given, and those that the library itself has for it.

pub use crate::cxx::reduction;
use crate::functions::{comm, datatype, file, session, win};
use crate::{P, object as of_program};

/// The handle of an object with attributes or an error handler, of whichever kind. Those of communicators, windows, files and
/// sessions that a program did not make, and of datatypes, lie apart in the standard ABI.
pub fn object(ours: usize) -> usize {
    const FILE_NULL: usize = abi::FILE_NULL.0;
    const WIN_NULL: usize = abi::WIN_NULL.0;
    const SESSION_NULL: usize = abi::SESSION_NULL.0;
    const DATATYPES: usize = abi::DATATYPE_NULL.0;
    match ours {
        0x1000.. => of_program::dynamic(ours),
        FILE_NULL => file::to(ours),
        WIN_NULL => win::to(ours),
        SESSION_NULL => session::to(ours),
        DATATYPES.. => datatype::to(ours),
        _ => comm::to(ours),
    }
}

macro_rules! predefined {
    ($($dup:ident $null_copy:ident $null_delete:ident)*) => {
        $(
            /// The copy of an object gets the same attribute.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $dup(_: usize, _: i32, _: P, value: P, copy: *mut P, flag: *mut i32) -> i32 {
                // SAFETY: the program's places.
                unsafe { (*copy, *flag) = (value, 1) };
                0
            }

            /// The copy of an object goes without the attribute.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $null_copy(_: usize, _: i32, _: P, _: P, _: *mut P, flag: *mut i32) -> i32 {
                // SAFETY: the program's place.
                unsafe { *flag = 0 };
                0
            }

            /// Nothing is to be done when an attribute goes.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $null_delete(_: usize, _: i32, _: P, _: P) -> i32 {
                0
            }
        )*

        /// The function that copies an attribute: numbers here, where the dialect has functions of its own.
        pub fn copy(function: P) -> P {
            if [$( $dup as *const () as P ),*].contains(&function) {
                abi::COMM_DUP_FN as P
            } else if [$( $null_copy as *const () as P ),*].contains(&function) {
                abi::COMM_NULL_COPY_FN as P
            } else {
                function
            }
        }

        /// The function that deletes an attribute.
        pub fn delete(function: P) -> P {
            let nulls = [$( $null_delete as *const () as P ),*];
            if nulls.contains(&function) { abi::COMM_NULL_DELETE_FN as P } else { function }
        }
    };
}

predefined! {
    OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
    OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_NULL_DELETE_FN
}
