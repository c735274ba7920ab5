//! Blocking receives: two fast paths, and polling before a receive is posted.

use abi::{Address, Count, Datatype, Result, Status};
use engine::Progress;
use mem::UserMem;
use platform::waiter::Waiter;
use pml::{Data, Done, Pattern};

use super::{finish, outcome, pattern, proc_null};
use objects::domain::{Attempt, DOMAIN, Token, enter_plain};
use objects::state::State;

/// `MPI_Recv`, all but the fast paths.
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn recv(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    status: Option<&mut Status>,
) -> Result<()> {
    let checked = {
        let guard = t.lock();
        let data = guard.data(buf, count, datatype)?;
        pattern(guard.comms.get(comm)?, source, tag)?.map(|pattern| (pattern, data))
    };
    let done = receive(t, checked)?;
    if let Some(status) = status {
        status.fill(&done.status);
    }
    outcome(&done)
}

/// Receives a message; without a pattern, from `MPI_PROC_NULL`.
pub(super) fn receive(t: &mut Token, checked: Option<(Pattern, Data)>) -> Result<Done> {
    let Some((pattern, data)) = checked else { return Ok(proc_null()) };
    if let Some(done) = await_short(t, &pattern, &data) {
        return Ok(done);
    }
    let id = {
        let mut guard = t.lock();
        let state = &mut *guard;
        state.p2p.irecv(&pattern, data)?
    };
    Ok(finish(t, id))
}

/// `MPI_Recv`'s fast path: right arguments, no wildcard, a predefined type, a short message that is here and fits.
/// [`Attempt::FULL_PATH`]: [`recv`] finds out why.
#[inline(always)]
pub fn recv_at_once(
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    status: Option<&mut Status>,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::full_path() };
    let plain = plain_recv(&guard, buf, count, datatype, source, tag, comm);
    let Some((pattern, into)) = plain else { return guard.give_up() };
    let State { p2p, .. } = &mut *guard;
    match p2p.recv_short(&pattern, into, status) {
        None => guard.give_up(),
        Some(_) => Attempt::DONE,
    }
}

/// `MPI_Recv`'s second fast path: a message that came before it was asked for, a short one that comes while a rank with
/// a core of its own polls for it, and one that is here and not short. Not part of the first one, which would have to keep
/// all that this one needs afterwards; here that happens before the message comes.
#[inline(always)]
pub fn recv_soon(
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
    mut status: Option<&mut Status>,
) -> Attempt {
    let Some(mut guard) = enter_plain() else { return Attempt::FULL_PATH };
    let plain = plain_recv(&guard, buf, count, datatype, source, tag, comm);
    let Some((pattern, into)) = plain else { return Attempt::FULL_PATH };
    let State { p2p, params, .. } = &mut *guard;
    let polls = if params.waiting.is_oversubscribed() { 1 } else { POLLS_AT_ONCE };
    // Not in one chain with the others: what follows a chain would be done between the message and the return.
    if p2p.recv_within(&pattern, into, status.as_deref_mut(), polls).is_some() {
        return Attempt::DONE;
    }
    let taken = p2p
        .recv_kept(&pattern, into, status.as_deref_mut())
        .or_else(|| p2p.recv_longer(&pattern, into, status));
    if taken.is_some() { Attempt::DONE } else { Attempt::FULL_PATH }
}

/// Polls for a message in `MPI_Recv`'s second fast path: some microseconds.
const POLLS_AT_ONCE: u32 = 300;

/// The checked arguments of a receive, if these are right and plain and name one sender.
#[inline(always)]
pub(super) fn plain_recv(
    state: &State,
    buf: Address,
    count: Count,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: abi::Comm,
) -> Option<(Pattern, UserMem)> {
    let comm = state.comms.find(comm)?;
    let &peer = comm.peers.get(source as usize).filter(|_| tag >= 0)?;
    let into = objects::datatype::simple(buf, count, datatype)?;
    let (peer, owner) = (Some(btl::Peer(peer)), comm.handle.0 as u32);
    let pattern = Pattern { context: comm.context, source, tag, peer, owner };
    Some((pattern, into))
}

/// Polls for the message of a blocking receive without posting it, as long as it is worth spinning: what arrives
/// then goes from the transport to the user in one step. `None`: post it.
pub fn await_short(t: &mut Token, pattern: &Pattern, data: &Data) -> Option<Done> {
    let Data::Contiguous(into) = *data else { return None };
    let alone = !t.multiple();
    let mut guard = t.lock();
    let state = &mut *guard;
    if state.p2p.matches_below() {
        return None;
    }
    if let Some(done) = engine::recv_now(state, pattern, into) {
        return Some(done);
    }
    if !alone || pattern.peer.is_none() || pattern.tag < 0 {
        return None;
    }
    let shares = state.params.waiting.is_oversubscribed();
    let done = look_for(state, pattern, into, shares);
    if shares && done.is_some() {
        state.went_on();
    }
    done
}

/// Polls for a message as long as it is worth spinning or yielding. `None`: post it.
fn look_for(state: &mut State, pattern: &Pattern, into: UserMem, shares: bool) -> Option<Done> {
    let mut waiter = Waiter::new(state.params.waiting);
    loop {
        // Where ranks share a core, the sender needs it more than a second poll does.
        let polls = if state.p2p.is_quiet() { state.polls() } else { 1 };
        for _ in 0..polls {
            if let Some(done) = engine::recv_now(state, pattern, into) {
                return Some(done);
            }
            if !state.p2p.is_quiet() {
                break;
            }
            std::hint::spin_loop();
        }
        let happened = state.progress();
        if let Some(done) = engine::recv_now(state, pattern, into) {
            return Some(done);
        }
        if shares {
            let awaited = |state: &State| pattern.peer.filter(|_| state.p2p.is_quiet());
            let done = state.keep_polling(awaited, |state| engine::recv_now(state, pattern, into));
            if done.is_some() {
                return done;
            }
        }
        let offered = state.p2p.iprobe(pattern).is_some();
        if offered || state.call_is_due() || !DOMAIN.is_plain() || !happened && waiter.idle() {
            return None;
        }
    }
}
