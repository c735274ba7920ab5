//! Barrier, and collectives that move blocks of one size (MPI-5.0 sections 6.3 to 6.8).

use abi::{Address, Comm, Count, Datatype, Result};
use coll::Coll;

use super::Mode;
use super::arguments::{Recv, Send};
use super::fast_path;
use super::votes::launch;
use objects::domain::Token;

/// `MPI_Barrier`
pub fn barrier(t: &mut Token, mut mode: Mode<'_>, comm: Comm) -> Result<()> {
    if let Some(result) = fast_path::barrier(t, &mut mode, comm) {
        return result;
    }
    launch(t, mode, Coll::Barrier, comm, |_| Ok(()))
}

/// `MPI_Bcast`
pub fn bcast(
    t: &mut Token,
    mut mode: Mode<'_>,
    buffer: Address,
    count: Count,
    datatype: Datatype,
    root: i32,
    comm: Comm,
) -> Result<()> {
    if let Some(result) = fast_path::bcast(t, &mut mode, buffer, count, datatype, root, comm) {
        return result;
    }
    launch(t, mode, Coll::Bcast, comm, |a| {
        a.root(root)?;
        if a.takes_part() || a.at_root() { a.buffer(Recv, buffer, count, datatype) } else { Ok(()) }
    })
}

/// `MPI_Gather`
pub fn gather(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(result) = fast_path::gather(t, &mut mode, send, recv, root, comm) {
        return result;
    }
    launch(t, mode, Coll::Gather, comm, |a| {
        a.root(root)?;
        if a.at_root() {
            a.buffer(Recv, recvbuf, recvcount, recvtype)?;
        }
        if !a.takes_part() || a.at_root() && a.in_place(sendbuf) {
            return Ok(());
        }
        a.buffer(Send, sendbuf, sendcount, sendtype)
    })
}

/// `MPI_Scatter`
pub fn scatter(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(result) = fast_path::scatter(t, &mut mode, send, recv, root, comm) {
        return result;
    }
    launch(t, mode, Coll::Scatter, comm, |a| {
        a.root(root)?;
        if a.at_root() {
            a.buffer(Send, sendbuf, sendcount, sendtype)?;
        }
        if !a.takes_part() || a.at_root() && a.in_place(recvbuf) {
            return Ok(());
        }
        a.buffer(Recv, recvbuf, recvcount, recvtype)
    })
}

/// `MPI_Allgather`
pub fn allgather(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(result) = fast_path::allgather(t, &mut mode, send, recv, comm) {
        return result;
    }
    launch(t, mode, Coll::Allgather, comm, |a| {
        if !a.in_place(sendbuf) {
            a.buffer(Send, sendbuf, sendcount, sendtype)?;
        }
        a.buffer(Recv, recvbuf, recvcount, recvtype)
    })
}

/// `MPI_Alltoall`
pub fn alltoall(
    t: &mut Token,
    mut mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(result) = fast_path::alltoall(t, &mut mode, send, recv, comm) {
        return result;
    }
    launch(t, mode, Coll::Alltoall, comm, |a| {
        if !a.in_place(sendbuf) {
            a.buffer(Send, sendbuf, sendcount, sendtype)?;
        }
        a.buffer(Recv, recvbuf, recvcount, recvtype)
    })
}
