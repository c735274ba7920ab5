//! Buffered sends (MPI-5.0 section 3.6).
//!
//! A message that cannot leave at once is packed into memory of the library and charged to the buffer that the
//! program attached, with `MPI_BSEND_OVERHEAD` bytes for each; so a program runs out of buffer space exactly
//! when the standard's model says so, and no later. The attached memory itself is never touched.

use abi::{Address, Count, Datatype, Error, Result};
use engine::P2p;
use engine::{Afterlife, Operation, Progress, Reason, Work};
use ffi::CountMut;
use pml::{Data, Done, Mode, ReqId};

use crate::p2p::target;
use objects::buffer_pool::{Attached, BufferPool, Pending};
use objects::datatype::packed;
use objects::domain::Token;
use objects::immediate::EMPTY;
use objects::reason;
use objects::state::State;
use objects::wait::wait_for_seen;

/// Where a buffer is attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferOwner {
    /// `MPI_Buffer_attach`
    Process,
    /// `MPI_Comm_attach_buffer`
    Comm(abi::Comm),
    /// `MPI_Session_attach_buffer`
    Session(abi::Session),
}

fn pool(state: &mut State, place: BufferOwner) -> Result<&mut BufferPool> {
    match place {
        BufferOwner::Process => Ok(&mut state.buffer),
        BufferOwner::Comm(comm) => Ok(&mut state.comms.get_mut(comm)?.buffer),
        BufferOwner::Session(session) => Ok(&mut state.sessions.get_mut(session)?.buffer),
    }
}

/// The pool that a send on `comm` uses: the communicator's, its session's, the process's.
fn pool_for(state: &State, comm: abi::Comm) -> Result<BufferOwner> {
    let found = state.comm(comm)?;
    if found.buffer.is_attached() {
        return Ok(BufferOwner::Comm(comm));
    }
    let session = found.session;
    if let Some(session) = session
        && state.sessions.get(session).is_ok_and(|session| session.buffer.is_attached())
    {
        return Ok(BufferOwner::Session(session));
    }
    Ok(BufferOwner::Process)
}

fn with_pool<R>(
    state: &mut State,
    place: BufferOwner,
    f: impl FnOnce(&mut BufferPool, &mut P2p) -> R,
) -> Result<R> {
    let mut taken = std::mem::take(pool(state, place)?);
    let result = f(&mut taken, &mut state.p2p);
    *pool(state, place)? = taken;
    Ok(result)
}

/// Whether every message of a buffer has left.
fn is_drained(state: &mut State, place: BufferOwner) -> Result<bool> {
    with_pool(state, place, |pool, p2p| pool.drained(p2p))
}

/// Sends from a copy of the data; complete in MPI's sense when this returns.
pub fn start(state: &mut State, data: Data, dest: i32, tag: i32, comm: abi::Comm) -> Result<()> {
    let Some(to) = target(state.comm(comm)?, dest, tag)? else { return Ok(()) };
    let place = pool_for(state, comm)?;
    if !pool(state, place)?.is_attached() {
        return Err(Error::new(abi::ERR_BUFFER, "no buffer is attached for buffered sends"));
    }
    if let Data::Contiguous(data) = &data
        && engine::send_copied_now(state, &to, *data)
    {
        return Ok(());
    }
    let packed = packed(data)?;
    let charge = packed.len() as Count + Count::from(abi::BSEND_OVERHEAD);
    let has_room = |state: &mut State| {
        with_pool(state, place, |pool, p2p| {
            pool.reap(p2p);
            pool.room_for(packed.len() as Count)
        })
    };
    // Messages may have been received already, and the news of it not been looked at.
    let mut fits = has_room(state)?;
    while !fits && state.progress() {
        fits = has_room(state)?;
    }
    if !fits {
        return Err(Error::new(abi::ERR_BUFFER, "the attached buffer has no room for the message"));
    }
    let from = Data::Contiguous(objects::memory::of_vec(&packed));
    if let Some(id) = engine::isend(state, &to, from, Mode::Standard)? {
        pool(state, place)?.pending.push(Pending { id, charge, data: packed });
    }
    Ok(())
}

