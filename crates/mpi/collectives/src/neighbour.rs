//! Neighbourhood collectives (MPI-5.0 sections 8.6 and 8.7).

use abi::{Address, Aint, Comm, Count, Datatype, Result};
use coll::Coll;
use ffi::{Array, CountArray};

use super::Mode;
use super::arguments::{Displacements, Recv, Send};
use super::fast_path;
use super::votes::launch;
use objects::domain::Token;

/// `MPI_Neighbor_allgather`
pub fn neighbor_allgather(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if matches!(mode, Mode::Blocking)
        && let Some(result) = fast_path::neighbor_allgather(t, send, recv, comm)
    {
        return result;
    }
    launch(t, mode, Coll::NeighborAllgather, comm, |a| {
        let (sources, destinations) = a.neighbours()?;
        a.buffer_if(destinations > 0, Send, sendbuf, sendcount, sendtype)?;
        a.buffer_if(sources > 0, Recv, recvbuf, recvcount, recvtype)
    })
}

/// `MPI_Neighbor_allgatherv`
pub fn neighbor_allgatherv(
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
    if matches!(mode, Mode::Blocking)
        && let Some(result) = fast_path::neighbor_allgatherv(t, send, recv, (recvcounts, displs), comm)
    {
        return result;
    }
    launch(t, mode, Coll::NeighborAllgatherv, comm, |a| {
        let (sources, destinations) = a.neighbours()?;
        a.buffer_if(destinations > 0, Send, sendbuf, sendcount, sendtype)?;
        a.blocks(Recv, recvbuf, recvcounts, displs, recvtype, sources)
    })
}

/// `MPI_Neighbor_alltoall`
pub fn neighbor_alltoall(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    comm: Comm,
) -> Result<()> {
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if matches!(mode, Mode::Blocking)
        && let Some(result) = fast_path::neighbor_alltoall(t, send, recv, comm)
    {
        return result;
    }
    launch(t, mode, Coll::NeighborAlltoall, comm, |a| {
        let (sources, destinations) = a.neighbours()?;
        a.buffer_if(destinations > 0, Send, sendbuf, sendcount, sendtype)?;
        a.buffer_if(sources > 0, Recv, recvbuf, recvcount, recvtype)
    })
}

/// `MPI_Neighbor_alltoallv`
pub fn neighbor_alltoallv(
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
    if matches!(mode, Mode::Blocking) {
        let (send, recv) = ((sendbuf, sendtype), (recvbuf, recvtype));
        let (given, wanted) = ((sendcounts, sdispls), (recvcounts, rdispls));
        if let Some(result) = fast_path::neighbor_alltoallv(t, send, given, recv, wanted, comm) {
            return result;
        }
    }
    launch(t, mode, Coll::NeighborAlltoallv, comm, |a| {
        let (sources, destinations) = a.neighbours()?;
        a.blocks(Send, sendbuf, sendcounts, sdispls, sendtype, destinations)?;
        a.blocks(Recv, recvbuf, recvcounts, rdispls, recvtype, sources)
    })
}

/// `MPI_Neighbor_alltoallw`
pub fn neighbor_alltoallw(
    t: &mut Token,
    mode: Mode<'_>,
    sendbuf: Address,
    sendcounts: CountArray<'_>,
    sdispls: Array<'_, Aint>,
    sendtypes: Array<'_, Datatype>,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    rdispls: Array<'_, Aint>,
    recvtypes: Array<'_, Datatype>,
    comm: Comm,
) -> Result<()> {
    launch(t, mode, Coll::NeighborAlltoallw, comm, |a| {
        let (sources, destinations) = a.neighbours()?;
        let (to, from) = (Displacements::Addresses(sdispls), Displacements::Addresses(rdispls));
        a.typed_blocks(Send, sendbuf, sendcounts, to, sendtypes, destinations)?;
        a.typed_blocks(Recv, recvbuf, recvcounts, from, recvtypes, sources)
    })
}
