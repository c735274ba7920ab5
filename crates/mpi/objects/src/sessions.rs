//! Sessions by handle: what the calls of sessions and of all objects that come from one use.

use std::sync::Arc;

use abi::{Error, Result};

use crate::buffer_pool::BufferPool;
use crate::handle::{self, Kind, Objects};
use crate::tables::error_handlers::Handler;
use crate::tables::groups::Group;
use crate::tables::infos::Info;

/// A session.
pub struct Session {
    pub errhandler: Handler,
    pub buffer: BufferPool,
    pub info: Info,
    /// The groups of [`SETS`].
    pub sets: [Arc<Group>; SETS.len()],
}

/// Sessions by handle.
pub struct Sessions {
    slab: Objects<Session>,
}

const INVALID: Error = Error::new(abi::ERR_SESSION, "the handle names no session");

impl Sessions {
    pub const fn new() -> Sessions {
        Sessions { slab: Objects::new() }
    }

    /// Every session's handle.
    pub fn handles(&self) -> Vec<abi::Session> {
        self.slab.iter().map(|(key, _)| abi::Session(handle::make(Kind::Session, key))).collect()
    }

    /// Gives a session its handle.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when there are 2^20 sessions.
    pub fn add(&mut self, session: Session) -> Result<abi::Session> {
        let full = |_| Error::new(abi::ERR_OTHER, "more than 2^20 sessions exist");
        let key = self.slab.insert(session).map_err(full)?;
        Ok(abi::Session(handle::make(Kind::Session, key)))
    }

    /// Takes a session out.
    ///
    /// # Errors
    /// `MPI_ERR_SESSION`.
    pub fn remove(&mut self, handle: abi::Session) -> Result<Session> {
        handle::key(Kind::Session, handle.0).and_then(|key| self.slab.remove(key)).ok_or(INVALID)
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

/// The process sets that every session knows (MPI-5.0 section 11.3.2).
pub const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];
