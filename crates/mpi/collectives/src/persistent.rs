//! A persistent collective as a request: one call, started again and again (MPI-5.0 section 6.13).

use abi::Result;
use engine::{Advance, Afterlife, Fate, Operation};
use pml::Done;

use super::run::Running;
use objects::comm::Held;
use objects::immediate::EMPTY;
use objects::state::State;

/// The call of an `_init` function.
pub(super) struct Persistent {
    running: Box<Running>,
    stage: Stage,
    /// The communicator, which the program may free before it starts the call.
    held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Inactive,
    Started,
    /// The result was not taken yet.
    Complete(Done),
}

impl Persistent {
    /// A call that is not started.
    pub fn new(running: Box<Running>, held: Held) -> Persistent {
        Persistent { running, stage: Stage::Inactive, held }
    }

    /// The call, while it is on its way.
    pub fn running(&mut self) -> Option<&mut Running> {
        (self.stage == Stage::Started).then_some(&mut *self.running)
    }
}

impl Operation<State> for Persistent {
    fn is_over(&mut self, _state: &mut State) -> bool {
        if self.stage == Stage::Started && self.running.is_complete() {
            self.stage = Stage::Complete(self.running.outcome());
        }
        self.stage != Stage::Started
    }

    fn is_active(&self) -> bool {
        self.stage != Stage::Inactive
    }

    fn outcome(&self) -> Done {
        match self.stage {
            Stage::Complete(done) => done,
            Stage::Inactive | Stage::Started => EMPTY,
        }
    }

    fn start(&mut self, state: &mut State, _key: u32) -> Result<bool> {
        self.running.move_to(self.held.comm());
        self.running.fill_copies();
        self.running.begin()?;
        self.stage = Stage::Started;
        if let (Some(logged), Some(node)) = (self.running.logged(), &state.node) {
            logged.write(node);
        }
        Ok(true)
    }

    fn advance(&mut self, state: &mut State, key: u32) -> Advance {
        self.running().map_or(Advance::Finished, |running| running.go_on(state, key))
    }

    /// The request can be started again.
    fn conclude(&mut self) -> (Done, Fate) {
        let done = self.outcome();
        self.stage = Stage::Inactive;
        (done, Fate::Inactive)
    }

    /// `MPI_Cancel` of a collective does nothing.
    fn cancel(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    /// A call on its way completes on its own.
    fn give_up(&mut self, state: &mut State) -> Afterlife {
        if self.is_over(state) { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}
