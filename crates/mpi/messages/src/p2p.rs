//! Blocking and nonblocking point-to-point communication (MPI-5.0 sections 3.2, 3.4, 3.7 and 3.11).
//!
//! `send` and `recv` are the library's hot path: one fast path, from the arguments to the peer's memory, or
//! from there to the user's buffer. Everything else goes through `start_send` and `start_recv`.

mod recv;
mod sendrecv;

use abi::{Address, Count, Datatype, Error, Result, Status};
use btl::{FastPath, Route};
use engine::Operation;
use pml::{Data, Done, Mode, Pattern, ReqId, SendTo, Sent};

pub use self::recv::await_short;
use self::recv::plain_recv;
pub use self::recv::{recv, recv_at_once, recv_soon};
pub use self::sendrecv::{sendrecv, sendrecv_replace};
use objects::comm::Comm;
use objects::domain::{Attempt, Token, enter_plain};
use objects::failures::{REVOKED, UNACKNOWLEDGED};
use objects::handle::RequestKey;
use objects::state::State;
use objects::wait::wait_for_request;

/// What a start gives: nothing to wait for, or a request of the PML.
pub type Started = Option<ReqId>;

/// `MPI_Send`, all but the fast path.
pub fn send(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    send_mode(t, Mode::Blocking, buf, count, datatype, dest, tag, comm)
}

/// `MPI_Send`'s fast path: right arguments, a predefined type, a short message, room at the transport.
/// [`Attempt::FULL_PATH`]: whatever is unusual is found out and treated by [`send`].
#[inline(always)]
pub fn send_at_once(
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let State { comms, p2p, .. } = &mut *guard;
    // First, since the compiler would make one test of this and that of the rank, which takes longer.
    if tag < 0 {
        return guard.give_up();
    }
    let Some(fast) = comms.fast(comm) else { return guard.give_up() };
    let Some(&peer) = fast.peers.get(dest as usize) else { return guard.give_up() };
    let Some(data) = objects::datatype::simple_within(buf, count, datatype, btl::SHORT) else {
        return guard.give_up();
    };
    match p2p.send_short(btl::Peer(peer), fast.origin, tag, data) {
        Sent::Awake => Attempt::DONE,
        Sent::Refused => guard.give_up(),
        Sent::Asleep(route) => {
            drop(guard);
            wake(route)
        }
        Sent::Full(route) => {
            drop(guard);
            look_for_room(route)
        }
    }
}

/// `MPI_Send`'s second fast path: as the first one, for whatever leaves in one frame. Not part of it, which would have to
/// save more registers.
#[inline(always)]
pub fn send_soon(
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::FULL_PATH };
    let State { comms, p2p, .. } = &mut *guard;
    let to = comms.find(comm).and_then(|comm| addressee(comm, dest, tag));
    let Some(to) = to else { return Attempt::FULL_PATH };
    let Some(data) = objects::datatype::simple(buf, count, datatype) else { return Attempt::FULL_PATH };
    if p2p.send_now(&to, data) { Attempt::DONE } else { Attempt::FULL_PATH }
}

/// Wakes the receiver of a message. Enters anew, so that the fast path has ended; the result is hidden from the
/// compiler for the reason that `PlainGuard::give_up` has.
#[cold]
#[inline(never)]
fn wake(route: Route) -> Attempt {
    if let Some(mut guard) = enter_plain() {
        guard.p2p.bml.wake(route);
    }
    std::hint::black_box(Attempt::DONE)
}

/// Looks whether the receiver has made room since that was last known; as [`wake`] in form.
#[cold]
#[inline(never)]
fn look_for_room(route: Route) -> Attempt {
    let found = enter_plain().is_some_and(|mut guard| guard.p2p.bml.finds_room(route));
    std::hint::black_box(if found { Attempt::RETRY } else { Attempt::FULL_PATH })
}

/// `MPI_Ssend`
pub fn ssend(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    send_mode(t, Mode::Synchronous, buf, count, datatype, dest, tag, comm)
}

/// `MPI_Rsend`
pub fn rsend(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    send_mode(t, Mode::Ready, buf, count, datatype, dest, tag, comm)
}

