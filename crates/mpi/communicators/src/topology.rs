//! Communicators with a virtual topology (MPI-5.0 chapter 8).
//!
//! A topology belongs to a communicator and names each rank's neighbours. `reorder` keeps the ranks: on one node
//! every pair of processes is equally near.

use abi::{Error, Result};

use super::create::{alike, split_by};
use objects::domain::Token;
use objects::state::State;
use objects::topology::Topology;

/// The topology of a communicator.
pub(super) fn topology_of(state: &State, comm: abi::Comm) -> Result<&Topology> {
    const NONE: Error = Error::new(abi::ERR_TOPOLOGY, "the communicator has no topology");
    state.comm(comm)?.topology.as_ref().ok_or(NONE)
}

/// Processes of an intra-communicator, which a topology may be made from.
pub(super) fn plain_size(state: &State, comm: abi::Comm) -> Result<u32> {
    let comm = state.comm(comm)?;
    if comm.is_inter() {
        return Err(Error::new(abi::ERR_COMM, "an inter-communicator has no topology"));
    }
    Ok(comm.size())
}

/// `MPI_Topo_test`
pub fn topo_test(t: &mut Token, comm: abi::Comm, status: &mut i32) -> Result<()> {
    *status = match t.lock().comm(comm)?.topology {
        None => abi::UNDEFINED,
        Some(Topology::Cart(_)) => abi::CART,
        Some(Topology::Graph(_)) => abi::GRAPH,
        Some(Topology::DistGraph(_)) => abi::DIST_GRAPH,
    };
    Ok(())
}

/// A communicator of the first `size` ranks of `comm` with `topology`; `MPI_COMM_NULL` for the others.
pub(super) fn attach(
    t: &mut Token,
    comm: abi::Comm,
    size: u32,
    topology: Topology,
    new: &mut abi::Comm,
) -> Result<()> {
    alike(t, comm, new, |t| first_ranks(t, comm, size, topology))
}

/// As [`attach`], within a call whose end its processes agree on.
pub(super) fn first_ranks(
    t: &mut Token,
    comm: abi::Comm,
    size: u32,
    topology: Topology,
) -> Result<abi::Comm> {
    let inside = t.lock().comm(comm)?.rank < size;
    let color = if inside { 0 } else { abi::UNDEFINED };
    let new = split_by(t, comm, color, 0)?;
    if inside {
        t.lock().comms.get_mut(new)?.topology = Some(topology);
    }
    Ok(new)
}
