//! Error handlers (MPI-5.0 section 9.3).

use abi::{Error, Result};
use ffi::ErrhandlerFunction;

use crate::domain::Token;
use crate::handle::{self, Kind};
use crate::tables::error_handlers::{INVALID, UserHandler};

pub use crate::tables::error_handlers::{ErrhandlerKind, Handler, handle_of};

/// `MPI_Comm_create_errhandler` and its siblings
pub fn create(
    t: &mut Token,
    target: ErrhandlerKind,
    function: ErrhandlerFunction,
    new: &mut abi::Errhandler,
) -> Result<()> {
    let key = t
        .lock()
        .errhandlers
        .slab
        .insert(UserHandler { target, function, users: 1 })
        .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 error handlers exist"))?;
    *new = abi::Errhandler(handle::make(Kind::Errhandler, key));
    Ok(())
}

/// `MPI_Errhandler_free`: the handle goes, the handler stays while an object uses it.
pub fn free(t: &mut Token, errhandler: &mut abi::Errhandler) -> Result<()> {
    match *errhandler {
        abi::ERRORS_ARE_FATAL | abi::ERRORS_ABORT | abi::ERRORS_RETURN => {}
        handle => {
            let key = handle::key(Kind::Errhandler, handle.0).ok_or(INVALID)?;
            let mut state = t.lock();
            let function = state.errhandlers.slab.get(key).ok_or(INVALID)?.function;
            state.errhandlers.release(Handler::User { function, key });
        }
    }
    *errhandler = abi::ERRHANDLER_NULL;
    Ok(())
}

/// `MPI_Comm_set_errhandler`
pub fn set_comm(t: &mut Token, comm: abi::Comm, errhandler: abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    state.comm(comm)?;
    let handler = state.errhandlers.resolve(errhandler, ErrhandlerKind::Comm)?;
    let handler = state.errhandlers.acquire(handler);
    let old = std::mem::replace(&mut state.comms.get_mut(comm)?.errhandler, handler);
    state.errhandlers.release(old);
    Ok(())
}

/// `MPI_Comm_get_errhandler`: a new reference, to be freed.
pub fn get_comm(t: &mut Token, comm: abi::Comm, errhandler: &mut abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    let handler = state.comm(comm)?.errhandler;
    *errhandler = handle_of(state.errhandlers.acquire(handler));
    Ok(())
}

/// `MPI_Session_set_errhandler`
pub fn set_session(t: &mut Token, session: abi::Session, errhandler: abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    state.sessions.get(session)?;
    let handler = state.errhandlers.resolve(errhandler, ErrhandlerKind::Session)?;
    let handler = state.errhandlers.acquire(handler);
    let old = std::mem::replace(&mut state.sessions.get_mut(session)?.errhandler, handler);
    state.errhandlers.release(old);
    Ok(())
}

/// `MPI_Session_get_errhandler`
pub fn get_session(t: &mut Token, session: abi::Session, errhandler: &mut abi::Errhandler) -> Result<()> {
    let mut state = t.lock();
    let handler = state.sessions.get(session)?.errhandler;
    *errhandler = handle_of(state.errhandlers.acquire(handler));
    Ok(())
}

/// The handler that an object is made with; `MPI_ERRHANDLER_NULL` stands for the initial one. The object becomes a user of
/// it when it gets its handle, as with a handler that it has from another object.
pub fn initial(t: &mut Token, errhandler: abi::Errhandler, target: ErrhandlerKind) -> Result<Handler> {
    let state = t.lock();
    if errhandler == abi::ERRHANDLER_NULL {
        return Ok(state.errhandlers.initial);
    }
    state.errhandlers.resolve(errhandler, target)
}

/// `MPI_Comm_call_errhandler`: `Err` takes the road that every error takes.
pub fn call_comm(t: &mut Token, comm: abi::Comm, code: i32) -> Result<()> {
    t.lock().comm(comm)?;
    called(code)
}

/// `MPI_Session_call_errhandler`
pub fn call_session(t: &mut Token, session: abi::Session, code: i32) -> Result<()> {
    t.lock().sessions.get(session)?;
    called(code)
}

/// `Err` brings the code to the handler; `raise` knows it by [`CALLED`].
pub fn called(code: i32) -> Result<()> {
    if code == abi::SUCCESS { Ok(()) } else { Err(Error::new(code, CALLED)) }
}

/// Marks an error that the user raised by a `call_errhandler` function.
pub const CALLED: &str = "the program called the error handler itself";
