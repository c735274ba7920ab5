//! Requests: waiting, testing and freeing (MPI-5.0 sections 3.7.3 to 3.7.6).
//!
//! A point-to-point request is the PML's own; its handle is made from the PML's key and costs no second object.
//! Everything else is a [`Composite`].

use abi::{Error, Result, Status};
use pml_ob1::{Done, ReqId};

use crate::buffer::Place;
use crate::coll::Running;
use crate::comm::idup::Duplicate;
use crate::domain::Token;
use crate::grequest::Generalized;
use crate::handle::RequestKey;
use crate::partitioned::Partitioned;
use crate::persistent::Persistent;
use crate::state::State;
use crate::wait::{poll, wait_for};

/// A request that is more than one point-to-point operation.
pub(crate) enum Composite {
    /// Complete from the start; shared by all such requests and never freed.
    Immediate(Status),
    /// Made by an `_init` call; survives its completions.
    Persistent(Box<Persistent>),
    /// Completed by the program itself.
    Generalized(Generalized),
    /// A send and a receive that complete together (`MPI_Isendrecv`), with the packed data of a `_replace`.
    Pair {
        receive: Option<ReqId>,
        send: Option<ReqId>,
        received: Done,
        #[expect(dead_code, reason = "keeps alive what the message layer sends from")]
        kept: Vec<u8>,
    },
    /// A nonblocking collective.
    Collective(Box<Running>),
    /// A communicator being duplicated; out for the moment in which it advances.
    Duplicate(Option<Box<Duplicate>>),
    /// A partitioned operation; out for the moment in which it advances.
    Partitioned(Option<Box<Partitioned>>),
    /// Waits for the messages of a buffer (`MPI_Buffer_iflush`).
    Flush { place: Place, drained: bool },
}

/// The handle of a send that was over when its call returned.
pub(crate) const SENT: abi::Request = RequestKey::Composite(0).handle();
/// The handle of a receive from `MPI_PROC_NULL`.
pub(crate) const RECEIVED_NOTHING: abi::Request = RequestKey::Composite(1).handle();

/// The store of composite requests, with the two immediate ones at their keys.
pub(crate) fn composites() -> slab::Slab<Composite, 23, 6> {
    let mut composites = slab::Slab::new();
    for status in [Status::EMPTY, Status::PROC_NULL] {
        // An empty slab has room.
        let _ = composites.insert(Composite::Immediate(status));
    }
    composites
}

/// What a finished request leaves.
pub(crate) struct Finished {
    pub done: Done,
    /// The handle is null from now on (and not a persistent request that became inactive).
    pub gone: bool,
    /// Functions of the user that complete a generalized request.
    pub generalized: Option<Generalized>,
}

