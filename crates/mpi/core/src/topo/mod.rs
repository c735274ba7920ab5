//! Virtual topologies (MPI-5.0 chapter 8).
//!
//! A topology belongs to a communicator and says who its neighbours are. `reorder` keeps the ranks: on one node
//! every pair of processes is equally near.

mod cart;
mod dims;
mod dist_graph;
mod graph;

use abi::{Error, Result};

pub use cart::*;
pub use dims::dims_create;
pub use dist_graph::*;
pub use graph::*;

use crate::domain::Token;
use crate::state::State;

/// The topology attached to a communicator.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    Cart(Cart),
    Graph(Graph),
    DistGraph(DistGraph),
}

/// The neighbours of a process, in the order in which neighbourhood collectives use them (MPI-5.0 section 8.6).
/// `None` stands for `MPI_PROC_NULL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub sources: Vec<Option<u32>>,
    pub destinations: Vec<Option<u32>>,
}

impl Topology {
    /// The neighbours of `rank`. Only the calling process knows them in a distributed graph.
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        match self {
            Topology::Cart(cart) => cart.neighbours(rank),
            Topology::Graph(graph) => {
                let all: Vec<Option<u32>> = graph.neighbours(rank).iter().map(|&n| Some(n as u32)).collect();
                Neighbours { sources: all.clone(), destinations: all }
            }
            Topology::DistGraph(graph) => graph.neighbours(),
        }
    }
}

impl State {
    fn topology(&self, comm: abi::Comm) -> Result<&Topology> {
        const NONE: Error = Error::new(abi::ERR_TOPOLOGY, "the communicator has no topology");
        self.comm(comm)?.topology.as_ref().ok_or(NONE)
    }

    /// An intra-communicator that a topology may be made from.
    fn plain_comm(&self, comm: abi::Comm) -> Result<u32> {
        let comm = self.comm(comm)?;
        if comm.is_inter() {
            return Err(Error::new(abi::ERR_COMM, "an inter-communicator has no topology"));
        }
        Ok(comm.size())
    }
}

/// `MPI_Topo_test`
pub fn test(t: &mut Token, comm: abi::Comm, status: &mut i32) -> Result<()> {
    *status = match t.lock().comm(comm)?.topology {
        None => abi::UNDEFINED,
        Some(Topology::Cart(_)) => abi::CART,
        Some(Topology::Graph(_)) => abi::GRAPH,
        Some(Topology::DistGraph(_)) => abi::DIST_GRAPH,
    };
    Ok(())
}

/// A communicator of the first `size` ranks of `comm` with `topology`; `MPI_COMM_NULL` for the others.
fn attach(t: &mut Token, comm: abi::Comm, size: u32, topology: Topology) -> Result<abi::Comm> {
    let inside = t.lock().comm(comm)?.rank < size;
    let color = if inside { 0 } else { abi::UNDEFINED };
    let new = crate::comm::split_by(t, comm, color, 0)?;
    if inside {
        t.lock().comms.get_mut(new)?.topology = Some(topology);
    }
    Ok(new)
}
