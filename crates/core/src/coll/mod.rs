//! Collective operations: from the arguments of a call to a running schedule (MPI-5.0 chapter 6).
//!
//! ```text
//!   entry point (this file) ── checks the arguments ──► Call        (call.rs)
//!        │
//!        ├─ picks an algorithm, finds or builds its schedule        (select.rs)
//!        └─ Running: the schedule's execution, bound to the buffers (run.rs)
//!              └─ Port: its messages are point-to-point operations  (port.rs)
//! ```
//!
//! Blocking, nonblocking and persistent calls differ in who advances the [`Running`]: the call itself, progress,
//! or progress after each start.

mod call;
mod port;
mod run;
mod select;

use abi::{Address, Count, Datatype, Error, Op, Result};
use coll::{Coll, Root};

pub(crate) use call::Call;
use call::{Buffer, reduction};
use run::launch;
pub(crate) use run::{Callbacks, Running, advance_all, run_callback, start_persistent};
pub(crate) use select::CollState;

use crate::comm::Comm;
use crate::domain::Token;
use crate::state::State;

/// How a collective call is completed.
#[derive(Debug)]
pub enum Mode<'a> {
    /// When it returns.
    Blocking,
    /// By the request (`MPI_I…`).
    Nonblocking(&'a mut abi::Request),
    /// By the request, once for each start (`MPI_…_init`).
    Persistent(&'a mut abi::Request),
}

const IN_PLACE: Address = Address(abi::IN_PLACE);

/// `MPI_Barrier`
pub fn barrier(t: &mut Token, mode: Mode<'_>, comm: abi::Comm) -> Result<()> {
    t.lock().comm(comm)?;
    launch(t, mode, Call::new(Coll::Barrier, comm))
}

/// A blocking barrier for the library itself.
pub(crate) fn blocking_barrier(t: &mut Token, comm: abi::Comm) -> Result<()> {
    barrier(t, Mode::Blocking, comm)
}

/// `MPI_Bcast`
pub fn bcast(
    t: &mut Token,
    mode: Mode<'_>,
    buffer: Address,
    count: Count,
    datatype: Datatype,
    root: i32,
    comm: abi::Comm,
) -> Result<()> {
    let call = {
        let state = t.lock();
        let root = checked_root(state.comm(comm)?, root)?;
        let recv = state.collective_buffer(buffer, count, datatype)?;
        Call { root, recv, ..Call::new(Coll::Bcast, comm) }
    };
    launch(t, mode, call)
}

/// `MPI_Gather`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn gather(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    root: i32,
    comm: abi::Comm,
) -> Result<()> {
    let call = {
        let state = t.lock();
        let c = state.comm(comm)?;
        let root = checked_root(c, root)?;
        let mut call = Call { root, ..Call::new(Coll::Gather, comm) };
        let at_root = call.at_root(c);
        if at_root {
            call.recv = state.collective_buffer(recvbuf, recvcount, recvtype)?;
        }
        call.in_place = at_root && sendbuf == IN_PLACE;
        if !call.in_place && call.contributes() {
            call.send = state.collective_buffer(sendbuf, sendcount, sendtype)?;
        }
        call
    };
    launch(t, mode, call)
}

/// `MPI_Allgather`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn allgather(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    comm: abi::Comm,
) -> Result<()> {
    let call = {
        let state = t.lock();
        state.comm(comm)?;
        let mut call = Call::new(Coll::Allgather, comm);
        call.recv = state.collective_buffer(recvbuf, recvcount, recvtype)?;
        call.in_place = sendbuf == IN_PLACE;
        if !call.in_place {
            call.send = state.collective_buffer(sendbuf, sendcount, sendtype)?;
        }
        call
    };
    launch(t, mode, call)
}

/// `MPI_Reduce`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn reduce(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    root: i32,
    comm: abi::Comm,
) -> Result<()> {
    let call = {
        let state = t.lock();
        let c = state.comm(comm)?;
        let root = checked_root(c, root)?;
        let mut call = Call { root, ..Call::new(Coll::Reduce, comm) };
        let at_root = call.at_root(c);
        call.in_place = at_root && sendbuf == IN_PLACE;
        let unused = Buffer::shape_only(&state, count, datatype)?;
        call.recv = if at_root { state.collective_buffer(recvbuf, count, datatype)? } else { unused.clone() };
        let sends = call.contributes() && !call.in_place;
        call.send = if sends { state.collective_buffer(sendbuf, count, datatype)? } else { unused };
        call.op = Some(reduction(&state, op, datatype)?);
        call
    };
    launch(t, mode, call)
}

/// `MPI_Allreduce`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn allreduce(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    comm: abi::Comm,
) -> Result<()> {
    let call = {
        let state = t.lock();
        state.comm(comm)?;
        let mut call = Call::new(Coll::Allreduce, comm);
        call.in_place = sendbuf == IN_PLACE;
        call.recv = state.collective_buffer(recvbuf, count, datatype)?;
        call.send = if call.in_place {
            Buffer::shape_only(&state, count, datatype)?
        } else {
            state.collective_buffer(sendbuf, count, datatype)?
        };
        call.op = Some(reduction(&state, op, datatype)?);
        call
    };
    launch(t, mode, call)
}

/// Checks a root argument (MPI-5.0 section 6.2.3 for inter-communicators).
fn checked_root(comm: &Comm, root: i32) -> Result<Root> {
    let bad = Error::new(abi::ERR_ROOT, "the root lies outside the communicator");
    match (&comm.remote, root) {
        (Some(_), abi::ROOT) => Ok(Root::Me),
        (Some(_), abi::PROC_NULL) => Ok(Root::Elsewhere),
        (Some(remote), _) if (root as u32) < remote.size() => Ok(Root::Rank(root as u32)),
        (None, _) if (root as u32) < comm.size() => Ok(Root::Rank(root as u32)),
        _ => Err(bad),
    }
}

impl State {
    /// A buffer argument of a collective.
    fn collective_buffer(&self, address: Address, count: Count, datatype: Datatype) -> Result<Buffer> {
        if address == IN_PLACE {
            return Err(Error::new(abi::ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer"));
        }
        let buffer = Buffer::shape_only(self, count, datatype)?;
        if address.0 == 0 && count > 0 && datatype::predefined_size(datatype).is_some() {
            return Err(Error::new(abi::ERR_BUFFER, "the buffer is null and the count is not 0"));
        }
        Ok(Buffer { address, ..buffer })
    }
}