impl State {
    /// Whether a request is known, and complete or inactive.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`.
    pub fn is_complete(&mut self, handle: abi::Request) -> Result<bool> {
        match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => self.ob1.is_complete(ReqId(key)).ok_or(UNKNOWN),
            RequestKey::Composite(key) => {
                refresh(self, key)?;
                let State { composites, ob1, .. } = self;
                Ok(composites.get_mut(key).ok_or(UNKNOWN)?.advance(ob1))
            }
        }
    }

    /// Whether a request is inactive: null, or persistent and not started.
    pub fn is_inactive(&self, handle: abi::Request) -> Result<bool> {
        if handle == abi::REQUEST_NULL {
            return Ok(true);
        }
        match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => self.ob1.is_complete(ReqId(key)).map(|_| false).ok_or(UNKNOWN),
            RequestKey::Composite(key) => match self.composites.get(key).ok_or(UNKNOWN)? {
                Composite::Persistent(persistent) => Ok(!persistent.is_active()),
                Composite::Partitioned(Some(partitioned)) => Ok(!partitioned.is_active()),
                _ => Ok(false),
            },
        }
    }

    /// The status of a complete request, left in place.
    fn peek(&self, handle: abi::Request) -> Result<Finished> {
        let done = match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => *self.ob1.poll(ReqId(key)).ok_or(UNKNOWN)?,
            RequestKey::Composite(key) => {
                let composite = self.composites.get(key).ok_or(UNKNOWN)?;
                if let Composite::Generalized(generalized) = composite {
                    return Ok(Finished { done: EMPTY, gone: false, generalized: Some(generalized.clone()) });
                }
                composite.outcome()
            }
        };
        Ok(Finished { done, gone: false, generalized: None })
    }

    /// Takes the result out of a complete request. `None`: still active.
    fn take(&mut self, handle: abi::Request) -> Result<Option<Finished>> {
        match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => {
                let done = self.ob1.take(ReqId(key));
                Ok(done.map(|done| Finished { done, gone: true, generalized: None }))
            }
            RequestKey::Composite(key) => self.take_composite(key),
        }
    }

    fn take_composite(&mut self, key: u32) -> Result<Option<Finished>> {
        refresh(self, key)?;
        let State { composites, ob1, .. } = self;
        let composite = composites.get_mut(key).ok_or(UNKNOWN)?;
        if !composite.advance(ob1) {
            return Ok(None);
        }
        let done = match composite {
            Composite::Immediate(status) => {
                let done = Done { status: *status, ..EMPTY };
                return Ok(Some(Finished { done, gone: true, generalized: None }));
            }
            Composite::Persistent(persistent) => {
                let done = persistent.deactivate();
                return Ok(Some(Finished { done, gone: false, generalized: None }));
            }
            Composite::Partitioned(Some(partitioned)) => {
                let done = partitioned.deactivate();
                return Ok(Some(Finished { done, gone: false, generalized: None }));
            }
            other => other.outcome(),
        };
        let generalized = match self.composites.remove(key) {
            Some(Composite::Generalized(generalized)) => Some(generalized),
            Some(Composite::Collective(running)) => {
                self.keep(running);
                None
            }
            _ => None,
        };
        Ok(Some(Finished { done, gone: true, generalized }))
    }
}

/// A flush looks at the buffer when it is asked for.
fn refresh(state: &mut State, key: u32) -> Result<()> {
    let Some(Composite::Flush { place, drained: false }) = state.composites.get(key) else { return Ok(()) };
    let now = state.is_drained(*place)?;
    if let Some(Composite::Flush { drained, .. }) = state.composites.get_mut(key) {
        *drained = now;
    }
    Ok(())
}

impl Composite {
    /// Looks at the parts; whether the request is complete or inactive.
    fn advance(&mut self, ob1: &mut pml_ob1::Ob1) -> bool {
        match self {
            Composite::Immediate(_) => true,
            Composite::Persistent(persistent) => persistent.advance(ob1),
            Composite::Generalized(generalized) => generalized.complete,
            Composite::Pair { receive, send, received, .. } => {
                if let Some(done) = receive.and_then(|id| ob1.take(id)) {
                    *received = done;
                    *receive = None;
                }
                if let Some(done) = send.and_then(|id| ob1.take(id)) {
                    if received.error == abi::SUCCESS {
                        received.error = done.error;
                    }
                    *send = None;
                }
                receive.is_none() && send.is_none()
            }
            Composite::Collective(running) => running.is_complete(),
            Composite::Duplicate(duplicate) => duplicate.as_ref().is_some_and(|d| d.ended.is_some()),
            Composite::Partitioned(slot) => slot.as_mut().is_some_and(|partitioned| partitioned.advance(ob1)),
            Composite::Flush { drained, .. } => *drained,
        }
    }

    /// The result of a complete request.
    fn outcome(&self) -> Done {
        match self {
            Composite::Immediate(status) => Done { status: *status, ..EMPTY },
            Composite::Pair { received, .. } => *received,
            Composite::Persistent(persistent) => persistent.outcome(),
            Composite::Partitioned(slot) => slot.as_ref().map_or(EMPTY, |partitioned| partitioned.outcome()),
            Composite::Collective(running) => running.outcome(),
            Composite::Duplicate(duplicate) => duplicate.as_ref().and_then(|d| d.ended).unwrap_or(EMPTY),
            Composite::Generalized(_) | Composite::Flush { .. } => EMPTY,
        }
    }
}

pub(crate) const EMPTY: Done = Done { status: Status::EMPTY, error: abi::SUCCESS, owner: 0 };

const UNKNOWN: Error =
    Error::new(abi::ERR_REQUEST, "the handle names no request (never created or complete)");

