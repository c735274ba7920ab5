//! The arguments of each collective as memory, for its plan ([`coll::exchange::Participant`]). `None` is the answer to all
//! that is unusual or wrong: the way through a schedule does it or reports what is wrong.

use abi::{Address, Comm, Count, Datatype, Op, Result};
use coll::Coll;
use coll::exchange::Operands;
use coll::shared::PAYLOAD;
use mem::UserMem;

use super::super::arguments::{IN_PLACE, reduction};
use super::super::call::Reduction;
use super::super::kept;
use super::super::mode::Mode;
use super::Site;
use super::ways::run_as;
use objects::domain::Token;
use objects::state::State;

/// `MPI_Barrier`
#[inline(always)]
pub(crate) fn barrier(t: &mut Token, mode: &mut Mode<'_>, comm: Comm) -> Option<Result<()>> {
    run_as(t, mode, Coll::Barrier, comm, 0, |_, site| Some((0, site.place.barrier())))
}

/// `MPI_Bcast`
#[inline(always)]
pub(crate) fn bcast(
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
        Some((data.len() as u64, site.place.bcast(root as usize, data)))
    })
}

/// `MPI_Gather`
#[inline(always)]
pub(crate) fn gather(
    t: &mut Token,
    mode: &mut Mode<'_>,
    send: (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Gather, comm, root, |_, site| {
        if !site.is(root) {
            let own = memory(send.0, send.1, send.2)?;
            return Some((own.len() as u64, site.place.give_to(root as usize, own)));
        }
        let block = memory(recvbuf, recvcount, recvtype)?;
        let own = beside(send, block)?;
        let plan = site.place.gather(own.unwrap_or(block), site.all(block), own.is_none());
        Some((block.len() as u64, plan))
    })
}

/// `MPI_Scatter`
#[inline(always)]
pub(crate) fn scatter(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    recv: (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Scatter, comm, root, |_, site| {
        if !site.is(root) {
            let block = memory(recv.0, recv.1, recv.2)?;
            site.blocks(block)?;
            return Some((block.len() as u64, site.place.scatter(root as usize, block)));
        }
        let block = memory(sendbuf, sendcount, sendtype)?;
        let plan = site.place.scatter_all(site.blocks(block)?, block.len(), beside(recv, block)?);
        Some((block.len() as u64, plan))
    })
}

/// `MPI_Allgather`
#[inline(always)]
pub(crate) fn allgather(
    t: &mut Token,
    mode: &mut Mode<'_>,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Allgather, comm, 0, |_, site| {
        let block = memory(recvbuf, recvcount, recvtype)?;
        let all = site.all(block);
        let in_place = sendbuf == IN_PLACE;
        let own = match in_place {
            true => all.part(site.place.me * block.len(), block.len()),
            false => apart(memory(sendbuf, sendcount, sendtype)?, block)?,
        };
        let bytes = same(own, block)? as u64;
        Some((bytes, site.place.allgather(own, all, in_place)))
    })
}

/// `MPI_Alltoall`
#[inline(always)]
pub(crate) fn alltoall(
    t: &mut Token,
    mode: &mut Mode<'_>,
    send: (Address, Count, Datatype),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Alltoall, comm, 0, |_, site| {
        let block = memory(recvbuf, recvcount, recvtype)?;
        let own = beside(send, block)?;
        let all = site.blocks(own.unwrap_or(block))?;
        Some((block.len() as u64, site.place.alltoall(all, block.len(), site.all(block), own.is_none())))
    })
}

/// `MPI_Reduce`
#[inline(always)]
pub(crate) fn reduce(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Reduce, comm, root, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        if !site.is(root) {
            let own = memory(sendbuf, count, datatype)?;
            return Some((own.len() as u64, site.place.give_to(root as usize, own)));
        }
        let operands = operands(kernel, sendbuf, recvbuf, (count, datatype))?;
        Some((operands.into.len() as u64, site.place.reduce(operands)))
    })
}

