//! Waiting for one request and testing it.

use abi::{Result, Status};
use engine::Fate;
use pml::{Done, ReqId};

use super::{Finished, UNKNOWN};
use crate::persistent::take_at_once;
use objects::domain::{Attempt, Token, enter_plain};
use objects::handle::RequestKey;
use objects::immediate::{EMPTY, SENT};
use objects::reason;
use objects::state::State;
use objects::wait::{poll, wait_for_request, wait_for_request_seen, wait_for_seen};
use observe::Need;

/// Waits for one request and takes its result; `None` for a null request.
pub(super) fn wait_one(t: &mut Token, request: &mut abi::Request) -> Result<Option<Done>> {
    let handle = *request;
    if handle == abi::REQUEST_NULL {
        return Ok(None);
    }
    if handle == SENT {
        *request = abi::REQUEST_NULL;
        return Ok(Some(EMPTY));
    }
    let key = RequestKey::of(handle);
    if let Some(RequestKey::Pml(key)) = key {
        let id = ReqId(key);
        if let Some(done) = take_soon(&mut t.lock(), id) {
            *request = abi::REQUEST_NULL;
            return Ok(Some(done));
        }
        let done =
            wait_for_request(t, id, |state| match state.take_awaited(id).or_else(|| state.pending(id)) {
                Some(done) => Some(Ok(done)),
                None => state.p2p.is_complete(id).is_none().then_some(Err(UNKNOWN)),
            })?;
        if done.error != abi::ERR_PROC_FAILED_PENDING {
            *request = abi::REQUEST_NULL;
        }
        return Ok(Some(done));
    }
    let why = |state: &mut State| reason::of_requests(state, "MPI_Wait", Need::All, [handle]);
    let known = super::is_complete(&mut t.lock(), handle)?;
    if let (Some(RequestKey::Operation(key)), false) = (key, known) {
        let (blocking, one) = {
            let state = t.lock();
            let it = state.requests.get(key);
            (it.and_then(|it| it.blocking()), it.and_then(|it| it.stands_for()))
        };
        if let Some((done, fate)) = blocking.and_then(|go_on| go_on(t, key)) {
            if fate != Fate::Inactive {
                *request = abi::REQUEST_NULL;
            }
            return Ok(Some(done));
        }
        if let Some(id) = one {
            let taken = |state: &mut State| super::take_awaited(state, key).transpose();
            let finished = wait_for_request_seen(t, id, why, taken)?;
            return Ok(Some(conclude(t, request, finished)));
        }
    }
    let finished = wait_for_seen(t, why, |state| super::take(state, handle).transpose())?;
    Ok(Some(conclude(t, request, finished)))
}

/// The result of a request that is complete or becomes so by some polls, where nothing follows the wait for it.
#[inline]
fn take_soon(state: &mut State, id: ReqId) -> Option<Done> {
    if state.after_wait.is_some() {
        return None;
    }
    state.take_awaited(id)
}

/// Runs the functions of a generalized request and clears the handle.
pub(super) fn conclude(t: &mut Token, request: &mut abi::Request, finished: Finished) -> Done {
    let Finished { mut done, gone, generalized } = finished;
    if gone {
        *request = abi::REQUEST_NULL;
    }
    if let Some(generalized) = generalized {
        done = generalized.query(t);
        // Of two errors the call returns that of the function called last (MPI-5.0 section 13.2).
        if let Err(error) = generalized.free(t) {
            done.error = error.class;
        }
    }
    done
}

pub(super) fn give(status: Option<&mut Status>, done: Option<&Done>) {
    match (status, done) {
        (Some(status), Some(done)) => status.fill(&done.status),
        // The empty status has its error set too (MPI-5.0 section 3.7.3).
        (Some(status), None) => *status = Status::EMPTY,
        (None, _) => {}
    }
}

/// The error of a finished request, raised on its communicator.
pub(super) fn failed(done: &Done) -> Result<()> {
    if done.error == abi::SUCCESS {
        return Ok(());
    }
    Err(crate::p2p::failure(done).on(abi::Comm(done.owner as usize)))
}

/// `MPI_Wait`'s fast path: a send that was over when its call returned, and a persistent message that has come or gone.
#[inline(always)]
pub fn wait_at_once(request: &mut abi::Request, status: Option<&mut Status>) -> Attempt {
    let Some(RequestKey::Operation(key)) = RequestKey::of(*request) else { return Attempt::FULL_PATH };
    let Some(mut guard) = enter_plain() else { return Attempt::FULL_PATH };
    if guard.after_wait.is_some() {
        return Attempt::FULL_PATH;
    }
    let done = if *request == SENT {
        *request = abi::REQUEST_NULL;
        EMPTY
    } else {
        let Some(done) = take_at_once(&mut guard, key) else { return Attempt::FULL_PATH };
        done
    };
    give(status, Some(&done));
    Attempt::DONE
}

/// `MPI_Wait`, all but the fast path.
pub fn wait(t: &mut Token, request: &mut abi::Request, status: Option<&mut Status>) -> Result<()> {
    let done = wait_one(t, request)?;
    give(status, done.as_ref());
    done.map_or(Ok(()), |done| failed(&done))
}

/// `MPI_Test`
pub fn test(
    t: &mut Token,
    request: &mut abi::Request,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    let handle = *request;
    *flag = 1;
    if handle == abi::REQUEST_NULL {
        give(status, None);
        return Ok(());
    }
    let finished = first_or_after_progress(t, |state| super::take(state, handle))?;
    let Some(finished) = finished else {
        // A stale handle is an error, not an operation under way.
        super::is_complete(&mut t.lock(), handle)?;
        *flag = 0;
        return Ok(());
    };
    let done = conclude(t, request, finished);
    give(status, Some(&done));
    failed(&done)
}

/// Tries, makes progress once, and tries again.
pub(super) fn first_or_after_progress<R>(
    t: &mut Token,
    mut attempt: impl FnMut(&mut State) -> Result<Option<R>>,
) -> Result<Option<R>> {
    if let Some(found) = attempt(&mut t.lock())? {
        return Ok(Some(found));
    }
    poll(t);
    attempt(&mut t.lock())
}
