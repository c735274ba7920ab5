//! Requests that are complete from the start.

use abi::{Error, Result, Status};
use engine::{Afterlife, Fate, Operation, Requests};
use pml::Done;

use crate::handle::RequestKey;
use crate::state::State;

/// The handle of a send that was over when its call returned.
pub const SENT: abi::Request = RequestKey::Operation(0).handle();
/// The handle of a receive from `MPI_PROC_NULL`.
pub const RECEIVED_NOTHING: abi::Request = RequestKey::Operation(1).handle();
/// The handle of a one-sided operation that was over when its call returned.
pub const ACCESSED: abi::Request = RequestKey::Operation(2).handle();

/// The result of an operation that moved nothing.
pub const EMPTY: Done = Done { status: Status::EMPTY, error: abi::SUCCESS, owner: 0 };

/// The store of requests, with the immediate ones at their keys.
pub fn requests() -> Requests<State> {
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

impl Operation<State> for Immediate {
    fn is_over(&mut self, _state: &mut State) -> bool {
        true
    }

    fn outcome(&self) -> Done {
        Done { status: self.status, ..EMPTY }
    }

    fn conclude(&mut self) -> (Done, Fate) {
        (self.outcome(), Fate::Shared)
    }

    fn cancel(&mut self, _state: &mut State) -> Result<()> {
        if self.may_be_cancelled {
            return Ok(());
        }
        Err(Error::new(abi::ERR_REQUEST, "a request of a one-sided operation cannot be cancelled"))
    }

    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        Afterlife::Stays
    }
}
