//! Error handlers (MPI-5.0 section 9.3).

use abi::{Error, Result};
use ffi::ErrhandlerFunction;

use crate::domain::Token;
use crate::handle::{self, Kind, Objects};
use parameters::InitialErrhandler;

/// What an object does with its errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`: ends all connected processes.
    Fatal,
    /// `MPI_ERRORS_ABORT`: ends the processes of the object.
    Abort,
    /// `MPI_ERRORS_RETURN`.
    Return,
    /// The user's function, and its handle's key.
    User { function: ErrhandlerFunction, key: u32 },
}

impl From<InitialErrhandler> for Handler {
    fn from(word: InitialErrhandler) -> Handler {
        match word {
            InitialErrhandler::Fatal => Handler::Fatal,
            InitialErrhandler::Abort => Handler::Abort,
            InitialErrhandler::Return => Handler::Return,
        }
    }
}

/// Which kind of object an error handler was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrhandlerKind {
    /// `MPI_Comm_create_errhandler`
    Comm,
    /// `MPI_Win_create_errhandler`
    Win,
    /// `MPI_File_create_errhandler`
    File,
    /// `MPI_Session_create_errhandler`
    Session,
}

/// A user's error handler; alive while a handle or an object refers to it.
struct UserHandler {
    target: ErrhandlerKind,
    function: ErrhandlerFunction,
    users: u32,
}

/// Error handlers that users made.
pub struct Errhandlers {
    slab: Objects<UserHandler>,
    /// What objects start with: `-initial-errhandler` (MPI-5.0 section 11.2.2).
    pub initial: Handler,
}

impl Errhandlers {
    pub const fn new(initial: Handler) -> Errhandlers {
        Errhandlers { slab: Objects::new(), initial }
    }

    /// What a handle stands for, when it is to be set on a `target`.
    pub fn resolve(&self, handle: abi::Errhandler, target: ErrhandlerKind) -> Result<Handler> {
        match handle {
            abi::ERRORS_ARE_FATAL => return Ok(Handler::Fatal),
            abi::ERRORS_ABORT => return Ok(Handler::Abort),
            abi::ERRORS_RETURN => return Ok(Handler::Return),
            _ => {}
        }
        let key = handle::key(Kind::Errhandler, handle.0).ok_or(INVALID)?;
        match self.slab.get(key) {
            Some(user) if user.target == target => Ok(Handler::User { function: user.function, key }),
            Some(_) => Err(Error::new(abi::ERR_ARG, "the error handler was made for another kind of object")),
            None => Err(INVALID),
        }
    }

    /// One more user of the handler.
    pub fn acquire(&mut self, handler: Handler) -> Handler {
        if let Handler::User { key, .. } = handler
            && let Some(user) = self.slab.get_mut(key)
        {
            user.users += 1;
        }
        handler
    }

    /// One user less; the last one takes the handler with it.
    pub fn release(&mut self, handler: Handler) {
        let Handler::User { key, .. } = handler else { return };
        let Some(user) = self.slab.get_mut(key) else { return };
        user.users -= 1;
        if user.users == 0 {
            self.slab.remove(key);
        }
    }
}

const INVALID: Error = Error::new(abi::ERR_ERRHANDLER, "the handle names no error handler");

pub fn handle_of(handler: Handler) -> abi::Errhandler {
    match handler {
        Handler::Fatal => abi::ERRORS_ARE_FATAL,
        Handler::Abort => abi::ERRORS_ABORT,
        Handler::Return => abi::ERRORS_RETURN,
        Handler::User { key, .. } => abi::Errhandler(handle::make(Kind::Errhandler, key)),
    }
}

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