/// Waits for one request and takes its result; `None` for a null request.
fn wait_one(t: &mut Token, request: &mut abi::Request) -> Result<Option<Done>> {
    let handle = *request;
    if handle == abi::REQUEST_NULL {
        return Ok(None);
    }
    if handle == SENT {
        *request = abi::REQUEST_NULL;
        return Ok(Some(EMPTY));
    }
    let known = t.lock().is_complete(handle)?;
    if let (Some(RequestKey::Pml(key)), false) = (RequestKey::of(handle), known) {
        let id = ReqId(key);
        let done = wait_for(t, |state| match state.take_awaited(id) {
            Some(done) => Some(Ok(done)),
            None => state.ob1.is_complete(id).is_none().then_some(Err(UNKNOWN)),
        })?;
        *request = abi::REQUEST_NULL;
        return Ok(Some(done));
    }
    let finished = wait_for(t, |state| state.take(handle).transpose())?;
    Ok(Some(conclude(t, request, finished)))
}

/// Runs the functions of a generalized request and clears the handle.
fn conclude(t: &mut Token, request: &mut abi::Request, finished: Finished) -> Done {
    let Finished { mut done, gone, generalized } = finished;
    if gone {
        *request = abi::REQUEST_NULL;
    }
    if let Some(generalized) = generalized {
        done = generalized.query(t);
        let freed = generalized.free(t);
        if done.error == abi::SUCCESS {
            done.error = freed;
        }
    }
    done
}

fn give(status: Option<&mut Status>, done: Option<&Done>) {
    match (status, done) {
        (Some(status), Some(done)) => status.fill(&done.status),
        // The empty status has its error set too (MPI-5.0 section 3.7.3).
        (Some(status), None) => *status = Status::EMPTY,
        (None, _) => {}
    }
}

/// The error of a finished request, raised on its communicator.
fn failed(done: &Done) -> Result<()> {
    if done.error == abi::SUCCESS {
        return Ok(());
    }
    Err(crate::p2p::failure(done.error).on(abi::Comm(done.owner as usize)))
}

/// `MPI_Wait`
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
    let finished = first_or_after_progress(t, |state| state.take(handle))?;
    let Some(finished) = finished else {
        // A stale handle is an error, not an operation under way.
        t.lock().is_complete(handle)?;
        *flag = 0;
        return Ok(());
    };
    let done = conclude(t, request, finished);
    give(status, Some(&done));
    failed(&done)
}

/// Tries, makes progress once, and tries again.
fn first_or_after_progress<R>(
    t: &mut Token,
    mut attempt: impl FnMut(&mut State) -> Result<Option<R>>,
) -> Result<Option<R>> {
    if let Some(found) = attempt(&mut t.lock())? {
        return Ok(Some(found));
    }
    poll(t);
    attempt(&mut t.lock())
}

/// `MPI_Request_free`: an active request completes on its own.
pub fn free(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    let generalized = {
        let mut state = t.lock();
        match RequestKey::of(*request).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => {
                state.ob1.is_complete(ReqId(key)).ok_or(UNKNOWN)?;
                state.ob1.detach(ReqId(key));
                None
            }
            RequestKey::Composite(key) => state.free_composite(key)?,
        }
    };
    *request = abi::REQUEST_NULL;
    if let Some(generalized) = generalized
        && generalized.complete
    {
        generalized.free(t);
    }
    Ok(())
}

/// Frees what was given up by the program and is complete now.
pub(crate) fn reap_orphans(state: &mut State) {
    let State { orphans, composites, ob1, .. } = state;
    orphans.retain(|&key| {
        let over = composites.get_mut(key).is_none_or(|composite| composite.advance(ob1));
        if over {
            composites.remove(key);
        }
        !over
    });
}

