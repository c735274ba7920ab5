//! Waiting for several requests and testing them (MPI-5.0 section 3.7.5).

use std::cell::Cell;

use abi::{Error, Result, Status};
use engine::{Operation, Reason};
use pml::{Done, ReqId};

use super::Finished;
use super::wait::{conclude, failed, first_or_after_progress, give, wait_one};
use crate::persistent::take_at_once;
use objects::domain::Token;
use objects::failures::outward;
use objects::handle::RequestKey;
use objects::immediate::{EMPTY, SENT};
use objects::reason;
use objects::state::State;
use objects::wait::wait_for_seen;
use observe::Need;

/// `MPI_Waitany`
pub fn waitany(
    t: &mut Token,
    requests: &mut [abi::Request],
    index: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    *index = abi::UNDEFINED;
    if !any_active(t, requests)? {
        give(status, None);
        return Ok(());
    }
    let why = |state: &mut State| among(state, "MPI_Waitany", requests);
    let (i, finished) = wait_for_seen(t, why, |state| take_any(state, requests).transpose())?;
    *index = i as i32;
    let done = conclude(t, &mut requests[i], finished);
    give(status, Some(&done));
    failed(&done)
}

/// `MPI_Testany`
pub fn testany(
    t: &mut Token,
    requests: &mut [abi::Request],
    index: &mut i32,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    (*index, *flag) = (abi::UNDEFINED, 1);
    if !any_active(t, requests)? {
        give(status, None);
        return Ok(());
    }
    let Some((i, finished)) = first_or_after_progress(t, |state| take_any(state, requests))? else {
        *flag = 0;
        return Ok(());
    };
    *index = i as i32;
    let done = conclude(t, &mut requests[i], finished);
    give(status, Some(&done));
    failed(&done)
}

/// Whether a list has an active request; checks every handle.
fn any_active(t: &mut Token, requests: &[abi::Request]) -> Result<bool> {
    let state = t.lock();
    requests.iter().try_fold(false, |any, &request| Ok(any | !super::is_inactive(&state, request)?))
}

/// What a wait for any of a list is for.
fn among(state: &State, call: &'static str, requests: &[abi::Request]) -> Reason {
    let is_active = |request: &abi::Request| !super::is_inactive(state, *request).unwrap_or(true);
    reason::of_requests(state, call, Need::Any, requests.iter().copied().filter(is_active))
}

fn take_any(state: &mut State, requests: &[abi::Request]) -> Result<Option<(usize, Finished)>> {
    for (i, &request) in requests.iter().enumerate() {
        if !super::is_inactive(state, request)?
            && let Some(finished) = super::take(state, request)?
        {
            return Ok(Some((i, finished)));
        }
    }
    Ok(None)
}

/// `MPI_Waitall`
pub fn waitall(
    t: &mut Token,
    requests: &mut [abi::Request],
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    let (next, mut wrong) = (Cell::new(0), None);
    while next.get() < requests.len() {
        let list = Cell::from_mut(&mut *requests).as_slice_of_cells();
        // They are taken one after the other, and each of them must come.
        let why = |state: &mut State| {
            let left = list[next.get()..].iter().map(Cell::get);
            let pending: Vec<_> = left.filter(|&request| is_pending(state, request)).collect();
            reason::of_requests(state, "MPI_Waitall", Need::All, pending)
        };
        let plain = wait_for_seen(t, why, |state| {
            while next.get() < list.len() {
                let at = next.get();
                let done = match take_plain(state, list[at].get()) {
                    Plain::Done(done) => {
                        list[at].set(abi::REQUEST_NULL);
                        done
                    }
                    Plain::Inactive(done) => done,
                    Plain::Active => return None,
                    Plain::Other => return Some(false),
                };
                note(&mut statuses, at, at, &done, &mut wrong);
                next.set(at + 1);
            }
            Some(true)
        });
        if !plain {
            let at = next.get();
            let done = wait_one(t, &mut requests[at])?.unwrap_or(EMPTY);
            note(&mut statuses, at, at, &done, &mut wrong);
            next.set(at + 1);
        }
    }
    in_status(wrong)
}

/// Whether a request has not ended, as far as that is known without taking it.
fn is_pending(state: &mut State, request: abi::Request) -> bool {
    request != abi::REQUEST_NULL && request != SENT && !super::is_complete(state, request).unwrap_or(true)
}

/// How the commonest requests stand: point-to-point ones, those complete from the start, and null ones.
enum Plain {
    Done(Done),
    /// The result of a persistent one, whose handle stays.
    Inactive(Done),
    Active,
    /// Any other request, or none.
    Other,
}

