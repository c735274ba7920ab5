//! What a body answers to its entry point, and how errors become answers.

use core::mem::MaybeUninit;

use abi::{Error, Result};
use mpi_core::{On, Raised};

/// The result of a body, returned in two registers.
///
/// ```text
///   bit 63        62 ─────────── 32   31 ────────── 0
///  handler due    handle (31 bits)      error code        handler: its address, if one is due
/// ```
#[repr(C)]
pub struct Answer {
    code: u64,
    handler: MaybeUninit<usize>,
}

/// Set when the entry point must call a user's error handler before it returns.
const HANDLER_DUE: u64 = 1 << 63;

impl Answer {
    fn code(code: i32) -> Answer {
        Answer { code: u64::from(code as u32), handler: MaybeUninit::uninit() }
    }

    fn handler(code: i32, handle: usize, function: usize) -> Answer {
        debug_assert!(handle < 1 << 31, "handles have 31 bits");
        let code = HANDLER_DUE | (handle as u64) << 32 | u64::from(code as u32);
        Answer { code, handler: MaybeUninit::new(function) }
    }

    /// The error code, the handle and the handler, if one is due.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn parts(self) -> (i32, Option<(usize, usize)>) {
        let handle = (self.code & !HANDLER_DUE) >> 32;
        let due = self.code & HANDLER_DUE != 0;
        // SAFETY: the handler was written if and only if the bit was.
        (self.code as i32, due.then(|| (handle as usize, unsafe { self.handler.assume_init() })))
    }
}

/// Runs `work`, the checked body of `function`, and raises its error on an object.
#[inline(always)]
pub fn answer(on: On, function: &'static str, work: impl FnOnce() -> Result<()>) -> Answer {
    match work() {
        Ok(()) => Answer::code(abi::SUCCESS),
        Err(error) => raise(on, error, function),
    }
}

/// The answer of a function that has no target yet.
#[cold]
pub fn unsupported(on: On, function: &'static str, anytime: bool) -> Answer {
    let entered = if anytime { Ok(mpi_core::enter_any()) } else { mpi_core::enter() };
    raise(on, entered.err().unwrap_or(Error::unsupported("this function is not implemented yet")), function)
}

#[cold]
#[inline(never)]
fn raise(on: On, error: Error, function: &'static str) -> Answer {
    match mpi_core::raise(on, error, function) {
        Raised::Return(code) => Answer::code(code),
        Raised::Handler { function, handle, code } => Answer::handler(code, handle, function),
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