impl State {
    fn free_composite(&mut self, key: u32) -> Result<Option<Generalized>> {
        let State { composites, ob1, .. } = self;
        let composite = composites.get_mut(key).ok_or(UNKNOWN)?;
        let complete = composite.advance(ob1);
        match composite {
            Composite::Immediate(_) => return Ok(None),
            // The functions still have to run once the program completes the request.
            Composite::Generalized(generalized) if !complete => {
                generalized.orphaned = true;
                return Ok(None);
            }
            Composite::Pair { .. } if !complete => {
                self.orphans.push(key);
                return Ok(None);
            }
            Composite::Duplicate(Some(duplicate)) if !complete => {
                duplicate.orphaned = true;
                return Ok(None);
            }
            Composite::Collective(running) if !complete => {
                running.orphaned = true;
                return Ok(None);
            }
            _ => {}
        }
        match composites.remove(key) {
            Some(Composite::Generalized(generalized)) => return Ok(Some(generalized)),
            Some(Composite::Persistent(persistent)) => (*persistent).release(self),
            Some(Composite::Partitioned(slot)) => slot.into_iter().for_each(|p| p.release(self)),
            Some(
                Composite::Pair { .. }
                | Composite::Collective(_)
                | Composite::Duplicate(_)
                | Composite::Flush { .. }
                | Composite::Immediate(_),
            )
            | None => {}
        }
        Ok(None)
    }
}

/// `MPI_Cancel`
pub fn cancel(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    let handle = *request;
    let generalized = {
        let mut guard = t.lock();
        let State { ob1, bml, composites, .. } = &mut *guard;
        match RequestKey::of(handle).ok_or(UNKNOWN)? {
            RequestKey::Pml(key) => {
                ob1.is_complete(ReqId(key)).ok_or(UNKNOWN)?;
                ob1.cancel(bml, ReqId(key));
                None
            }
            RequestKey::Composite(key) => match composites.get_mut(key).ok_or(UNKNOWN)? {
                Composite::Persistent(persistent) => {
                    if let Some(id) = persistent.active_pml() {
                        ob1.cancel(bml, id);
                    }
                    None
                }
                Composite::Generalized(generalized) => Some(generalized.clone()),
                Composite::Immediate(_) => None,
                _ => return Err(Error::new(abi::ERR_REQUEST, "a request of this kind cannot be cancelled")),
            },
        }
    };
    generalized.map_or(Ok(()), |generalized| generalized.cancel(t))
}

/// `MPI_Request_get_status`: as a test that leaves the request as it is.
pub fn get_status(
    t: &mut Token,
    request: abi::Request,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    *flag = 1;
    if request == abi::REQUEST_NULL {
        give(status, None);
        return Ok(());
    }
    match look(t, request)? {
        Some(done) => give(status, Some(&done)),
        None => *flag = 0,
    }
    Ok(())
}

/// The result of a request that stays, if it is complete.
fn look(t: &mut Token, request: abi::Request) -> Result<Option<Done>> {
    let complete = first_or_after_progress(t, |state| Ok(state.is_complete(request)?.then_some(())))?;
    if complete.is_none() {
        return Ok(None);
    }
    let finished = t.lock().peek(request)?;
    Ok(Some(match finished.generalized {
        Some(generalized) => generalized.query(t),
        None => finished.done,
    }))
}

/// `MPI_Request_get_status_any`
pub fn get_status_any(
    t: &mut Token,
    requests: &[abi::Request],
    index: &mut i32,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    (*index, *flag) = (abi::UNDEFINED, 1);
    poll(t);
    let mut active = false;
    for (i, &request) in requests.iter().enumerate() {
        if t.lock().is_inactive(request)? {
            continue;
        }
        active = true;
        if let Some(done) = look(t, request)? {
            *index = i as i32;
            give(status, Some(&done));
            return Ok(());
        }
    }
    if active {
        *flag = 0;
    } else {
        give(status, None);
    }
    Ok(())
}

/// `MPI_Request_get_status_all`
pub fn get_status_all(
    t: &mut Token,
    requests: &[abi::Request],
    flag: &mut i32,
    statuses: Option<&mut [Status]>,
) -> Result<()> {
    let mut results = Vec::with_capacity(requests.len());
    *flag = 0;
    for &request in requests {
        if request == abi::REQUEST_NULL {
            results.push(EMPTY);
            continue;
        }
        match look(t, request)? {
            Some(done) => results.push(done),
            None => return Ok(()),
        }
    }
    *flag = 1;
    for (status, done) in statuses.into_iter().flatten().zip(&results) {
        status.fill(&done.status);
    }
    Ok(())
}

