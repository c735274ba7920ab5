//! What each collective's processes publish and take. `None` is the answer to whatever is unusual or wrong: the way
//! through a schedule does it or says what is wrong.

use std::ops::Range;

use abi::{Address, Comm, Count, Datatype, Op, Result};
use coll::Coll;
use coll::shared::PAYLOAD;
use mem::UserMem;

use super::super::arguments::{IN_PLACE, reduction};
use super::super::call::Reduction;
use super::exchange::{Plan, Take, Tell};
use super::prefix::{self, Prefix};
use super::{Mode, Site, run_as};
use crate::domain::Token;
use crate::state::State;

/// Bytes of a block from which to copy two runs around it is faster than to copy it, too.
const KEPT_FROM: usize = 256;

/// `MPI_Barrier`
#[inline(always)]
pub(in super::super) fn barrier(t: &mut Token, mode: &mut Mode<'_>, comm: Comm) -> Option<Result<()>> {
    run_as(t, mode, Coll::Barrier, comm, 0, |_, site| {
        let plan = match site.gate {
            true => Plan { gate: true, ..Plan::give(UserMem::EMPTY, Tell::Nobody) },
            false => Plan::meet(UserMem::EMPTY, site.everyone(), Take::Nothing),
        };
        Some((0, plan))
    })
}

/// `MPI_Bcast`
#[inline(always)]
pub(in super::super) fn bcast(
    t: &mut Token,
    mode: &mut Mode<'_>,
    buffer: Address,
    count: Count,
    datatype: Datatype,
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Bcast, comm, root, |_, site| {
        let data = memory(buffer, count, datatype)?;
        let plan = if site.is(root) {
            Plan::give(data, Tell::All)
        } else {
            let take = Take::Blocks { offset: 0, bytes: data.len(), into: buffer };
            Plan::take(data.len(), root as usize..root as usize + 1, take)
        };
        Some((data.len() as u64, plan))
    })
}

/// `MPI_Gather`
#[inline(always)]
pub(in super::super) fn gather(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Gather, comm, root, |_, site| {
        if !site.is(root) {
            let own = memory(sendbuf, sendcount, sendtype)?;
            return Some((own.len() as u64, Plan::give(own, Tell::One(root as usize))));
        }
        let block = memory(recvbuf, recvcount, recvtype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = if in_place { block } else { apart(memory(sendbuf, sendcount, sendtype)?, block)? };
        let take = Take::Blocks { offset: 0, bytes: same(own, block)?, into: recvbuf };
        Some((block.len() as u64, Plan { own, in_place, ..Plan::take(block.len(), site.everyone(), take) }))
    })
}

/// `MPI_Scatter`
#[inline(always)]
pub(in super::super) fn scatter(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Scatter, comm, root, |_, site| {
        let own = root as usize..root as usize + 1;
        if !site.is(root) {
            let block = memory(recvbuf, recvcount, recvtype)?;
            let offset = site.rank as usize * block.len();
            let take = Take::Blocks { offset, bytes: block.len(), into: recvbuf };
            return Some((block.len() as u64, Plan::take(site.blocks(block)?.len(), own, take)));
        }
        let block = memory(sendbuf, sendcount, sendtype)?;
        let all = Plan { kept: site.kept(block), ..Plan::give(site.blocks(block)?, Tell::All) };
        if recvbuf == IN_PLACE {
            return Some((block.len() as u64, all));
        }
        let room = apart(memory(recvbuf, recvcount, recvtype)?, block)?;
        let offset = site.rank as usize * block.len();
        let take = Take::Blocks { offset, bytes: same(room, block)?, into: recvbuf };
        Some((block.len() as u64, Plan { from: own, take, ..all }))
    })
}

/// `MPI_Allgather`
#[inline(always)]
pub(in super::super) fn allgather(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Allgather, comm, 0, |_, site| {
        let block = memory(recvbuf, recvcount, recvtype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = if in_place {
            crate::memory::of_user(Address(recvbuf.0 + site.rank as usize * block.len()), block.len())
        } else {
            apart(memory(sendbuf, sendcount, sendtype)?, block)?
        };
        let take = Take::Blocks { offset: 0, bytes: same(own, block)?, into: recvbuf };
        Some((block.len() as u64, Plan { in_place, ..Plan::meet(own, site.everyone(), take) }))
    })
}

/// `MPI_Alltoall`
#[inline(always)]
pub(in super::super) fn alltoall(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Alltoall, comm, 0, |_, site| {
        let block = memory(recvbuf, recvcount, recvtype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = if in_place { block } else { apart(memory(sendbuf, sendcount, sendtype)?, block)? };
        let bytes = same(own, block)?;
        let take = Take::Blocks { offset: site.rank as usize * bytes, bytes, into: recvbuf };
        let plan = Plan::meet(site.blocks(own)?, site.everyone(), take);
        Some((bytes as u64, Plan { kept: site.kept(own), in_place, ..plan }))
    })
}

/// `MPI_Reduce`
#[inline(always)]
pub(in super::super) fn reduce(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Reduce, comm, root, |state, site| {
        let kernel = kernel(state, comm, op, datatype)?;
        if !site.is(root) {
            let own = memory(sendbuf, count, datatype)?;
            return Some((own.len() as u64, Plan::give(own, Tell::One(root as usize))));
        }
        let operands = Operands::of(sendbuf, recvbuf, count, datatype)?;
        let take = Take::Combined { kernel, offset: 0, count: count as u64, into: operands.into };
        let plan = Plan::take(operands.own.len(), site.everyone(), take);
        Some((operands.bytes(), Plan { own: operands.own, in_place: operands.in_place, ..plan }))
    })
}

