//! Sessions (MPI-5.0 section 11.3).

use abi::{Error, Result};

use crate::buffer::BufferPool;
use crate::errhandler::Handler;
use crate::handle::{self, Kind, Objects};

/// A session.
pub(crate) struct Session {
    pub errhandler: Handler,
    pub buffer: BufferPool,
}

/// Sessions by handle.
pub(crate) struct Sessions {
    slab: Objects<Session>,
}

const INVALID: Error = Error::new(abi::ERR_SESSION, "the handle names no session");

impl Sessions {
    pub const fn new() -> Sessions {
        Sessions { slab: Objects::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    pub fn get(&self, handle: abi::Session) -> Result<&Session> {
        handle::key(Kind::Session, handle.0).and_then(|key| self.slab.get(key)).ok_or(INVALID)
    }

    pub fn get_mut(&mut self, handle: abi::Session) -> Result<&mut Session> {
        handle::key(Kind::Session, handle.0).and_then(|key| self.slab.get_mut(key)).ok_or(INVALID)
    }
}
