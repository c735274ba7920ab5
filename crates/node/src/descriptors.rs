//! Descriptors handed from one process of the node to others, at any time after initialisation and without a guard.
//!
//! ```text
//!   owner                                          taker
//!    offer: keep the descriptor open,               │
//!           put a secret key into own memory        │
//!    │ ── ticket (number, address, key) ──────────► │   by any message
//!    │                                              │ open a handle on the owner's process (pidfd)
//!    │ ◄───────────────── take what is open under the number (pidfd_getfd)
//!    │ ◄───────────────── read the key at the address: the offer still stands, so the number still means
//!    │                    what was offered
//!    withdraw: take the key away, then close        │ the handle says that the process has not ended meanwhile
//! ```
//!
//! The kernel allows both steps where it allows direct reads of the owner's memory. Neither a number that means something
//! else by now nor a process id that does gets through: the key is found nowhere else.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use btl::Peer;
use platform::cma;
use platform::pidfd::Pidfd;

use crate::Node;

/// Why what another process of the node offered is not to be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum TakeError {
    /// The owner is no process of this node, or nobody knows its process id.
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
                "the system does not allow it: {error}\n\
                 start all processes as the same user and by Alhena's own mpiexec, or set kernel.yama.ptrace_scope to 0"
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

/// A descriptor that other processes of the node may take, as long as this lives.
#[derive(Debug)]
pub struct Offer {
    fd: OwnedFd,
    /// Read by the takers at its address.
    key: Box<AtomicU64>,
}

/// What a process must know to take a descriptor: three words that any message may carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DescriptorTicket {
    number: i32,
    address: u64,
    key: u64,
}

impl Offer {
    /// Offers a descriptor to the processes of the node that get the ticket.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(fd: OwnedFd) -> io::Result<Offer> {
        // 0 is what a withdrawn offer has.
        let key = platform::random::number()? | 1;
        Ok(Offer { fd, key: Box::new(AtomicU64::new(key)) })
    }

    /// What the others take it by.
    pub fn ticket(&self) -> DescriptorTicket {
        let key = self.key.load(Ordering::Relaxed);
        DescriptorTicket { number: self.fd.as_raw_fd(), address: self.key.as_ptr() as u64, key }
    }

    /// The offered descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Offer {
    /// Takes the key away; the descriptor is closed afterwards, with the fields.
    fn drop(&mut self) {
        self.key.store(0, Ordering::SeqCst);
    }
}

impl DescriptorTicket {
    /// The words for a message.
    pub fn words(&self) -> [u64; 3] {
        [self.number as u64, self.address, self.key]
    }

    /// From the words of a message; `None` for what no offer gives.
    pub fn from_words([number, address, key]: [u64; 3]) -> Option<DescriptorTicket> {
        let number = i32::try_from(number).ok()?;
        (key != 0).then_some(DescriptorTicket { number, address, key })
    }
}

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

    /// Takes a descriptor that `peer`, a process of this node, offers.
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn take(&self, peer: Peer, ticket: &DescriptorTicket) -> Result<OwnedFd, TakeError> {
        let owner = self.owner(peer)?;
        let fd = owner.take(ticket.number)?;
        match cma::read_number(owner.pid, ticket.address) {
            // Before that, the process id could be another one's by now.
            _ if owner.handle.has_ended() => Err(TakeError::Gone),
            Err(cma::Failure::Refused) => Err(TakeError::Refused(io::ErrorKind::PermissionDenied.into())),
            Ok(key) if key == ticket.key => Ok(fd),
            _ => Err(TakeError::NotOffered("the offer was withdrawn")),
        }
    }
}

/// `ESRCH`, for which `ErrorKind` has no name.
pub(crate) const NO_PROCESS: i32 = 3;