/// `MPI_Allreduce`
#[inline(always)]
pub(in super::super) fn allreduce(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Allreduce, comm, 0, |state, site| {
        let kernel = kernel(state, comm, op, datatype)?;
        let operands = Operands::of(sendbuf, recvbuf, count, datatype)?;
        let take = Take::Shared { kernel, count: count as u64, into: operands.into };
        let plan = Plan::meet(operands.own, site.everyone(), take);
        Some((operands.bytes(), Plan { in_place: operands.in_place, ..plan }))
    })
}

/// `MPI_Reduce_scatter_block`
#[inline(always)]
pub(in super::super) fn reduce_scatter_block(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::ReduceScatterBlock, comm, 0, |state, site| {
        let kernel = kernel(state, comm, op, datatype)?;
        let operands = Operands::of(sendbuf, recvbuf, count, datatype)?;
        let (block, own) = (operands.own, site.blocks(operands.own)?);
        let offset = site.rank as usize * block.len();
        let take = Take::Combined { kernel, offset, count: count as u64, into: operands.into };
        let plan = Plan::meet(own, site.everyone(), take);
        Some((own.len() as u64, Plan { in_place: operands.in_place, ..plan }))
    })
}

/// `MPI_Scan`
#[inline(always)]
pub(in super::super) fn scan(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    operation: (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Scan, comm, 0, |state, site| {
        combine_first(state, site, comm, (sendbuf, recvbuf), operation, site.rank as usize + 1)
    })
}

/// `MPI_Exscan`
#[inline(always)]
pub(in super::super) fn exscan(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    operation: (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Exscan, comm, 0, |state, site| {
        combine_first(state, site, comm, (sendbuf, recvbuf), operation, site.rank as usize)
    })
}

/// Combines what the first ranks have; those after the own one wait for its line.
#[inline(always)]
fn combine_first(
    state: &mut State,
    site: &Site,
    comm: Comm,
    (sendbuf, recvbuf): (Address, Address),
    (count, datatype, op): (Count, Datatype, Op),
    first: usize,
) -> Option<(u64, Plan<'static>)> {
    let kernel = kernel(state, comm, op, datatype)?;
    let operands = Operands::of(sendbuf, recvbuf, count, datatype)?;
    let Operands { own, into, in_place } = operands;
    let (me, count) = (site.rank as usize, count as u64);
    let (from, take) = match first {
        _ if prefix::fits(own.len()) => {
            (0..me, Take::Prefix(Prefix { kernel, count, into, with_own: first > me }))
        }
        0 => (0..0, Take::Nothing),
        _ => (0..first, Take::Combined { kernel, offset: 0, count, into }),
    };
    let tell = if site.rank + 1 < site.ranks { Tell::After } else { Tell::Nobody };
    Some((own.len() as u64, Plan { own, tell, in_place, ..Plan::take(own.len(), from, take) }))
}

/// The buffers of a reduction.
struct Operands {
    own: UserMem,
    into: UserMem,
    in_place: bool,
}

impl Operands {
    #[inline(always)]
    fn of(sendbuf: Address, recvbuf: Address, count: Count, datatype: Datatype) -> Option<Operands> {
        let into = memory(recvbuf, count, datatype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = if in_place { into } else { apart(memory(sendbuf, count, datatype)?, into)? };
        Some(Operands { own, into, in_place })
    }

    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.into.len() as u64
    }
}

impl Site {
    #[inline(always)]
    pub(super) fn is(&self, root: i32) -> bool {
        self.rank == root as u32
    }

    #[inline(always)]
    pub(super) fn everyone(&self) -> Range<usize> {
        0..self.ranks as usize
    }

    /// Where the own one is among blocks that others take, if it is worth leaving out.
    #[inline(always)]
    fn kept(&self, first: UserMem) -> Range<usize> {
        let start = self.rank as usize * first.len();
        if first.len() < KEPT_FROM { 0..0 } else { start..start + first.len() }
    }

    /// The blocks of all ranks, of which this is the first.
    #[inline(always)]
    fn blocks(&self, first: UserMem) -> Option<UserMem> {
        let bytes = first.len() * self.ranks as usize;
        (bytes <= PAYLOAD).then(|| crate::memory::of_user(Address(first.address()), bytes))
    }
}

/// A buffer argument that can be published.
#[inline(always)]
pub(super) fn memory(address: Address, count: Count, datatype: Datatype) -> Option<UserMem> {
    crate::datatype::simple(address, count, datatype)
        .filter(|memory| memory.len() <= PAYLOAD && address != IN_PLACE)
}

/// `one`, unless it begins where `other` does.
#[inline(always)]
pub(super) fn apart(one: UserMem, other: UserMem) -> Option<UserMem> {
    (one.address() != other.address() || one.is_empty()).then_some(one)
}

/// The length of both.
#[inline(always)]
pub(super) fn same(one: UserMem, other: UserMem) -> Option<usize> {
    (one.len() == other.len()).then_some(one.len())
}

/// The loop of a predefined operation.
#[inline(always)]
pub(super) fn kernel(state: &mut State, comm: Comm, op: Op, datatype: Datatype) -> Option<op::Kernel> {
    match state.comms.find(comm)?.coll.fast_paths.kernel {
        Some((known_op, known, kernel)) if known_op == op && known == datatype => Some(kernel),
        _ => look_up(state, comm, op, datatype),
    }
}

#[cold]
fn look_up(state: &mut State, comm: Comm, op: Op, datatype: Datatype) -> Option<op::Kernel> {
    let Ok(Reduction::Kernel(kernel)) = reduction(state, op, datatype) else { return None };
    datatype::predefined_dense_size(datatype)?;
    state.comms.get_mut(comm).ok()?.coll.fast_paths.kernel = Some((op, datatype, kernel));
    Some(kernel)
}
