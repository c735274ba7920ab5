//! A persistent collective as a request: one call, started again and again (MPI-5.0 section 6.13).

use abi::Result;
use engine::{Advance, Blocking, Fate, Operation};
use observe::Part;
use pml::Done;

use super::advance::advance_to_end;
use super::run::Running;
use super::stage::Stage;
use objects::comm::Held;
use objects::domain::Token;
use objects::state::State;

/// The call of an `_init` function.
pub(super) struct Persistent {
    /// `None` while a call that waits for it has it.
    running: Option<Box<Running>>,
    stage: Stage,
    /// The communicator, which the program may free before it starts the call.
    held: Held,
}

impl Persistent {
    /// A call that is not started.
    pub fn new(running: Box<Running>, held: Held) -> Persistent {
        Persistent { running: Some(running), stage: Stage::Inactive, held }
    }

    /// The call, while it is on its way.
    pub fn running(&mut self) -> Option<&mut Running> {
        self.running.as_deref_mut().filter(|_| self.stage == Stage::Started)
    }
}

/// Waits for the round of a request as a blocking call does, and takes its result. `None`: it is over, or waits for a reduction
/// of the program.
fn finish(t: &mut Token, key: u32) -> Option<(Done, Fate)> {
    let mut running = {
        let mut state = t.lock();
        let it = state.requests.get_as::<Persistent>(key)?;
        it.running().filter(|running| running.is_under_way())?;
        it.running.take()?
    };
    advance_to_end(t, &mut running);
    let mut state = t.lock();
    let it = state.requests.get_as::<Persistent>(key)?;
    it.stage = Stage::Complete(running.outcome());
    it.running = Some(running);
    Some(it.conclude())
}

impl Operation<State> for Persistent {
    fn is_over(&mut self, _state: &mut State) -> bool {
        if let Some(running) = self.running().filter(|running| running.is_complete()) {
            self.stage = Stage::Complete(running.outcome());
        }
        self.stage != Stage::Started
    }

    fn is_active(&self) -> bool {
        self.stage != Stage::Inactive
    }

    fn outcome(&self) -> Done {
        self.stage.outcome()
    }

    fn start(&mut self, state: &mut State, _key: u32) -> Result<bool> {
        let Some(running) = &mut self.running else { return Ok(false) };
        running.move_to(self.held.comm());
        running.fill_copies();
        running.begin()?;
        self.stage = Stage::Started;
        if let (Some(logged), Some(node)) = (running.logged(), &state.node) {
            logged.write(node);
        }
        Ok(true)
    }

    fn blocking(&self) -> Option<Blocking<State>> {
        Some(finish)
    }

    fn lacks(&self, state: &State) -> Option<Part> {
        let running =
            self.running.as_ref().filter(|running| self.stage == Stage::Started && !running.is_complete());
        running.map(|running| running.part(state))
    }

    fn advance(&mut self, state: &mut State, key: u32) -> Advance {
        self.running().map_or(Advance::Finished, |running| running.go_on(state, key))
    }

    fn conclude(&mut self) -> (Done, Fate) {
        self.stage.conclude()
    }

    /// `MPI_Cancel` of a collective does nothing.
    fn cancel(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }
}
