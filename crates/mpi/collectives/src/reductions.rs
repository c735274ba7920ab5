//! Reductions and scans (MPI-5.0 sections 6.9 to 6.11).

use abi::{Address, Comm, Count, Datatype, Error, Op, Result};
use coll::Coll;
use ffi::CountArray;

use super::Mode;
use super::arguments::{Recv, Send};
use super::call::Reduction;
use super::callback::call_user;
use super::fast_path;
use super::votes::launch;
use objects::domain::Token;

/// `MPI_Reduce`
pub fn reduce(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    root: i32,
    comm: Comm,
) -> Result<()> {
    if let Some(result) = fast_path::reduce(t, &mut mode, sendbuf, recvbuf, (count, datatype, op), root, comm)
    {
        return result;
    }
    launch(t, mode, Coll::Reduce, comm, |a| {
        a.root(root)?;
        if !a.takes_part() && !a.at_root() {
            return Ok(());
        }
        if a.at_root() {
            a.buffer(Recv, recvbuf, count, datatype)?;
        } else {
            a.shape(Recv, count, datatype)?;
        }
        if !a.takes_part() || a.at_root() && a.in_place(sendbuf) {
            a.shape(Send, count, datatype)?;
        } else {
            a.buffer(Send, sendbuf, count, datatype)?;
        }
        a.operation(op, datatype)
    })
}

/// `MPI_Allreduce`
pub fn allreduce(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    if let Some(result) = fast_path::allreduce(t, &mut mode, sendbuf, recvbuf, (count, datatype, op), comm) {
        return result;
    }
    launch(t, mode, Coll::Allreduce, comm, |a| a.everywhere(sendbuf, recvbuf, count, datatype, op))
}

/// `MPI_Reduce_scatter_block`
pub fn reduce_scatter_block(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    recvcount: Count,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    if let Some(result) =
        fast_path::reduce_scatter_block(t, &mut mode, sendbuf, recvbuf, (recvcount, datatype, op), comm)
    {
        return result;
    }
    launch(t, mode, Coll::ReduceScatterBlock, comm, |a| {
        a.everywhere(sendbuf, recvbuf, recvcount, datatype, op)
    })
}

/// `MPI_Reduce_scatter`
pub fn reduce_scatter(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    let operation = (datatype, op);
    if let Some(result) =
        fast_path::reduce_scatter(t, sendbuf, recvbuf, recvcounts, operation, comm, &mut mode)
    {
        return result;
    }
    launch(t, mode, Coll::ReduceScatter, comm, |a| {
        let count = a.cut(recvcounts)?;
        a.operation(op, datatype)?;
        let received = if a.in_place(sendbuf) {
            a.shape(Send, count, datatype)?;
            count
        } else {
            a.buffer(Send, sendbuf, count, datatype)?;
            a.own_part()
        };
        a.buffer(Recv, recvbuf, received, datatype)?;
        a.shape(Recv, count, datatype)
    })
}

/// `MPI_Scan`
pub fn scan(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    if let Some(result) = fast_path::scan(t, &mut mode, sendbuf, recvbuf, (count, datatype, op), comm) {
        return result;
    }
    launch(t, mode, Coll::Scan, comm, |a| {
        a.intra_only()?;
        a.everywhere(sendbuf, recvbuf, count, datatype, op)
    })
}

/// `MPI_Exscan`
pub fn exscan(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    recvbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<()> {
    if let Some(result) = fast_path::exscan(t, &mut mode, sendbuf, recvbuf, (count, datatype, op), comm) {
        return result;
    }
    launch(t, mode, Coll::Exscan, comm, |a| {
        a.intra_only()?;
        a.everywhere(sendbuf, recvbuf, count, datatype, op)
    })
}

/// `MPI_Reduce_local`: `inoutbuf = inbuf op inoutbuf`.
pub fn reduce_local(
    t: &mut Token,
    inbuf: Address,
    inoutbuf: Address,
    count: Count,
    datatype: Datatype,
    op: Op,
) -> Result<()> {
    let (reduction, extent) = {
        let state = t.lock();
        let reduction = super::arguments::reduction(&state, op, datatype)?;
        super::arguments::check_address(inbuf, count > 0, datatype)?;
        super::arguments::check_address(inoutbuf, count > 0, datatype)?;
        (reduction, state.types.resolve(datatype)?.extent())
    };
    let count = u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "the count is negative"))?;
    match reduction {
        Reduction::Kernel(kernel) => objects::memory::reduce(kernel, inoutbuf, inbuf, inoutbuf, count),
        Reduction::User { function, handle, .. } => {
            call_user(t, function, inbuf, inoutbuf, count, handle, extent);
        }
    }
    Ok(())
}