/// `MPI_Request_get_status_some`
pub fn get_status_some(
    t: &mut Token,
    requests: &[abi::Request],
    outcount: &mut i32,
    indices: &mut [i32],
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    let mut found = 0;
    let mut active = false;
    for (i, &request) in requests.iter().enumerate() {
        if t.lock().is_inactive(request)? {
            continue;
        }
        active = true;
        if let Some(done) = look(t, request)? {
            indices[found] = i as i32;
            if let Some(statuses) = statuses.as_deref_mut() {
                statuses[found].fill(&done.status);
            }
            found += 1;
        }
    }
    *outcount = if active { found as i32 } else { abi::UNDEFINED };
    Ok(())
}

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
    let (i, finished) = wait_for(t, |state| take_any(state, requests).transpose())?;
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
    requests.iter().try_fold(false, |any, &request| Ok(any | !state.is_inactive(request)?))
}

fn take_any(state: &mut State, requests: &[abi::Request]) -> Result<Option<(usize, Finished)>> {
    for (i, &request) in requests.iter().enumerate() {
        if !state.is_inactive(request)?
            && let Some(finished) = state.take(request)?
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
    let (mut next, mut wrong) = (0, false);
    while next < requests.len() {
        let plain = wait_for(t, |state| {
            while next < requests.len() {
                let done = match state.take_plain(requests[next]) {
                    Plain::Done(done) => done,
                    Plain::Active => return None,
                    Plain::Other => return Some(false),
                };
                requests[next] = abi::REQUEST_NULL;
                wrong |= note(&mut statuses, next, &done, wrong);
                next += 1;
            }
            Some(true)
        });
        if !plain {
            let done = wait_one(t, &mut requests[next])?.unwrap_or(EMPTY);
            wrong |= note(&mut statuses, next, &done, wrong);
            next += 1;
        }
    }
    in_status(wrong)
}

/// How the commonest requests stand: point-to-point ones, those complete from the start, and null ones.
enum Plain {
    Done(Done),
    Active,
    /// Any other request, or none.
    Other,
}

impl State {
    #[inline(always)]
    fn take_plain(&mut self, handle: abi::Request) -> Plain {
        if handle == SENT || handle == abi::REQUEST_NULL {
            return Plain::Done(EMPTY);
        }
        let Some(RequestKey::Pml(key)) = RequestKey::of(handle) else { return Plain::Other };
        match self.take_awaited(ReqId(key)) {
            Some(done) => Plain::Done(done),
            None if self.ob1.is_complete(ReqId(key)).is_some() => Plain::Active,
            None => Plain::Other,
        }
    }
}

/// Writes one status of many; whether its request failed. Errors are written from the first failure on.
fn note(statuses: &mut Option<&mut [Status]>, i: usize, done: &Done, wrong: bool) -> bool {
    let failed = done.error != abi::SUCCESS;
    if let Some(statuses) = statuses {
        statuses[i].fill(&done.status);
        if failed && !wrong {
            statuses[..i].iter_mut().for_each(|status| status.error = abi::SUCCESS);
        }
        if failed || wrong {
            statuses[i].error = done.error;
        }
    }
    failed
}

fn in_status(wrong: bool) -> Result<()> {
    if wrong {
        return Err(Error::new(abi::ERR_IN_STATUS, "at least one of the requests failed"));
    }
    Ok(())
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
            if request != abi::REQUEST_NULL && !state.is_complete(request)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })?;
    if all.is_none() {
        return Ok(());
    }
    *flag = 1;
    let mut wrong = false;
    for (i, request) in requests.iter_mut().enumerate() {
        let done = wait_one(t, request)?.unwrap_or(EMPTY);
        wrong |= note(&mut statuses, i, &done, wrong);
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
    let some = wait_for(t, |state| take_some(state, requests).transpose())?;
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
        if !state.is_inactive(request)?
            && let Some(finished) = state.take(request)?
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
    let mut wrong = false;
    for (slot, (i, finished)) in some.into_iter().enumerate() {
        let done = conclude(t, &mut requests[i], finished);
        indices[slot] = i as i32;
        wrong |= note(&mut statuses, slot, &done, wrong);
    }
    in_status(wrong)
}
