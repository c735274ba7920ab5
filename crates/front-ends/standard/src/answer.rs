//! What a body answers to its entry point, and how errors become answers.

use core::mem::MaybeUninit;

use abi::{Error, Result};
use ffi::{Call, Given};
use objects::Attempt;

use crate::raise::{On, Raised};

/// The result of a body, returned in two registers (rax and rdx on x86-64, x0 and x1 on aarch64).
///
/// ```text
///   code      bit 63: a handler is due | bits 62 to 32: the handle | bits 31 to 0: the error code
///   handler   bit 63: the function returns success all the same | bits 62 to 0: the handler's address
/// ```
///
/// Without a due handler the upper half of `code` is zero and `handler` is not set.
#[repr(C)]
pub struct Answer {
    code: u64,
    handler: MaybeUninit<u64>,
}

const FLAG: u64 = 1 << 63;

impl Answer {
    /// A code that no handler needs to see.
    #[inline(always)]
    pub fn code(code: i32) -> Answer {
        Answer { code: u64::from(code as u32), handler: MaybeUninit::uninit() }
    }

    /// Has the entry point call the handler at `function` with `handle` and `code`, then return what the handler leaves of
    /// `code`, or success where `returns` is that.
    fn handler(function: usize, handle: usize, code: i32, returns: i32) -> Answer {
        debug_assert!(handle < 1 << 31, "handles have 31 bits");
        debug_assert!(returns == code || returns == abi::SUCCESS);
        let excused = if returns == code { 0 } else { FLAG };
        Answer {
            code: FLAG | (handle as u64) << 32 | u64::from(code as u32),
            handler: MaybeUninit::new(function as u64 | excused),
        }
    }
}

/// Runs `work`, the checked body of a function, and raises its error on an object, with what the function was given.
#[inline(always)]
pub fn answer<const N: usize>(
    on: On,
    given: impl FnOnce() -> Given<N>,
    work: impl FnOnce() -> Result<()>,
) -> Answer {
    match work() {
        Ok(()) => Answer::code(abi::SUCCESS),
        Err(error) => raise(on, error, given().call()),
    }
}

/// `MPI_SUCCESS` if a fast path did everything, else another number. An argument that cannot be converted is left
/// to the long way too.
#[inline(always)]
pub fn fast(line: impl FnOnce() -> Result<Attempt>) -> i32 {
    line().unwrap_or(Attempt::FULL_PATH).code()
}

#[cold]
#[inline(never)]
fn raise(on: On, error: Error, call: Call<'_>) -> Answer {
    match crate::raise::raise(on, error, call) {
        Raised::Return(code) => Answer::code(code),
        Raised::Handler { function, handle, code, returns } => {
            Answer::handler(function, handle, code, returns)
        }
    }
}

/// Runs `work`, the checked body of a function of the tool interface, which returns its code and raises nothing.
#[inline(always)]
pub fn tool(work: impl FnOnce() -> Result<()>) -> i32 {
    match work() {
        Ok(()) => abi::SUCCESS,
        Err(error) => error.class,
    }
}
