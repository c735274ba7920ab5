//! Error handlers of windows (MPI-5.0 section 9.3).

use abi::Result;

use crate::domain::Token;
use crate::errhandler::{Target, called, handle_of};

/// `MPI_Win_set_errhandler`
pub fn set_errhandler(t: &mut Token, win: abi::Win, errhandler: abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    state.windows.get(win)?;
    let handler = state.errhandlers.resolve(errhandler, Target::Win)?;
    let handler = state.errhandlers.acquire(handler);
    let old = std::mem::replace(&mut state.windows.get_mut(win)?.errhandler, handler);
    state.errhandlers.release(old);
    Ok(())
}

/// `MPI_Win_get_errhandler`: a new reference, to be freed.
pub fn get_errhandler(t: &mut Token, win: abi::Win, errhandler: &mut abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    let handler = state.windows.get(win)?.errhandler;
    *errhandler = handle_of(state.errhandlers.acquire(handler));
    Ok(())
}

/// `MPI_Win_call_errhandler`
pub fn call_errhandler(t: &mut Token, win: abi::Win, code: i32) -> Result<()> {
    t.lock().windows.get(win)?;
    called(code)
}
