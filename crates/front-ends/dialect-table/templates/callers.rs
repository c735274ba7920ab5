// How functions of a program of this ABI are called.

use dialect::callback::{Dialect, callers};

use crate::functions::{datatype, errcode, keyval};

/// For a call that hands on functions of the program.
pub static CALLERS: ffi::Callers = callers::<Abi>();

/// The ABI.
pub struct Abi;

impl Dialect for Abi {
    type Handle = Handle;
    type Status = Status;

    fn datatype(ours: usize) -> Handle {
        datatype::to(ours)
    }

    fn object(ours: usize) -> usize {
        callback::object(ours)
    }

    fn keyval(ours: i32) -> i32 {
        keyval::to(ours)
    }

    fn code_of(theirs: i32) -> i32 {
        errcode::of(theirs)
    }

    fn code_to(ours: i32) -> i32 {
        errcode::to(ours)
    }
}
