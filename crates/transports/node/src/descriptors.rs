//! Taking what another process of the node has open, by a handle on that process (pidfd).
//!
//! The system may refuse it, and neither the number of the descriptor nor the process id need mean by now what they meant
//! when they were sent; what was taken must show itself that it is the right one (`segments`).

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use btl::Peer;
use platform::pidfd::Pidfd;

use crate::Node;

/// Why what another process of the node offered is not to be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum TakeError {
    /// The owner is no process of this node, or its process id is unknown.
    Unknown,
    /// The owner has ended.
    Gone,
    /// The system does not let this process have it.
    Refused(io::Error),
    /// What was found is not what was offered; why.
    NotOffered(&'static str),
    /// It was found and cannot be mapped.
    Unmapped(shm::MapError),
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("taking what another process of this node shares failed\n")?;
        match self {
            TakeError::Unknown => f.write_str(
                "it is not on this node, or the launcher did not report its process id\n\
                 start the job by Alhena's own mpiexec",
            ),
            TakeError::Gone => f.write_str("the process has ended\nlook for its own message above"),
            TakeError::Refused(error) => write!(
                f,
                "the system does not let this process open what the other one has open: {error}\n\
                 run all ranks as one user, in one user and pid namespace, from a program that its user may read"
            ),
            TakeError::NotOffered(why) => write!(
                f,
                "what it has open is not what it offered: {why}\nkeep it open until all others have taken it"
            ),
            TakeError::Unmapped(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TakeError {}

/// Another process of the node, that does not turn into a third one unnoticed.
pub(crate) struct Owner {
    pub pid: i32,
    handle: Pidfd,
}

impl Owner {
    /// The process that `handle` is open on.
    pub fn new(pid: i32, handle: Pidfd) -> Owner {
        Owner { pid, handle }
    }

    /// Takes what it has open under a number.
    pub fn take(&self, number: i32) -> Result<OwnedFd, TakeError> {
        self.handle.take(number).map_err(|error| self.failure(error))
    }

    /// What an error of the system means.
    pub fn failure(&self, error: io::Error) -> TakeError {
        match error.kind() {
            _ if self.handle.has_ended() => TakeError::Gone,
            _ if error.raw_os_error() == Some(BAD_NUMBER) => TakeError::NotOffered("nothing is open there"),
            io::ErrorKind::NotFound => TakeError::NotOffered("nothing is open there"),
            _ => TakeError::Refused(error),
        }
    }
}

/// `EBADF`, for which `ErrorKind` has no name.
const BAD_NUMBER: i32 = 9;

impl Node {
    /// A handle on the process of `peer`, by the id that the launcher reported.
    pub(crate) fn owner(&self, peer: Peer) -> Result<Owner, TakeError> {
        let place = self.place_of(peer).ok_or(TakeError::Unknown)?;
        let &pid = self.pids.get(place as usize).ok_or(TakeError::Unknown)?;
        let handle = Pidfd::open(pid).map_err(|error| match error.raw_os_error() {
            Some(NO_PROCESS) => TakeError::Gone,
            _ => TakeError::Refused(error),
        })?;
        Ok(Owner::new(pid, handle))
    }
}

/// `ESRCH`, for which `ErrorKind` has no name.
pub(crate) const NO_PROCESS: i32 = 3;
