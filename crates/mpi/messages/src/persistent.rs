//! Persistent point-to-point requests (MPI-5.0 section 3.9) and `MPI_Isendrecv`.

use abi::{Address, Count, Datatype, Error, Result};
use engine::{Afterlife, Fate, P2p, advance_all, with};
use mem::UserMem;
use pml::{Data, Done, Mode, Pattern, ReqId, SendTo};

use crate::p2p::{pattern, proc_null, start_both, start_recv, start_send, target};
use crate::request::Pair;
use objects::comm::Held;
use objects::datatype::{TypeRef, packed};
use objects::domain::{Attempt, Token, enter_plain};
use objects::handle::RequestKey;
use objects::immediate::EMPTY;
use objects::state::State;

/// What `MPI_Start` starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `MPI_Send_init`, `MPI_Ssend_init`, `MPI_Rsend_init`.
    Send(Mode),
    /// `MPI_Bsend_init`.
    Buffered,
    /// `MPI_Recv_init`.
    Receive,
}

/// The arguments of an `_init` call and the operation in flight.
pub struct Persistent {
    operation: Operation,
    arguments: Arguments,
    ready: Ready,
    active: Active,
    last: Done,
    /// The communicator, which the program may free before it starts the operation.
    held: Held,
}

struct Arguments {
    buf: Address,
    count: Count,
    datatype: TypeRef,
    rank: i32,
    tag: i32,
}

/// The arguments as the message layer wants them, where no start has to look at them again: memory in one run, one rank, a
/// tag. Each names the handle of its communicator, which is another one once the program has freed that.
enum Ready {
    /// To be found out by each start.
    No,
    Send(SendTo, UserMem),
    Receive(Pattern, UserMem),
}

#[derive(Clone, Copy)]
enum Active {
    No,
    Pml(ReqId),
    /// Complete, result in `last`.
    Complete,
}

impl Persistent {
    /// Starts an inactive request if its message can leave, or be received or awaited, by the fast ways of nonblocking calls;
    /// `false`: nothing was done.
    #[inline(always)]
    fn start_at_once(&mut self, p2p: &mut P2p) -> bool {
        let comm = self.held.comm().0 as u32;
        match (&self.ready, self.active) {
            (Ready::Send(to, data), Active::No) if to.owner == comm => {
                if p2p.send_now(to, *data) {
                    self.active = Active::Complete;
                }
            }
            (Ready::Receive(from, into), Active::No) if from.owner == comm => {
                if let Some(id) = p2p.irecv_now(from, *into) {
                    self.active = Active::Pml(id);
                }
            }
            _ => return false,
        }
        self.is_started()
    }

    #[inline(always)]
    fn is_started(&self) -> bool {
        !matches!(self.active, Active::No)
    }

    /// Whether it is inactive or complete, or `take` has the result of its message.
    #[inline]
    fn ends(&mut self, take: impl FnOnce(ReqId) -> Option<Done>) -> bool {
        if let Active::Pml(id) = self.active {
            let Some(done) = take(id) else { return false };
            self.last = done;
            self.active = Active::Complete;
        }
        true
    }
}

/// The result of a persistent request that is inactive or complete, or becomes so by some polls of its sender; it is inactive
/// from now on. `None`: it is under way or has failed, or the request is another one, and nothing was taken.
#[inline(always)]
pub fn take_at_once(state: &mut State, key: u32) -> Option<Done> {
    let polls = state.polls();
    let State { requests, p2p, .. } = state;
    let Some(it) = requests.get_as::<Persistent>(key) else {
        return requests.get_mut(key)?.take_success();
    };
    if let Active::Pml(id) = it.active {
        it.last = p2p.take_awaited(id, polls)?;
        it.active = Active::Complete;
    }
    if it.last.error != abi::SUCCESS {
        // The usual way also sees to peers that are lost.
        state.take_losses();
        return None;
    }
    it.active = Active::No;
    Some(std::mem::replace(&mut it.last, EMPTY))
}

impl engine::Operation<State> for Persistent {
    fn is_over(&mut self, state: &mut State) -> bool {
        self.ends(|id| state.p2p.take(id))
    }

    fn is_over_soon(&mut self, state: &mut State) -> bool {
        self.ends(|id| state.take_awaited(id))
    }

    fn is_active(&self) -> bool {
        self.is_started()
    }

    fn outcome(&self) -> Done {
        self.last
    }

    fn stands_for(&self) -> Option<ReqId> {
        if let Active::Pml(id) = self.active { Some(id) } else { None }
    }

    fn start(&mut self, state: &mut State, _key: u32) -> Result<bool> {
        let (a, comm) = (&self.arguments, self.held.comm());
        let data = a.datatype.data(a.buf, a.count)?;
        let started = match self.operation {
            Operation::Send(mode) => start_send(state, mode, data, a.rank, a.tag, comm)?,
            Operation::Buffered => {
                crate::buffer::start(state, data, a.rank, a.tag, comm)?;
                None
            }
            Operation::Receive => start_recv(state, data, a.rank, a.tag, comm)?,
        };
        if started.is_none() {
            self.last = if self.operation == Operation::Receive { proc_null() } else { EMPTY };
        }
        self.active = started.map_or(Active::Complete, Active::Pml);
        Ok(false)
    }

    /// The request can be started again.
    fn conclude(&mut self) -> (Done, Fate) {
        self.active = Active::No;
        (std::mem::replace(&mut self.last, EMPTY), Fate::Inactive)
    }

