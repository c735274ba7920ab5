//! Requests that are complete from the start.

use abi::{Result, Status};
use engine::{Afterlife, Fate, Operation};
use pml::Done;

use super::EMPTY;
use crate::state::State;

/// Shared by all requests that leave this status, and never freed.
pub(super) struct Immediate(pub Status);

impl Operation<State> for Immediate {
    fn is_over(&mut self, _state: &mut State) -> bool {
        true
    }

    fn outcome(&self) -> Done {
        Done { status: self.0, ..EMPTY }
    }

    fn conclude(&mut self) -> (Done, Fate) {
        (self.outcome(), Fate::Shared)
    }

    fn cancel(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        Afterlife::Stays
    }
}