fn start_checked(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    let mut state = t.lock();
    let data = state.data(buf, count, datatype)?;
    let started = start(&mut state, data, dest, tag, comm);
    drop(state);
    engine::see_to_connections(t);
    started
}

/// `MPI_Bsend`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn bsend(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    start_checked(t, buf, count, datatype, dest, tag, comm)
}

/// `MPI_Ibsend`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn ibsend(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    start_checked(t, buf, count, datatype, dest, tag, comm)?;
    *request = objects::immediate::SENT;
    Ok(())
}

/// `MPI_Buffer_attach`, `MPI_Comm_attach_buffer`, `MPI_Session_attach_buffer`
pub fn attach(t: &mut Token, place: BufferOwner, address: Address, bytes: Count) -> Result<()> {
    if bytes < 0 {
        return Err(Error::new(abi::ERR_ARG, "the buffer's size is negative"));
    }
    let mut state = t.lock();
    let pool = pool(&mut state, place)?;
    if pool.is_attached() {
        return Err(Error::new(abi::ERR_BUFFER, "a buffer is attached already"));
    }
    pool.attached = Some(Attached { address, bytes });
    Ok(())
}

/// `MPI_Buffer_detach`, …: waits until every message has left.
pub fn detach(
    t: &mut Token,
    place: BufferOwner,
    address: &mut Address,
    mut size: CountMut<'_>,
) -> Result<()> {
    if !pool(&mut t.lock(), place)?.is_attached() {
        return Err(Error::new(abi::ERR_BUFFER, "no buffer is attached"));
    }
    flush(t, place)?;
    let mut state = t.lock();
    let attached = pool(&mut state, place)?.attached.take();
    let attached = attached.unwrap_or(Attached { address: Address(0), bytes: 0 });
    let automatic = attached.address.0 == abi::BUFFER_AUTOMATIC;
    *address = attached.address;
    size.set(if automatic { 0 } else { attached.bytes });
    Ok(())
}

/// `MPI_Buffer_flush`, …
pub fn flush(t: &mut Token, place: BufferOwner) -> Result<()> {
    pool(&mut t.lock(), place)?;
    let why = |state: &mut State| {
        let pending: Vec<ReqId> = match pool(state, place) {
            Ok(pool) => pool.pending.iter().map(|one| one.id).collect(),
            Err(_) => return Reason::outside(),
        };
        reason::of_ids(state, "MPI_Buffer_flush", pending)
    };
    wait_for_seen(t, why, |state| match is_drained(state, place) {
        Ok(true) => Some(Ok(())),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    })
}

/// `MPI_Buffer_iflush`, …: a request that is complete when the messages so far have left.
pub fn iflush(t: &mut Token, place: BufferOwner, request: &mut abi::Request) -> Result<()> {
    let mut state = t.lock();
    *request = if is_drained(&mut state, place)? {
        objects::immediate::SENT
    } else {
        state.add_request(Flush { place, result: Ok(()) })?
    };
    Ok(())
}

/// Waits for the messages of a buffer.
struct Flush {
    place: BufferOwner,
    result: Result<()>,
}

impl Operation<State> for Flush {
    fn work(&self) -> Option<Work> {
        Some(Work::Buffer)
    }

    fn is_over(&mut self, state: &mut State) -> bool {
        is_drained(state, self.place).unwrap_or_else(|error| {
            // The communicator or session went with its buffer.
            self.result = Err(error);
            true
        })
    }

    fn outcome(&self) -> Done {
        Done { error: self.result.map_or_else(|error| error.class, |()| abi::SUCCESS), ..EMPTY }
    }

    /// No other process depends on it.
    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        Afterlife::Gone
    }
}
