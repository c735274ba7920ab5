//! Neighbourhood collectives of short plain blocks: a message to each destination, complete when it has left, then one
//! from each source, looked for as a blocking receive does it.
//!
//! ```text
//!   to all destinations ─► from the first source ─► from the next one …
//!                          not there for long: posted, and waited for as a request
//! ```
//!
//! The messages are those of the schedule (`coll::algorithms::neighbour`), in the same order, so that each process may go
//! either way; empty blocks need none.

use abi::{Address, Comm, Count, Datatype, Result};
use coll::Coll;
use coll::exchange::Places;
use ffi::CountArray;
use mem::UserMem;
use pml::{Data, Mode, Pattern, ReqId, SendTo};

use super::super::arguments::IN_PLACE;
use super::super::check::{LogReads, Logged, Statement, disagreement};
use super::super::kept;
use super::super::run::Missing;
use super::super::state::CollState;
use super::blocks::Blocks;
use super::{Numbered, number};
use objects::comm::Comm as Communicator;
use objects::domain::Token;
use objects::state::State;
use objects::topology::Topology;
use objects::wait::wait_actively_seen;

/// Bytes of a block up to which this way serves: longer ones may be offered, and an offer wants a posted receive.
const MOST: usize = 4096;

/// `MPI_Neighbor_allgather`
pub(crate) fn neighbor_allgather(
    t: &mut Token,
    send: (Address, Count, Datatype),
    recv: (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    let (own, block) = (short(send)?, short(recv)?);
    exchange(t, Coll::NeighborAllgather, comm, |_| own, |i| next(block, i))
}

/// `MPI_Neighbor_alltoall`
pub(crate) fn neighbor_alltoall(
    t: &mut Token,
    send: (Address, Count, Datatype),
    recv: (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    let (own, block) = (short(send)?, short(recv)?);
    exchange(t, Coll::NeighborAlltoall, comm, |i| next(own, i), |i| next(block, i))
}

/// `MPI_Neighbor_allgatherv`
pub(crate) fn neighbor_allgatherv(
    t: &mut Token,
    send: (Address, Count, Datatype),
    (recvbuf, recvtype): (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    let (own, [sources, _]) = (short(send)?, neighbours(&mut t.lock(), comm)?);
    let (blocks, _) = Blocks::new(recvbuf, counts, recvtype, (sources, MOST as u64))?;
    exchange(t, Coll::NeighborAllgatherv, comm, |_| own, |i| blocks.of(i))
}

/// `MPI_Neighbor_alltoallv`
pub(crate) fn neighbor_alltoallv(
    t: &mut Token,
    (sendbuf, sendtype): (Address, Datatype),
    sendcounts: (CountArray<'_>, CountArray<'_>),
    (recvbuf, recvtype): (Address, Datatype),
    recvcounts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    let [sources, destinations] = neighbours(&mut t.lock(), comm)?;
    let (out, _) = Blocks::new(sendbuf, sendcounts, sendtype, (destinations, MOST as u64))?;
    let (into, _) = Blocks::new(recvbuf, recvcounts, recvtype, (sources, MOST as u64))?;
    exchange(t, Coll::NeighborAlltoallv, comm, |i| out.of(i), |i| into.of(i))
}

/// A block, if it is plain and short.
#[inline(always)]
fn short((address, count, datatype): (Address, Count, Datatype)) -> Option<UserMem> {
    objects::datatype::simple_within(address, count, datatype, MOST).filter(|_| address != IN_PLACE)
}

/// The block that is `i` blocks of its length behind.
#[inline(always)]
fn next(block: UserMem, i: usize) -> UserMem {
    objects::memory::of_user(Address(block.address() + i * block.len()), block.len())
}

/// The numbers of sources and destinations, in a topology.
#[inline(always)]
fn neighbours(state: &mut State, comm: Comm) -> Option<[usize; 2]> {
    state.check_whole(comm).ok()?;
    let State { tables, comms, .. } = state;
    let found = comms.get_mut(comm).ok().filter(|found| !found.hints.are_errors_uniform(false))?;
    let kept = kept::of(tables, found);
    kept.meet_neighbours(found);
    let neighbours = kept.neighbours()?;
    Some([neighbours.sources.len(), neighbours.destinations.len()])
}

/// An exchange with the neighbours, of which the messages have left.
struct Sent {
    /// The context and tag of its messages.
    name: (u32, i32),
    logged: Option<Logged>,
    /// Messages that could not leave at once.
    left: Vec<ReqId>,
    sources: usize,
}

/// Sends to all destinations what `out` names and receives from all sources into what `into` names. `None`: nothing
/// was done.
fn exchange(
    t: &mut Token,
    coll: Coll,
    comm: Comm,
    out: impl Fn(usize) -> UserMem,
    into: impl Fn(usize) -> UserMem,
) -> Option<Result<()>> {
    if t.multiple() {
        return None;
    }
    let sent = send_to_all(&mut t.lock(), coll, comm, out)?;
    Some(sent.and_then(|sent| receive_from_all(t, comm, sent, into)))
}

fn send_to_all(
    state: &mut State,
    coll: Coll,
    comm: Comm,
    out: impl Fn(usize) -> UserMem,
) -> Option<Result<Sent>> {
    let [sources, destinations] = neighbours(state, comm)?;
    let State { tables, comms, p2p, node, params, .. } = state;
    let found = comms.find(comm)?;
    let kept = kept::at_mut(tables, found.slot).filter(|kept| !kept.is_apart())?;
    let statement = Statement::plain(coll, 0, 0);
    let Numbered { tag, logged, .. } =
        number(kept, found.context, node.as_deref(), params.tuned.check, statement);
    let mut sent = Sent { name: (found.context | 1, tag), logged, left: Vec::new(), sources };
    for i in 0..destinations {
        // As in the schedule: what goes one way along a dimension comes from the other.
        let i = if matches!(found.topology, Some(Topology::Cart(_))) { i ^ 1 } else { i };
        let Some(to) = addressee(found, kept, i, tag) else { continue };
        let data = out(i);
        if data.is_empty() {
            continue;
        }
        match p2p.isend(&to, Data::Contiguous(data), Mode::Standard) {
            Ok(started) => sent.left.extend(started),
            Err(error) => return Some(Err(error)),
        }
    }
    engine::poll_if_due(state);
    Some(Ok(sent))
}

/// The destination numbered `i`, unless it is `MPI_PROC_NULL`.
#[inline(always)]
fn addressee(comm: &Communicator, kept: &CollState, i: usize, tag: i32) -> Option<SendTo> {
    let rank = (*kept.neighbours()?.destinations.get(i)?)?;
    Some(SendTo {
        peer: btl::Peer(comm.addressed()[rank as usize]),
        context: comm.context | 1,
        source: comm.rank,
        tag,
        owner: comm.handle.0 as u32,
    })
}

/// What the source numbered `i` sends, unless it is `MPI_PROC_NULL`.
#[inline(always)]
fn awaited(state: &State, comm: &Communicator, i: usize, tag: i32) -> Option<Pattern> {
    let rank = kept::at(&state.tables, comm.slot)?.neighbours()?.sources[i]?;
    Some(Pattern {
        context: comm.context | 1,
        source: rank as i32,
        tag,
        peer: Some(btl::Peer(comm.addressed()[rank as usize])),
        owner: comm.handle.0 as u32,
    })
}

fn receive_from_all(t: &mut Token, comm: Comm, sent: Sent, into: impl Fn(usize) -> UserMem) -> Result<()> {
    for i in 0..sent.sources {
        let pattern = {
            let state = t.lock();
            awaited(&state, state.comm(comm)?, i, sent.name.1)
        };
        let Some(pattern) = pattern else { continue };
        let into = into(i);
        if into.is_empty() {
            continue;
        }
        let data = Data::Contiguous(into);
        if let Some(done) = messages::p2p::await_short(t, &pattern, &data) {
            messages::p2p::outcome(&done)?;
            continue;
        }
        let id = {
            let mut state = t.lock();
            let State { p2p, .. } = &mut *state;
            p2p.irecv(&pattern, data)?
        };
        finish(t, comm, id, &sent)?;
    }
    sent.left.iter().try_for_each(|&id| finish(t, comm, id, &sent))
}

/// Waits for a message, or for a process to have called something else.
#[cold]
fn finish(t: &mut Token, comm: Comm, id: ReqId, sent: &Sent) -> Result<()> {
    let mut log_reads = LogReads::default();
    let why = |state: &mut State| Missing::reason(Some(Missing::Request(id)), state, (comm, ""), sent.name);
    wait_actively_seen(t, why, |state| {
        if let Some(done) = state.take_awaited(id) {
            return Some(messages::p2p::outcome(&done));
        }
        let logged = sent.logged.as_ref().filter(|_| log_reads.is_due(state))?;
        let error = disagreement(state, comm, logged)?;
        let State { p2p, .. } = state;
        p2p.cancel(id);
        p2p.detach(id);
        Some(Err(error))
    })
}
