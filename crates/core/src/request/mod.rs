//! Requests: waiting, testing and freeing (MPI-5.0 sections 3.7.3 to 3.7.6).
//!
//! A point-to-point request is the PML's own; its handle is made from the PML's key and costs no second object.
//! Everything else is a [`Composite`].

mod many;
mod status;
mod wait;

use abi::{Error, Result, Status};
use pml::{Done, ReqId};

use crate::buffer::Place;
use crate::coll::{Later, Running};
use crate::comm::idup::Duplicate;
use crate::domain::Token;
use crate::grequest::Generalized;
use crate::handle::RequestKey;
use crate::partitioned::Partitioned;
use crate::persistent::Persistent;
use crate::state::State;

pub use many::{testall, testany, testsome, waitall, waitany, waitsome};
pub use status::{get_status, get_status_all, get_status_any, get_status_some};
pub use wait::{test, wait};

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
    /// One without schedule.
    Exchange(Box<Later>),
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
            Composite::Exchange(later) => later.is_complete(),
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
            Composite::Exchange(later) => later.outcome(),
            Composite::Duplicate(duplicate) => duplicate.as_ref().and_then(|d| d.ended).unwrap_or(EMPTY),
            Composite::Generalized(_) | Composite::Flush { .. } => EMPTY,
        }
    }
}

pub(crate) const EMPTY: Done = Done { status: Status::EMPTY, error: abi::SUCCESS, owner: 0 };

const UNKNOWN: Error =
    Error::new(abi::ERR_REQUEST, "the handle names no request (never created or complete)");

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
        let State { composites, ob1, bml, .. } = self;
        let composite = composites.get_mut(key).ok_or(UNKNOWN)?;
        if let Composite::Partitioned(Some(partitioned)) = composite {
            partitioned.give_up(ob1, bml);
        }
        let complete = composite.advance(ob1);
        match composite {
            Composite::Immediate(_) => return Ok(None),
            // The functions still have to run once the program completes the request.
            Composite::Generalized(generalized) if !complete => {
                generalized.orphaned = true;
                return Ok(None);
            }
            Composite::Pair { .. } | Composite::Partitioned(_) if !complete => {
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
            Composite::Exchange(later) if !complete => {
                later.orphaned = true;
                return Ok(None);
            }
            _ => {}
        }
        match composites.remove(key) {
            Some(Composite::Generalized(generalized)) => return Ok(Some(generalized)),
            Some(Composite::Persistent(persistent)) => (*persistent).release(self),
            Some(
                Composite::Pair { .. }
                | Composite::Collective(_)
                | Composite::Exchange(_)
                | Composite::Duplicate(_)
                | Composite::Flush { .. }
                | Composite::Partitioned(_)
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