#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
fn send_mode(
    t: &mut Token,
    mode: Mode,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<()> {
    match start_call(t, mode, buf, count, datatype, dest, tag, comm)? {
        None => Ok(()),
        Some(id) => outcome(&finish(t, id)),
    }
}

/// `MPI_Isend`'s fast path: [`send_at_once`], after which nothing is left to wait for.
#[inline(always)]
pub fn isend_at_once(
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Attempt {
    with_request(send_at_once(buf, count, datatype, dest, tag, comm), request)
}

/// `MPI_Isend`, `MPI_Issend`, `MPI_Irsend`
#[inline]
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn isend(
    t: &mut Token,
    mode: Mode,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let started = match start_call(t, mode, buf, count, datatype, dest, tag, comm) {
        Err(error) if error.class == abi::ERR_REVOKED => return refused(&mut t.lock(), comm, request),
        started => started?,
    };
    *request = handle(started, objects::immediate::SENT);
    Ok(())
}

/// `MPI_Isend`'s second fast path: [`send_soon`], after which nothing is left to wait for.
#[inline(always)]
pub fn isend_soon(
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Attempt {
    with_request(send_soon(buf, count, datatype, dest, tag, comm), request)
}

/// Gives the request of a send after which nothing is left to wait for.
#[inline(always)]
fn with_request(sent: Attempt, request: &mut abi::Request) -> Attempt {
    if sent == Attempt::DONE {
        *request = objects::immediate::SENT;
    }
    sent
}

/// A nonblocking operation on a revoked communicator: it begins, and ends with `MPIX_ERR_REVOKED`.
struct Refused(abi::Comm);

impl Operation<State> for Refused {
    fn is_over(&mut self, _: &mut State) -> bool {
        true
    }

    fn outcome(&self) -> Done {
        Done { error: abi::ERR_REVOKED, ..Done::sent(self.0.0 as u32) }
    }
}

#[cold]
fn refused(state: &mut State, comm: abi::Comm, request: &mut abi::Request) -> Result<()> {
    *request = state.add_request(Refused(comm))?;
    Ok(())
}

/// `MPI_Irecv`'s fast path: right arguments, no wildcard, a predefined type, nothing unexpected.
#[inline(always)]
pub fn irecv_at_once(
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let plain = plain_recv(&guard, buf, count, datatype, source, tag, comm);
    let Some((pattern, into)) = plain else { return guard.give_up() };
    let State { p2p, .. } = &mut *guard;
    let Some(id) = p2p.irecv_now(&pattern, into) else { return guard.give_up() };
    *request = RequestKey::Pml(id.0).handle();
    Attempt::DONE
}

/// `MPI_Irecv`, all but the fast path.
#[inline]
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn irecv(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let mut state = t.lock();
    let data = state.data(buf, count, datatype)?;
    let started = match start_recv(&mut state, data, source, tag, comm) {
        Err(error) if error.class == abi::ERR_REVOKED => return refused(&mut state, comm, request),
        started => started?,
    };
    *request = handle(started, objects::immediate::RECEIVED_NOTHING);
    Ok(())
}

/// Starts a send with the arguments of a call; `None` when it is over already. The usual case, right arguments and a
/// predefined type below `MPI_THREAD_MULTIPLE`, takes less work. Whether a message leaves at once is asked for in one place,
/// [`engine::isend`]; of those of `MPI_Send` that come here, [`send_soon`] has asked and was refused.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
fn start_call(
    t: &mut Token,
    mode: Mode,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<Started> {
    if let Some(mut guard) = enter_plain()
        && let Some(to) = guard.comms.find(comm).and_then(|comm| addressee(comm, dest, tag))
        && let Some(data) = objects::datatype::simple(buf, count, datatype)
    {
        let data = Data::Contiguous(data);
        let started = match mode {
            Mode::Blocking => engine::begin_send(&mut *guard, &to, data, mode),
            _ => engine::isend(&mut *guard, &to, data, mode),
        };
        drop(guard);
        engine::see_to_connections(t);
        return started;
    }
    let mut state = t.lock();
    let data = state.data(buf, count, datatype)?;
    let started = start_send(&mut state, mode, data, dest, tag, comm);
    drop(state);
    engine::see_to_connections(t);
    started
}

/// Starts a send; `None` when it is over already.
#[inline]
pub fn start_send(
    state: &mut State,
    mode: Mode,
    data: Data,
    dest: i32,
    tag: i32,
    comm: abi::Comm,
) -> Result<Started> {
    let Some(to) = target(state.comms.get(comm)?, dest, tag)? else { return Ok(None) };
    engine::isend(state, &to, data, mode)
}

/// Starts a receive; `None` when the source is `MPI_PROC_NULL`.
#[inline]
pub fn start_recv(state: &mut State, data: Data, source: i32, tag: i32, comm: abi::Comm) -> Result<Started> {
    let Some(pattern) = pattern(state.comms.get(comm)?, source, tag)? else { return Ok(None) };
    if let (Data::Contiguous(into), true) = (&data, tag >= 0)
        && let Some(id) = state.p2p.irecv_now(&pattern, *into)
    {
        return Ok(Some(id));
    }
    state.p2p.irecv(&pattern, data).map(Some)
}

/// Starts a receive and a send that belong together; each is `None` for `MPI_PROC_NULL`, and the send when it is over. If
/// the send cannot start, the receive is given up: its message is the next receive's.
pub fn start_both(
    state: &mut State,
    from: Option<Pattern>,
    incoming: Data,
    to: Option<SendTo>,
    outgoing: Data,
) -> Result<(Started, Started)> {
    let received = from.map(|from| state.p2p.irecv(&from, incoming)).transpose()?;
    let sent = to.map_or(Ok(None), |to| engine::isend(state, &to, outgoing, Mode::Standard));
    let sent = sent.inspect_err(|_| {
        if let Some(id) = received {
            state.p2p.cancel(id);
            state.p2p.detach(id);
        }
    })?;
    Ok((received, sent))
}

/// Checks a destination and a tag; `None` for `MPI_PROC_NULL`.
#[inline(always)]
pub fn target(comm: &Comm, dest: i32, tag: i32) -> Result<Option<SendTo>> {
    match addressee(comm, dest, tag) {
        Some(to) => Ok(Some(to)),
        None if comm.is_revoked => Err(REVOKED),
        None if tag < 0 => Err(Error::new(abi::ERR_TAG, "a send tag must be between 0 and MPI_TAG_UB")),
        None if dest == abi::PROC_NULL => Ok(None),
        None => Err(Error::new(abi::ERR_RANK, "the destination lies outside the communicator")),
    }
}

/// A destination and a tag, if both are right.
#[inline(always)]
fn addressee(comm: &Comm, dest: i32, tag: i32) -> Option<SendTo> {
    let &peer = comm.peers.get(dest as usize).filter(|_| tag >= 0)?;
    Some(SendTo {
        peer: btl::Peer(peer),
        context: comm.context,
        source: comm.rank,
        tag,
        owner: comm.handle.0 as u32,
    })
}

/// Checks a source and a tag, wildcards included; `None` for `MPI_PROC_NULL`.
#[inline(always)]
pub fn pattern(comm: &Comm, source: i32, tag: i32) -> Result<Option<Pattern>> {
    if tag < 0 && tag != abi::ANY_TAG {
        return Err(Error::new(
            abi::ERR_TAG,
            "a receive tag must be MPI_ANY_TAG or between 0 and MPI_TAG_UB",
        ));
    }
    let peer = match comm.peers.get(source as usize) {
        Some(&peer) => Some(btl::Peer(peer)),
        None if comm.is_revoked => return Err(REVOKED),
        None if source == abi::ANY_SOURCE => None,
        None if source == abi::PROC_NULL => return Ok(None),
        None => return Err(Error::new(abi::ERR_RANK, "the source lies outside the communicator")),
    };
    Ok(Some(Pattern { context: comm.context, source, tag, peer, owner: comm.handle.0 as u32 }))
}

/// Waits for a request of the PML and frees it.
#[inline]
pub fn finish(t: &mut Token, id: ReqId) -> Done {
    let done = wait_for_request(t, id, |state| state.take_awaited(id).or_else(|| state.pending(id)));
    if done.error == abi::ERR_PROC_FAILED_PENDING { give_up(t, id, done) } else { done }
}

/// A receive of any process ends with the call, since one has failed that might have sent the message.
#[cold]
fn give_up(t: &mut Token, id: ReqId, pending: Done) -> Done {
    let mut state = t.lock();
    state.p2p.cancel(id);
    state.p2p.detach(id);
    Done { error: abi::ERR_PROC_FAILED, ..pending }
}

/// The error of a finished operation.
#[inline(always)]
pub fn outcome(done: &Done) -> Result<()> {
    if done.error == abi::SUCCESS { Ok(()) } else { Err(failure(done)) }
}

/// The error of an operation that could not be completed as it should.
#[cold]
pub fn failure(done: &Done) -> Error {
    let Done { status, error, .. } = done;
    let what = match *error {
        abi::ERR_TRUNCATE => "the message is longer than the receive buffer",
        abi::ERR_PROC_ABORTED => "the peer is gone",
        abi::ERR_PROC_FAILED | abi::ERR_PROC_FAILED_PENDING => UNACKNOWLEDGED.what,
        abi::ERR_REVOKED => REVOKED.what,
        abi::ERR_NO_MEM => "no memory for the operation",
        abi::ERR_RMA_RANGE => "the operation reached memory that its target does not expose",
        abi::ERR_COUNT | abi::ERR_ROOT | abi::ERR_TYPE | abi::ERR_OP => {
            "the processes of the communicator make different collective calls"
        }
        abi::ERR_OTHER => "the operation failed, or another process makes another collective call",
        _ => "the operation failed",
    };
    let failure = Error::new(*error, what);
    if *error != abi::ERR_TRUNCATE || status.missing() == 0 {
        return failure;
    }
    failure.described(|| {
        let (source, tag, room) = (status.source, status.tag, status.bytes());
        let sent = room + status.missing();
        format!("the message from rank {source} with tag {tag} has {sent} bytes, the receive buffer {room}")
    })
}

/// What a receive from `MPI_PROC_NULL` gives.
pub(crate) fn proc_null() -> Done {
    Done { status: Status::PROC_NULL, error: abi::SUCCESS, owner: 0 }
}

#[inline(always)]
fn handle(started: Started, complete: abi::Request) -> abi::Request {
    started.map_or(complete, |id| RequestKey::Pml(id.0).handle())
}
