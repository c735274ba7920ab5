//! Error handlers: what objects do with their errors.

use abi::{Error, Result};
use ffi::ErrhandlerFunction;
use parameters::InitialErrhandler;

use crate::handle::{self, Kind, Objects};

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
pub(crate) struct UserHandler {
    pub(crate) target: ErrhandlerKind,
    pub(crate) function: ErrhandlerFunction,
    pub(crate) users: u32,
}

/// Error handlers that users made.
pub struct Errhandlers {
    pub(crate) slab: Objects<UserHandler>,
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

pub(crate) const INVALID: Error = Error::new(abi::ERR_ERRHANDLER, "the handle names no error handler");

/// The handle of a handler.
pub fn handle_of(handler: Handler) -> abi::Errhandler {
    match handler {
        Handler::Fatal => abi::ERRORS_ARE_FATAL,
        Handler::Abort => abi::ERRORS_ABORT,
        Handler::Return => abi::ERRORS_RETURN,
        Handler::User { key, .. } => abi::Errhandler(handle::make(Kind::Errhandler, key)),
    }
}
