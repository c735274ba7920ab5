//! Error handlers of files (MPI-5.0 sections 9.3 and 14.7): those of `MPI_FILE_NULL` are what files start with, and where
//! errors go that belong to no open file.

use abi::Result;

use super::FILES;
use objects::domain::Token;
use objects::errhandler::{ErrhandlerKind, Handler, called, handle_of};
use objects::state::State;

/// The handler of a file, and the handle that the handler gets; what names no file has that of `MPI_FILE_NULL`.
pub fn handler_of(state: &State, file: abi::File) -> (Handler, usize) {
    match FILES.get(&state.tables).get(file) {
        Ok(found) => (found.errhandler, file.0),
        Err(_) => (FILES.get(&state.tables).initial, abi::FILE_NULL.0),
    }
}

fn place(state: &mut State, file: abi::File) -> Result<&mut Handler> {
    if file == abi::FILE_NULL {
        return Ok(&mut FILES.get_mut(&mut state.tables).initial);
    }
    Ok(&mut FILES.get_mut(&mut state.tables).get_mut(file)?.errhandler)
}

/// `MPI_File_set_errhandler`
pub fn set_errhandler(t: &mut Token, file: abi::File, errhandler: abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    place(&mut state, file)?;
    let handler = state.errhandlers.resolve(errhandler, ErrhandlerKind::File)?;
    let handler = state.errhandlers.acquire(handler);
    let old = std::mem::replace(place(&mut state, file)?, handler);
    state.errhandlers.release(old);
    Ok(())
}

/// `MPI_File_get_errhandler`: a new reference, to be freed.
pub fn get_errhandler(t: &mut Token, file: abi::File, errhandler: &mut abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    let handler = *place(&mut state, file)?;
    *errhandler = handle_of(state.errhandlers.acquire(handler));
    Ok(())
}

/// `MPI_File_call_errhandler`: `Err` takes the road that every error takes.
pub fn call_errhandler(t: &mut Token, file: abi::File, code: i32) -> Result<()> {
    place(&mut t.lock(), file)?;
    called(code)
}