    fn cancel(&mut self, state: &mut State) -> Result<()> {
        if let Active::Pml(id) = self.active {
            state.p2p.cancel(id);
        }
        Ok(())
    }

    /// An operation in flight completes on its own.
    fn give_up(&mut self, state: &mut State) -> Afterlife {
        if let Active::Pml(id) = self.active {
            state.p2p.detach(id);
            return Afterlife::Gone;
        }
        if self.is_over(state) { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}

/// `MPI_Send_init` and its siblings, `MPI_Recv_init`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn init(
    t: &mut Token,
    operation: Operation,
    buf: Address,
    count: Count,
    datatype: Datatype,
    rank: i32,
    tag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let mut state = t.lock();
    let data = state.data(buf, count, datatype);
    let plain = match &data {
        Ok(Data::Contiguous(memory)) => Some(*memory),
        _ => None,
    };
    let found = state.comm(comm)?;
    let ready = match operation {
        Operation::Receive => {
            let exact = pattern(found, rank, tag)?.filter(|from| from.peer.is_some() && tag >= 0);
            exact.zip(plain).map(|(from, into)| Ready::Receive(from, into))
        }
        Operation::Send(Mode::Synchronous) | Operation::Buffered => target(found, rank, tag).map(|_| None)?,
        Operation::Send(_) => target(found, rank, tag)?.zip(plain).map(|(to, data)| Ready::Send(to, data)),
    };
    data?;
    let ready = ready.unwrap_or(Ready::No);
    let datatype = state.types.resolve(datatype)?;
    let arguments = Arguments { buf, count, datatype, rank, tag };
    let held = state.hold(comm)?;
    let persistent = Persistent { operation, arguments, ready, active: Active::No, last: EMPTY, held };
    *request = state.add_request(persistent)?;
    Ok(())
}

/// `MPI_Start`'s fast path: a message that leaves at once, a receive without wildcards, or a collective in shared memory.
#[inline(always)]
pub fn start_at_once(request: &mut abi::Request) -> Attempt {
    let Some(RequestKey::Operation(key)) = RequestKey::of(*request) else { return Attempt::FULL_PATH };
    let Some(mut guard) = enter_plain() else { return Attempt::FULL_PATH };
    let State { requests, p2p, .. } = &mut *guard;
    let started = match requests.get_as::<Persistent>(key) {
        Some(it) => it.start_at_once(p2p),
        None => start_other_at_once(&mut guard, key),
    };
    if started { Attempt::DONE } else { Attempt::FULL_PATH }
}

/// As [`Persistent::start_at_once`], of a request that is no message.
fn start_other_at_once(state: &mut State, key: u32) -> bool {
    let starts = state.requests.get(key).is_some_and(|it| it.starts_at_once());
    if starts && let Some(Ok(true)) = with(state, key, |it, state| it.start(state, key)) {
        state.requests.register(key);
    }
    starts
}

/// `MPI_Start`, all but the fast path.
pub fn start(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    startall(t, std::slice::from_mut(request))
}

/// `MPI_Startall`
pub fn startall(t: &mut Token, requests: &mut [abi::Request]) -> Result<()> {
    let started = {
        let mut state = t.lock();
        requests.iter().try_for_each(|&request| start_one(&mut state, request))
    };
    engine::see_to_connections(t);
    started
}

fn start_one(state: &mut State, request: abi::Request) -> Result<()> {
    let not = Error::new(abi::ERR_REQUEST, "the handle names no inactive persistent request");
    let Some(RequestKey::Operation(key)) = RequestKey::of(request) else { return Err(not) };
    let State { requests, p2p, .. } = state;
    if requests.get_as::<Persistent>(key).is_some_and(|it| it.start_at_once(p2p)) {
        return Ok(());
    }
    state.requests.get(key).filter(|it| !it.is_active()).ok_or(not)?;
    if with(state, key, |it, state| it.start(state, key)).ok_or(not)?? {
        state.requests.register(key);
        advance_all(state);
    }
    Ok(())
}

/// `MPI_Isendrecv`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn isendrecv(
    t: &mut Token,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    source: i32,
    recvtag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let mut state = t.lock();
    let to = target(state.comm(comm)?, dest, sendtag)?;
    let from = pattern(state.comm(comm)?, source, recvtag)?;
    let outgoing = state.data(sendbuf, sendcount, sendtype)?;
    let incoming = state.data(recvbuf, recvcount, recvtype)?;
    state.requests.check_room()?;
    let (receive, send) = start_both(&mut state, from, incoming, to, outgoing)?;
    *request = state.add_request(Pair::new(receive, send, Vec::new()))?;
    drop(state);
    engine::see_to_connections(t);
    Ok(())
}

/// `MPI_Isendrecv_replace`: the outgoing data is packed first and kept until both are over.
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn isendrecv_replace(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: abi::Comm,
    request: &mut abi::Request,
) -> Result<()> {
    let mut state = t.lock();
    let to = target(state.comm(comm)?, dest, sendtag)?;
    let from = pattern(state.comm(comm)?, source, recvtag)?;
    let kept = state.data(buf, count, datatype).and_then(packed)?;
    let incoming = state.data(buf, count, datatype)?;
    state.requests.check_room()?;
    let outgoing = Data::Contiguous(objects::memory::of_vec(&kept));
    let (receive, send) = start_both(&mut state, from, incoming, to, outgoing)?;
    *request = state.add_request(Pair::new(receive, send, kept))?;
    drop(state);
    engine::see_to_connections(t);
    Ok(())
}
