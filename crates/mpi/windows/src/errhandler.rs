//! Error handlers of windows (MPI-5.0 section 9.3).

use abi::Result;

use super::WINDOWS;
use objects::domain::Token;
use objects::errhandler::{ErrhandlerKind, called, handle_of};

/// `MPI_Win_set_errhandler`
pub fn set_errhandler(t: &mut Token, win: abi::Win, errhandler: abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    WINDOWS.get(&state.tables).get(win)?;
    let handler = state.errhandlers.resolve(errhandler, ErrhandlerKind::Win)?;
    let handler = state.errhandlers.acquire(handler);
    let old = std::mem::replace(&mut WINDOWS.get_mut(&mut state.tables).get_mut(win)?.errhandler, handler);
    state.errhandlers.release(old);
    Ok(())
}

/// `MPI_Win_get_errhandler`: a new reference, to be freed.
pub fn get_errhandler(t: &mut Token, win: abi::Win, errhandler: &mut abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    let handler = WINDOWS.get(&state.tables).get(win)?.errhandler;
    *errhandler = handle_of(state.errhandlers.acquire(handler));
    Ok(())
}

/// `MPI_Win_call_errhandler`
pub fn call_errhandler(t: &mut Token, win: abi::Win, code: i32) -> Result<()> {
    WINDOWS.get(&t.lock().tables).get(win)?;
    called(code)
}
