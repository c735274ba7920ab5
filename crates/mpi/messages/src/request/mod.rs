//! Requests: waiting, testing and freeing (MPI-5.0 sections 3.7.3 to 3.7.6).
//!
//! A point-to-point request is the PML's own; its handle is made from the PML's key and costs no second object.
//! Everything else is an [`engine::Operation`].

mod many;
mod pair;
mod status;
mod wait;

use abi::{Error, Result};
use pml::{Done, ReqId};

use engine::{Fate, Operation, with};

use crate::grequest::Generalized;
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::state::State;

pub use many::{testall, testany, testsome, waitall, waitany, waitsome};
pub use pair::Pair;
pub use status::{get_status, get_status_all, get_status_any, get_status_some};
pub use wait::{test, wait, wait_at_once};

/// What a finished request leaves.
pub struct Finished {
    pub done: Done,
    /// The handle is null from now on (and not a persistent request that became inactive).
    pub gone: bool,
    /// Functions of the user that complete a generalized request.
    pub generalized: Option<Generalized>,
}

/// Whether a request is known, and complete or inactive.
///
/// # Errors
/// `MPI_ERR_REQUEST`.
pub fn is_complete(state: &mut State, handle: abi::Request) -> Result<bool> {
    match RequestKey::of(handle).ok_or(UNKNOWN)? {
        RequestKey::Pml(key) => {
            let complete = state.p2p.is_complete(ReqId(key)).ok_or(UNKNOWN)?;
            Ok(complete || state.pending(ReqId(key)).is_some())
        }
        RequestKey::Operation(key) => {
            let is_over = with(state, key, |it, state| it.is_over(state)).ok_or(UNKNOWN)?;
            Ok(is_over || pending(state, key).is_some())
        }
    }
}

/// What a call gets that waits for an active persistent receive: see [`State::pending`].
#[inline]
fn pending(state: &State, key: u32) -> Option<Done> {
    if !state.failures.any {
        return None;
    }
    state.pending(state.requests.get(key)?.stands_for()?)
}

/// Whether a request is inactive: null, or persistent and not started.
pub(crate) fn is_inactive(state: &State, handle: abi::Request) -> Result<bool> {
    if handle == abi::REQUEST_NULL {
        return Ok(true);
    }
    match RequestKey::of(handle).ok_or(UNKNOWN)? {
        RequestKey::Pml(key) => state.p2p.is_complete(ReqId(key)).map(|_| false).ok_or(UNKNOWN),
        RequestKey::Operation(key) => Ok(!state.requests.get(key).ok_or(UNKNOWN)?.is_active()),
    }
}

/// The status of a complete request, left in place.
fn peek(state: &mut State, handle: abi::Request) -> Result<Finished> {
    let done = match RequestKey::of(handle).ok_or(UNKNOWN)? {
        RequestKey::Pml(key) => match state.pending(ReqId(key)) {
            Some(done) => done,
            None => *state.p2p.poll(ReqId(key)).ok_or(UNKNOWN)?,
        },
        RequestKey::Operation(key) => {
            let generalized = state.requests.get_as::<Generalized>(key).cloned();
            let outcome = || state.requests.get(key).ok_or(UNKNOWN).map(|it| it.outcome());
            let done = pending(state, key).map_or_else(outcome, Ok)?;
            return Ok(Finished { done, gone: false, generalized });
        }
    };
    Ok(Finished { done, gone: false, generalized: None })
}

/// Takes the result out of a complete request. `None`: still active.
fn take(state: &mut State, handle: abi::Request) -> Result<Option<Finished>> {
    match RequestKey::of(handle).ok_or(UNKNOWN)? {
        RequestKey::Pml(key) => {
            let done = state.p2p.take(ReqId(key)).or_else(|| state.pending(ReqId(key)));
            Ok(done.map(|done| {
                let gone = done.error != abi::ERR_PROC_FAILED_PENDING;
                Finished { done, gone, generalized: None }
            }))
        }
        RequestKey::Operation(key) => take_operation(state, key),
    }
}

fn take_operation(state: &mut State, key: u32) -> Result<Option<Finished>> {
    conclude_if(state, key, |it, state| it.is_over(state))
}

/// As [`take`], of an operation by a call that waits for it.
fn take_awaited(state: &mut State, key: u32) -> Result<Option<Finished>> {
    conclude_if(state, key, |it, state| it.is_over_soon(state))
}

fn conclude_if(
    state: &mut State,
    key: u32,
    is_over: impl FnOnce(&mut dyn Operation<State>, &mut State) -> bool,
) -> Result<Option<Finished>> {
    let (done, fate) = match with(state, key, |it, state| is_over(it, state).then(|| it.conclude())) {
        None => return Err(UNKNOWN),
        Some(None) => {
            return Ok(pending(state, key).map(|done| Finished { done, gone: false, generalized: None }));
        }
        Some(Some(concluded)) => concluded,
    };
    let mut generalized = None;
    if fate == Fate::Removed {
        generalized = state.requests.get_as::<Generalized>(key).cloned();
        if let Some(operation) = state.requests.remove(key) {
            operation.recycle(state);
        }
    }
    Ok(Some(Finished { done, gone: fate != Fate::Inactive, generalized }))
}

const UNKNOWN: Error =
    Error::new(abi::ERR_REQUEST, "the handle names no request (never created or complete)");

/// `MPI_Request_free`: an active request completes on its own.
pub fn free(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    let generalized = {
        let mut state = t.lock();
        match RequestKey::of(*request).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => {
                state.p2p.is_complete(ReqId(key)).ok_or(UNKNOWN)?;
                state.p2p.detach(ReqId(key));
                None
            }
            RequestKey::Operation(key) => {
                let generalized = state.requests.get_as::<Generalized>(key).cloned();
                let afterlife = with(&mut *state, key, |it, state| it.give_up(state)).ok_or(UNKNOWN)?;
                state.requests.free(key, afterlife);
                generalized
            }
        }
    };
    *request = abi::REQUEST_NULL;
    match generalized.filter(|generalized| generalized.complete) {
        Some(generalized) => generalized.free(t),
        None => Ok(()),
    }
}

/// `MPI_Cancel`
pub fn cancel(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    let handle = *request;
    let generalized = {
        let mut guard = t.lock();
        let state = &mut *guard;
        match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => {
                state.p2p.is_complete(ReqId(key)).ok_or(UNKNOWN)?;
                state.p2p.cancel(ReqId(key));
                None
            }
            RequestKey::Operation(key) => match state.requests.get_as::<Generalized>(key).cloned() {
                None => {
                    with(state, key, |it, state| it.cancel(state)).ok_or(UNKNOWN)??;
                    None
                }
                generalized => generalized,
            },
        }
    };
    generalized.map_or(Ok(()), |generalized| generalized.cancel(t))
}
