//! Nonblocking collectives on the straight line. What is over within some looks leaves no request; of the rest the exchange
//! is kept with the request, advanced by progress, and taken out again by `MPI_Wait`, which goes on as a blocking call does.

use abi::{Error, Result};
use btl_vader::NodeArea;
use pml::Done;

use super::super::launch::done;
use super::{Noted, Started, complete};
use crate::domain::Token;
use crate::handle::RequestKey;
use crate::request::Composite;
use crate::state::State;

/// Looks before a request is made, where ranks have cores of their own: about as long as a line takes to cross.
pub(super) const LOOKS: u32 = 8;

/// A nonblocking collective without schedule.
pub(crate) struct Later {
    comm: abi::Comm,
    /// The exchange, until it is over.
    started: Option<Started<'static>>,
    result: Result<()>,
    /// Nobody will ask for the result.
    pub orphaned: bool,
}

/// What is left of a collective that has begun, as a request.
pub(super) fn leave(
    t: &mut Token,
    comm: abi::Comm,
    started: Started<'static>,
    request: &mut abi::Request,
) -> Result<()> {
    let later = Later { comm, started: Some(started), result: Ok(()), orphaned: false };
    let mut state = t.lock();
    *request = state.add_composite(Composite::Exchange(Box::new(later)))?;
    if let Some(RequestKey::Composite(key)) = RequestKey::of(*request) {
        state.active.push(key);
    }
    Ok(())
}

/// Waits for the collective of a request, if it is one on a straight line and not over, and drops it; the result.
pub(in super::super) fn finish(t: &mut Token, key: u32) -> Option<Done> {
    let (comm, started) = {
        let mut state = t.lock();
        let Some(Composite::Exchange(later)) = state.composites.get_mut(key) else { return None };
        let (comm, started) = (later.comm, later.started.take()?);
        state.composites.remove(key);
        state.active.retain(|&active| active != key);
        (comm, started)
    };
    Some(done(comm, complete(t, comm, started)))
}

impl Later {
    pub fn comm(&self) -> abi::Comm {
        self.comm
    }

    /// How the peers find this call, while it is under way.
    pub(in super::super) fn noted(&self) -> Option<Noted> {
        self.started.as_ref()?.noted
    }

    pub fn is_complete(&self) -> bool {
        self.started.is_none()
    }

    /// Goes as far as it can; the area, if that is to the end.
    pub fn advance(&mut self) -> Option<Box<NodeArea>> {
        let exchange = &mut self.started.as_mut()?.exchange;
        if !exchange.look() {
            return None;
        }
        self.result = exchange.result();
        self.end()
    }

    /// Ends the call with an error; the area, if it was under way.
    pub fn fail(&mut self, error: Error) -> Option<Box<NodeArea>> {
        self.result = Err(error);
        self.end()
    }

    fn end(&mut self) -> Option<Box<NodeArea>> {
        self.started.take().map(|started| started.exchange.into_area())
    }

    /// The result of a complete collective, for its request.
    pub fn outcome(&self) -> Done {
        done(self.comm, self.result)
    }
}

impl State {
    /// Looks for what a collective on a straight line awaits; whether it is over.
    pub(in super::super) fn advance_exchange(&mut self, key: u32) -> bool {
        let Some(Composite::Exchange(later)) = self.composites.get_mut(key) else { return true };
        let comm = later.comm;
        let area = later.advance();
        let (over, orphaned) = (later.is_complete(), later.orphaned);
        if let Some(area) = area {
            self.return_to(comm, area);
        }
        if over && orphaned {
            self.composites.remove(key);
        }
        over
    }
}