/// `MPI_Allreduce`
#[inline(always)]
pub(crate) fn allreduce(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Allreduce, comm, 0, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        let operands = operands(kernel, sendbuf, recvbuf, (count, datatype))?;
        Some((operands.into.len() as u64, site.place.allreduce(operands)))
    })
}

/// `MPI_Reduce_scatter_block`
#[inline(always)]
pub(crate) fn reduce_scatter_block(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::ReduceScatterBlock, comm, 0, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        let block = operands(kernel, sendbuf, recvbuf, (count, datatype))?;
        let all = Operands { own: site.blocks(block.own)?, ..block };
        Some((all.own.len() as u64, site.place.reduce_scatter(all, site.place.me * block.own.len())))
    })
}

/// `MPI_Scan`
#[inline(always)]
pub(crate) fn scan(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Scan, comm, 0, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        let operands = operands(kernel, sendbuf, recvbuf, (count, datatype))?;
        Some((operands.own.len() as u64, site.place.prefix(operands, true)))
    })
}

/// `MPI_Exscan`
#[inline(always)]
pub(crate) fn exscan(
    t: &mut Token,
    mode: &mut Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype, op): (Count, Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::Exscan, comm, 0, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        let operands = operands(kernel, sendbuf, recvbuf, (count, datatype))?;
        Some((operands.own.len() as u64, site.place.prefix(operands, false)))
    })
}

/// The buffers of a reduction.
#[inline(always)]
fn operands(
    kernel: op::Kernel,
    sendbuf: Address,
    recvbuf: Address,
    (count, datatype): (Count, Datatype),
) -> Option<Operands<op::Kernel>> {
    let into = memory(recvbuf, count, datatype)?;
    let own = beside((sendbuf, count, datatype), into)?;
    Some(Operands { kernel, count: count as u64, own: own.unwrap_or(into), into, in_place: own.is_none() })
}

impl Site {
    #[inline(always)]
    pub(super) fn is(&self, root: i32) -> bool {
        self.place.me == root as usize
    }

    /// The blocks of all ranks, of which this is the first.
    #[inline(always)]
    fn all(&self, first: UserMem) -> UserMem {
        objects::memory::of_user(Address(first.address()), first.len() * self.place.members)
    }

    /// As [`Site::all`], if they can be published together.
    #[inline(always)]
    fn blocks(&self, first: UserMem) -> Option<UserMem> {
        Some(self.all(first)).filter(|all| all.len() <= PAYLOAD)
    }
}

/// A buffer argument that can be published.
#[inline(always)]
pub(super) fn memory(address: Address, count: Count, datatype: Datatype) -> Option<UserMem> {
    objects::datatype::simple(address, count, datatype)
        .filter(|memory| memory.len() <= PAYLOAD && address != IN_PLACE)
}

/// The other buffer of what is in `block`: as long and apart from it; `Some(None)` where it is `MPI_IN_PLACE`.
#[inline(always)]
pub(super) fn beside(
    (address, count, datatype): (Address, Count, Datatype),
    block: UserMem,
) -> Option<Option<UserMem>> {
    if address == IN_PLACE {
        return Some(None);
    }
    let other = apart(memory(address, count, datatype)?, block)?;
    same(other, block)?;
    Some(Some(other))
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
pub(super) fn kernel(state: &mut State, site: &Site, op: Op, datatype: Datatype) -> Option<op::Kernel> {
    match kept::at(&state.tables, site.slot)?.fast_paths.kernel {
        Some((known_op, known, kernel)) if known_op == op && known == datatype => Some(kernel),
        _ => look_up(state, site, op, datatype),
    }
}

#[cold]
fn look_up(state: &mut State, site: &Site, op: Op, datatype: Datatype) -> Option<op::Kernel> {
    let Ok(Reduction::Kernel(kernel)) = reduction(state, op, datatype) else { return None };
    datatype::predefined_dense_size(datatype)?;
    kept::at_mut(&mut state.tables, site.slot)?.fast_paths.kernel = Some((op, datatype, kernel));
    Some(kernel)
}
