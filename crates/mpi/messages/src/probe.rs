//! Probe and matched probe (MPI-5.0 section 3.8).

use abi::{Address, Count, Datatype, Error, Result, Status};
use engine::Guarded;
use pml::{Done, MessageId, Pattern, ReqId};

use crate::p2p::{finish, outcome, pattern, proc_null};
use objects::domain::{DOMAIN, Token};
use objects::handle::{self, Kind, Objects, RequestKey};
use objects::reason;
use objects::state::State;
use objects::wait::{poll, wait_for_seen};

/// Messages matched and not yet received, with their communicators.
static MESSAGES: Guarded<Objects<(MessageId, abi::Comm)>> = Guarded::new(Objects::new());

const HELD: Error = Error::new(abi::ERR_OTHER, "more than 2^20 matched messages are held");

/// `MPI_Probe`
pub fn probe(
    t: &mut Token,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    status: Option<&mut Status>,
) -> Result<()> {
    let pattern = pattern(t.lock().comm(comm)?, source, tag)?;
    let found = match pattern {
        None => Status::PROC_NULL,
        Some(pattern) => await_match(t, "MPI_Probe", &pattern, |state| state.p2p.iprobe(&pattern).map(Ok))?,
    };
    if let Some(status) = status {
        status.fill(&found);
    }
    Ok(())
}

/// `MPI_Iprobe`
pub fn iprobe(
    t: &mut Token,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    let pattern = pattern(t.lock().comm(comm)?, source, tag)?;
    let found = match pattern {
        None => Some(Status::PROC_NULL),
        Some(pattern) => {
            let found = t.lock().p2p.iprobe(&pattern);
            found.or_else(|| {
                poll(t);
                t.lock().p2p.iprobe(&pattern)
            })
        }
    };
    *flag = i32::from(found.is_some());
    if let (Some(status), Some(found)) = (status, found) {
        status.fill(&found);
    }
    Ok(())
}

/// `MPI_Mprobe`
pub fn mprobe(
    t: &mut Token,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    message: &mut abi::Message,
    status: Option<&mut Status>,
) -> Result<()> {
    let pattern = pattern(t.lock().comm(comm)?, source, tag)?;
    let Some(pattern) = pattern else {
        return no_proc(message, status);
    };
    let found = await_match(t, "MPI_Mprobe", &pattern, |state| take_out(state, &pattern).transpose())?;
    hold(&mut t.lock(), found, comm, message, status)
}

/// `MPI_Improbe`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn improbe(
    t: &mut Token,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    flag: &mut i32,
    message: &mut abi::Message,
    status: Option<&mut Status>,
) -> Result<()> {
    let pattern = pattern(t.lock().comm(comm)?, source, tag)?;
    *flag = 1;
    let Some(pattern) = pattern else {
        return no_proc(message, status);
    };
    let mut found = take_out(&mut t.lock(), &pattern)?;
    if found.is_none() {
        poll(t);
        found = take_out(&mut t.lock(), &pattern)?;
    }
    match found {
        Some(found) => hold(&mut t.lock(), found, comm, message, status),
        None => {
            *flag = 0;
            *message = abi::MESSAGE_NULL;
            Ok(())
        }
    }
}

/// As [`engine::P2p::improbe`], where the message that is taken out can have a handle.
fn take_out(state: &mut State, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
    if MESSAGES.get(&state.tables).is_full() {
        return Err(HELD);
    }
    state.p2p.improbe(pattern)
}

/// Waits until `find` gives a message that matches, or the process that the pattern names is lost: its end is looked for.
/// Where other threads may poll for this one, the message layer learns what it waits for.
fn await_match<R>(
    t: &mut Token,
    call: &'static str,
    pattern: &Pattern,
    mut find: impl FnMut(&mut State) -> Option<Result<R>>,
) -> Result<R> {
    if let Some(found) = find(&mut t.lock()) {
        return found;
    }
    if let Some(peer) = pattern.peer {
        t.lock().p2p.await_from(peer);
    }
    let why = |state: &mut State| reason::of_message(state, call, pattern);
    let found = wait_for_seen(t, why, |state| {
        let found = find(state);
        if found.is_none() && !DOMAIN.is_alone() {
            state.p2p.seek(pattern);
        }
        found.or_else(|| state.loss_of(pattern.peer, pattern.context).map(Err))
    });
    if let Some(peer) = pattern.peer {
        t.lock().p2p.await_no_more(peer);
    }
    found
}

fn no_proc(message: &mut abi::Message, status: Option<&mut Status>) -> Result<()> {
    *message = abi::MESSAGE_NO_PROC;
    if let Some(status) = status {
        status.fill(&Status::PROC_NULL);
    }
    Ok(())
}

fn hold(
    state: &mut State,
    (id, found): (MessageId, Status),
    comm: abi::Comm,
    message: &mut abi::Message,
    status: Option<&mut Status>,
) -> Result<()> {
    let key = MESSAGES.get_mut(&mut state.tables).insert((id, comm)).map_err(|_| HELD)?;
    *message = abi::Message(handle::make(Kind::Message, key));
    if let Some(status) = status {
        status.fill(&found);
    }
    Ok(())
}

/// `MPI_Mrecv`
pub fn mrecv(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    message: &mut abi::Message,
    status: Option<&mut Status>,
) -> Result<()> {
    let started = start(&mut t.lock(), buf, count, datatype, message)?;
    let (done, comm): (Done, _) = match started {
        None => (proc_null(), abi::Comm(0)),
        Some((id, comm)) => (finish(t, id), comm),
    };
    if let Some(status) = status {
        status.fill(&done.status);
    }
    outcome(&done).map_err(|error| error.on(comm))
}

/// `MPI_Imrecv`
pub fn imrecv(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    message: &mut abi::Message,
    request: &mut abi::Request,
) -> Result<()> {
    let started = start(&mut t.lock(), buf, count, datatype, message)?;
    *request = started.map_or(objects::immediate::RECEIVED_NOTHING, |(id, _)| RequestKey::Pml(id.0).handle());
    Ok(())
}

fn start(
    state: &mut State,
    buf: Address,
    count: Count,
    datatype: Datatype,
    message: &mut abi::Message,
) -> Result<Option<(ReqId, abi::Comm)>> {
    if *message == abi::MESSAGE_NO_PROC {
        *message = abi::MESSAGE_NULL;
        return Ok(None);
    }
    let unknown = Error::new(abi::ERR_REQUEST, "the handle names no matched message");
    let key = handle::key(Kind::Message, message.0).ok_or(unknown)?;
    let &(id, comm) = MESSAGES.get(&state.tables).get(key).ok_or(unknown)?;
    let into = state.data(buf, count, datatype)?;
    // A call that fails leaves the program its message.
    let request = state.p2p.imrecv(id, comm.0 as u32, into)?;
    MESSAGES.get_mut(&mut state.tables).remove(key);
    *message = abi::MESSAGE_NULL;
    Ok(Some((request, comm)))
}
