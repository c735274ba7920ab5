//! Persistent point-to-point requests (MPI-5.0 section 3.9) and `MPI_Isendrecv`.

use abi::{Address, Count, Datatype, Error, Result};
use engine::{Afterlife, Fate, advance_all, with};
use pml::{Data, Done, Mode, ReqId};

use crate::p2p::{pattern, proc_null, start_both, start_recv, start_send, target};
use crate::request::Pair;
use objects::comm::Held;
use objects::datatype::{TypeRef, packed};
use objects::domain::Token;
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

enum Active {
    No,
    Pml(ReqId),
    /// Complete, result in `last`.
    Complete,
}

impl engine::Operation<State> for Persistent {
    fn is_over(&mut self, state: &mut State) -> bool {
        if let Active::Pml(id) = self.active {
            let Some(done) = state.p2p.take(id) else { return false };
            self.last = done;
            self.active = Active::Complete;
        }
        true
    }

    fn is_active(&self) -> bool {
        !matches!(self.active, Active::No)
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
    match operation {
        Operation::Receive => pattern(state.comm(comm)?, rank, tag).map(drop)?,
        Operation::Send(_) | Operation::Buffered => target(state.comm(comm)?, rank, tag).map(drop)?,
    }
    state.data(buf, count, datatype)?;
    let datatype = state.types.resolve(datatype)?;
    let arguments = Arguments { buf, count, datatype, rank, tag };
    let held = state.hold(comm)?;
    let persistent = Persistent { operation, arguments, active: Active::No, last: EMPTY, held };
    *request = state.add_request(persistent)?;
    Ok(())
}

/// `MPI_Start`
pub fn start(t: &mut Token, request: &mut abi::Request) -> Result<()> {
    let started = start_one(t, *request);
    engine::see_to_connections(t);
    started
}

/// `MPI_Startall`
pub fn startall(t: &mut Token, requests: &mut [abi::Request]) -> Result<()> {
    let started = requests.iter().try_for_each(|&request| start_one(t, request));
    engine::see_to_connections(t);
    started
}

fn start_one(t: &mut Token, request: abi::Request) -> Result<()> {
    let not = Error::new(abi::ERR_REQUEST, "the handle names no inactive persistent request");
    let Some(RequestKey::Operation(key)) = RequestKey::of(request) else { return Err(not) };
    let mut guard = t.lock();
    let state = &mut *guard;
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
