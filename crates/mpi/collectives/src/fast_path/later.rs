//! Nonblocking collectives on the fast path. What is over within some polls leaves no request; of the rest the exchange
//! is kept with the request, advanced by progress, and taken out again by `MPI_Wait`, which goes on as a blocking call
//! does.

use abi::Result;
use engine::{Advance, Afterlife, Blocking, Fate, Operation};
use ffi::copies::{self, Copies};
use observe::Part;
use pml::Done;

use super::super::check::LogReads;
use super::super::run::done;
use super::super::turns::return_to;
use super::{Blocks, Started, complete};
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::immediate::SENT;
use objects::state::State;

/// Polls before a request is made, where ranks have cores of their own: about as long as a cache line takes to cross.
pub(super) const POLLS: u32 = 8;

/// A nonblocking collective without schedule.
pub struct Later {
    comm: abi::Comm,
    /// The exchange, until it is over.
    started: Option<Started<&'static Blocks<'static>>>,
    result: Result<()>,
    /// Copies of the program's buffers that a front-end has given.
    copies: Option<Copies>,
    log_reads: LogReads,
}

/// What is left of a collective that has begun, as a request; where there is no room for one, the call waits for its end.
pub(super) fn leave(
    t: &mut Token,
    comm: abi::Comm,
    started: Started<&'static Blocks<'static>>,
    request: &mut abi::Request,
) -> Result<()> {
    let mut state = t.lock();
    if state.requests.check_room().is_err() {
        drop(state);
        *request = SENT;
        return complete(t, (comm, ""), started);
    }
    let copies = copies::take(request);
    let later =
        Later { comm, started: Some(started), result: Ok(()), copies, log_reads: LogReads::default() };
    let key = state.requests.add(later)?;
    state.requests.register(key);
    *request = RequestKey::Operation(key).handle();
    Ok(())
}

/// Waits for the collective of a request, if it is not over, and drops it; the result.
fn finish(t: &mut Token, key: u32) -> Option<(Done, Fate)> {
    let (comm, started, copies) = {
        let mut state = t.lock();
        let later = state.requests.get_as::<Later>(key)?;
        let (comm, started, copies) = (later.comm, later.started.take()?, later.copies.take());
        drop(state.requests.remove(key));
        (comm, started, copies)
    };
    let result = complete(t, (comm, "MPI_Wait"), started);
    copies.iter().for_each(Copies::give_back);
    Some((done(comm, result), Fate::Removed))
}

impl Later {
    pub(in super::super) fn comm(&self) -> abi::Comm {
        self.comm
    }

    /// Ends the call; the communicator gets its area back.
    fn end(&mut self, state: &mut State, result: Result<()>) -> Advance {
        self.result = result;
        if let Some(started) = self.started.take() {
            return_to(state, self.comm, started.exchange.into_slots().0);
        }
        self.copies.iter().for_each(Copies::give_back);
        Advance::Finished
    }
}

impl Operation<State> for Later {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.started.is_none()
    }

    fn outcome(&self) -> Done {
        done(self.comm, self.result)
    }

    fn blocking(&self) -> Option<Blocking<State>> {
        Some(finish)
    }

    fn lacks(&self, state: &State) -> Option<Part> {
        self.started.as_ref().map(|started| started.part(state, self.comm))
    }

    fn advance(&mut self, state: &mut State, _key: u32) -> Advance {
        let Some(started) = &mut self.started else { return Advance::Finished };
        match started.poll(state, self.comm, &mut self.log_reads) {
            Some(result) => self.end(state, result),
            None => Advance::Idle,
        }
    }

    /// Progress advances it in any case.
    fn give_up(&mut self, state: &mut State) -> Afterlife {
        if self.is_over(state) { Afterlife::Gone } else { Afterlife::UntilOver { register: false } }
    }
}
