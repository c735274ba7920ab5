//! Requests that are complete from the start.

use abi::{Error, Result, Status};
use engine::{Afterlife, Fate, Operation};
use pml::Done;

use super::EMPTY;
use crate::state::State;

/// Shared by all requests that leave this status, and never freed.
pub(super) struct Immediate {
    pub status: Status,
    /// Whether `MPI_Cancel` is allowed, and does nothing.
    pub may_be_cancelled: bool,
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
