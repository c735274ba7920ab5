//! Requests that are complete from the start.

use abi::{Error, Result, Status};
use engine::{Afterlife, Fate, Operation, Requests, Work};
use pml::Done;

use crate::handle::RequestKey;

/// The handle of a send that was over when its call returned.
pub const SENT: abi::Request = RequestKey::Operation(0).handle();
/// The handle of a receive from `MPI_PROC_NULL`.
pub const RECEIVED_NOTHING: abi::Request = RequestKey::Operation(1).handle();
/// The handle of a one-sided operation that was over when its call returned.
pub const ACCESSED: abi::Request = RequestKey::Operation(2).handle();

/// The result of an operation that moved nothing.
pub const EMPTY: Done = Done { status: Status::EMPTY, error: abi::SUCCESS, owner: 0 };

/// The store of requests, with the immediate ones at their keys.
pub fn requests<S: 'static>() -> Requests<S> {
    let mut requests = Requests::new();
    let immediate = [(Status::EMPTY, true), (Status::PROC_NULL, true), (Status::EMPTY, false)];
    for (status, may_be_cancelled) in immediate {
        // An empty store has room.
        let _ = requests.add(Immediate { status, may_be_cancelled });
    }
    requests
}

/// Shared by all requests that leave this status, and never freed.
struct Immediate {
    status: Status,
    /// Whether `MPI_Cancel` is allowed, and does nothing.
    may_be_cancelled: bool,
}

impl Immediate {
    fn done(&self) -> Done {
        Done { status: self.status, ..EMPTY }
    }
}

impl<S: 'static> Operation<S> for Immediate {
    fn is_over(&mut self, _state: &mut S) -> bool {
        true
    }

    fn outcome(&self) -> Done {
        self.done()
    }

    fn work(&self) -> Option<Work> {
        None
    }

    fn conclude(&mut self) -> (Done, Fate) {
        (self.done(), Fate::Shared)
    }

    fn cancel(&mut self, _state: &mut S) -> Result<()> {
        if self.may_be_cancelled {
            return Ok(());
        }
        Err(Error::new(abi::ERR_REQUEST, "a request of a one-sided operation cannot be cancelled"))
    }

    fn give_up(&mut self, _state: &mut S) -> Afterlife {
        Afterlife::Stays
    }
}
