//! Collectives that move blocks of different sizes or types (MPI-5.0 sections 6.5 to 6.8).

use abi::{Address, Comm, Count, Datatype, Result};
use coll::Coll;
use ffi::{Array, CountArray};

use super::Mode;
use super::arguments::{Displacements, Recv, Send};
use super::fast_path;
use super::votes::launch;
use objects::domain::Token;

/// `MPI_Gatherv`
pub fn gatherv(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    displs: CountArray<'_>,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> Result<()> {
    if matches!(mode, Mode::Blocking) {
        let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvtype));
        let result = fast_path::gatherv(t, send, recv, (recvcounts, displs), root, comm);
        if let Some(result) = result {
            return result;
        }
    }
    launch(t, mode, Coll::Gatherv, comm, |a| {
        a.root(root)?;
        if a.at_root() {
            a.blocks(Recv, recvbuf, recvcounts, displs, recvtype, a.peers())?;
        }
        if !a.takes_part() || a.at_root() && a.in_place(sendbuf) {
            return Ok(());
        }
        a.buffer(Send, sendbuf, sendcount, sendtype)
    })
}

/// `MPI_Scatterv`
pub fn scatterv(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcounts: CountArray<'_>,
    displs: CountArray<'_>,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> Result<()> {
    if matches!(mode, Mode::Blocking) {
        let (send, recv) = ((sendbuf, sendtype), (recvbuf, recvcount, recvtype));
        let result = fast_path::scatterv(t, send, (sendcounts, displs), recv, root, comm);
        if let Some(result) = result {
            return result;
        }
    }
    launch(t, mode, Coll::Scatterv, comm, |a| {
        a.root(root)?;
        if a.at_root() {
            a.blocks(Send, sendbuf, sendcounts, displs, sendtype, a.peers())?;
        }
        if !a.takes_part() || a.at_root() && a.in_place(recvbuf) {
            return Ok(());
        }
        a.buffer(Recv, recvbuf, recvcount, recvtype)
    })
}

/// `MPI_Allgatherv`
pub fn allgatherv(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    displs: CountArray<'_>,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvtype));
    match mode {
        Mode::Blocking => {
            if let Some(result) = fast_path::allgatherv(t, send, recv, (recvcounts, displs), comm) {
                return result;
            }
        }
        Mode::Persistent(_) => fast_path::allgatherv_rounds(t, send, recv, (recvcounts, displs), comm),
        Mode::Own | Mode::Nonblocking(_) => {}
    }
    launch(t, mode, Coll::Allgatherv, comm, |a| {
        if !a.in_place(sendbuf) {
            a.buffer(Send, sendbuf, sendcount, sendtype)?;
        }
        a.blocks(Recv, recvbuf, recvcounts, displs, recvtype, a.peers())
    })
}

/// `MPI_Alltoallv`
pub fn alltoallv(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcounts: CountArray<'_>,
    sdispls: CountArray<'_>,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    rdispls: CountArray<'_>,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendtype), (recvbuf, recvtype));
    let (given, wanted) = ((sendcounts, sdispls), (recvcounts, rdispls));
    match mode {
        Mode::Blocking => {
            if let Some(result) = fast_path::alltoallv(t, send, given, recv, wanted, comm) {
                return result;
            }
        }
        Mode::Persistent(_) => fast_path::alltoallv_rounds(t, send, given, recv, wanted, comm),
        Mode::Own | Mode::Nonblocking(_) => {}
    }
    launch(t, mode, Coll::Alltoallv, comm, |a| {
        if !a.in_place(sendbuf) {
            a.blocks(Send, sendbuf, sendcounts, sdispls, sendtype, a.peers())?;
        }
        a.blocks(Recv, recvbuf, recvcounts, rdispls, recvtype, a.peers())
    })
}

/// `MPI_Alltoallw`: displacements are in bytes.
pub fn alltoallw(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcounts: CountArray<'_>,
    sdispls: CountArray<'_>,
    sendtypes: Array<'_, Datatype>,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    rdispls: CountArray<'_>,
    recvtypes: Array<'_, Datatype>,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendtypes), (recvbuf, recvtypes));
    let (given, wanted) = ((sendcounts, sdispls), (recvcounts, rdispls));
    match mode {
        Mode::Blocking => {
            if let Some(result) = fast_path::alltoallw(t, send, given, recv, wanted, comm) {
                return result;
            }
        }
        Mode::Persistent(_) => fast_path::alltoallw_rounds(t, send, given, recv, wanted, comm),
        Mode::Own | Mode::Nonblocking(_) => {}
    }
    launch(t, mode, Coll::Alltoallw, comm, |a| {
        let n = a.peers();
        if !a.in_place(sendbuf) {
            let places = Displacements::Counts(sdispls);
            a.typed_blocks(Send, sendbuf, sendcounts, places, sendtypes, n)?;
        }
        a.typed_blocks(Recv, recvbuf, recvcounts, Displacements::Counts(rdispls), recvtypes, n)
    })
}