#[inline(always)]
fn take_plain(state: &mut State, handle: abi::Request) -> Plain {
    if handle == SENT || handle == abi::REQUEST_NULL {
        return Plain::Done(EMPTY);
    }
    let key = match RequestKey::of(handle) {
        Some(RequestKey::Pml(key)) => key,
        Some(RequestKey::Operation(key)) => {
            let is_under_way = |it: &dyn Operation<State>| it.stands_for().is_some();
            return match take_at_once(state, key) {
                Some(done) => Plain::Inactive(done),
                None if state.requests.get(key).is_some_and(is_under_way) => {
                    super::pending(state, key).map_or(Plain::Active, Plain::Inactive)
                }
                None => Plain::Other,
            };
        }
        None => return Plain::Other,
    };
    match state.take_awaited(ReqId(key)) {
        Some(done) => Plain::Done(done),
        None if state.p2p.is_complete(ReqId(key)).is_some() => match state.pending(ReqId(key)) {
            Some(done) => Plain::Inactive(done),
            None => Plain::Active,
        },
        None => Plain::Other,
    }
}

/// The first request that failed, by its place in the list, and how. The whole call's error is raised on its
/// communicator.
pub(super) type Wrong = Option<(usize, Done)>;

/// Writes status `i` of many, that of request `place`. Errors are written from the first failure on.
pub(super) fn note(
    statuses: &mut Option<&mut [Status]>,
    i: usize,
    place: usize,
    done: &Done,
    wrong: &mut Wrong,
) {
    let failed = done.error != abi::SUCCESS;
    if let Some(statuses) = statuses {
        statuses[i].fill(&done.status);
        if failed && wrong.is_none() {
            statuses[..i].iter_mut().for_each(|status| status.error = abi::SUCCESS);
        }
        if failed || wrong.is_some() {
            statuses[i].error = outward(done.error);
        }
    }
    if failed {
        wrong.get_or_insert((place, *done));
    }
}

pub(super) fn in_status(wrong: Wrong) -> Result<()> {
    match wrong {
        Some((place, done)) => Err(failed_among(place, &done)),
        None => Ok(()),
    }
}

/// The error of a call with several requests, whose message names the first one that failed.
#[cold]
fn failed_among(place: usize, done: &Done) -> Error {
    let why = crate::p2p::failure(done).into_text();
    Error::new(abi::ERR_IN_STATUS, "at least one of the requests failed")
        .on(abi::Comm(done.owner as usize))
        .described(|| format!("array_of_requests[{place}] failed: {why}"))
}

/// `MPI_Testall`: takes results only when all requests are complete.
pub fn testall(
    t: &mut Token,
    requests: &mut [abi::Request],
    flag: &mut i32,
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    *flag = 0;
    let all = first_or_after_progress(t, |state| {
        for &request in requests.iter() {
            if request != abi::REQUEST_NULL && !super::is_complete(state, request)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })?;
    if all.is_none() {
        return Ok(());
    }
    *flag = 1;
    let mut wrong = None;
    for (i, request) in requests.iter_mut().enumerate() {
        let done = wait_one(t, request)?.unwrap_or(EMPTY);
        note(&mut statuses, i, i, &done, &mut wrong);
    }
    in_status(wrong)
}

/// `MPI_Waitsome`
pub fn waitsome(
    t: &mut Token,
    requests: &mut [abi::Request],
    outcount: &mut i32,
    indices: &mut [i32],
    statuses: Option<&mut [Status]>,
) -> Result<()> {
    *outcount = abi::UNDEFINED;
    if !any_active(t, requests)? {
        return Ok(());
    }
    let why = |state: &mut State| among(state, "MPI_Waitsome", requests);
    let some = wait_for_seen(t, why, |state| take_some(state, requests).transpose())?;
    deliver_some(t, requests, some, outcount, indices, statuses)
}

/// `MPI_Testsome`
pub fn testsome(
    t: &mut Token,
    requests: &mut [abi::Request],
    outcount: &mut i32,
    indices: &mut [i32],
    statuses: Option<&mut [Status]>,
) -> Result<()> {
    *outcount = abi::UNDEFINED;
    if !any_active(t, requests)? {
        return Ok(());
    }
    let some = first_or_after_progress(t, |state| take_some(state, requests))?.unwrap_or_default();
    deliver_some(t, requests, some, outcount, indices, statuses)
}

fn take_some(state: &mut State, requests: &[abi::Request]) -> Result<Option<Vec<(usize, Finished)>>> {
    let mut some = Vec::new();
    for (i, &request) in requests.iter().enumerate() {
        if !super::is_inactive(state, request)?
            && let Some(finished) = super::take(state, request)?
        {
            some.push((i, finished));
        }
    }
    Ok(if some.is_empty() { None } else { Some(some) })
}

fn deliver_some(
    t: &mut Token,
    requests: &mut [abi::Request],
    some: Vec<(usize, Finished)>,
    outcount: &mut i32,
    indices: &mut [i32],
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    *outcount = some.len() as i32;
    let mut wrong = None;
    for (slot, (i, finished)) in some.into_iter().enumerate() {
        let done = conclude(t, &mut requests[i], finished);
        indices[slot] = i as i32;
        note(&mut statuses, slot, i, &done, &mut wrong);
    }
    in_status(wrong)
}
