//! Graph topologies known to every process (MPI-5.0 sections 8.5.3 and 8.5.5).

use abi::{Error, Result};
use ffi::Array;

use super::topology::{attach, plain_size, topology_of};
use objects::domain::Token;
use objects::state::State;
use objects::topology::{Graph, Topology};

/// The topology of a communicator, if it is of this kind.
fn graph(state: &State, comm: abi::Comm) -> Result<&Graph> {
    match topology_of(state, comm)? {
        Topology::Graph(graph) => Ok(graph),
        _ => Err(Error::new(abi::ERR_TOPOLOGY, "the communicator's topology is not a graph")),
    }
}

/// The neighbours of a node.
fn graph_node(state: &State, comm: abi::Comm, rank: i32) -> Result<&[i32]> {
    let graph = graph(state, comm)?;
    if rank < 0 || rank as usize >= graph.index.len() {
        return Err(Error::new(abi::ERR_RANK, "the rank lies outside the communicator"));
    }
    Ok(graph.neighbours(rank as u32))
}

/// `MPI_Graph_create`
pub fn graph_create(
    t: &mut Token,
    comm: abi::Comm,
    index: &[i32],
    edges: Array<'_, i32>,
    _reorder: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    *new = abi::COMM_NULL;
    let graph = {
        let state = t.lock();
        Graph::new(index, edges, plain_size(&state, comm)?)?
    };
    attach(t, comm, index.len() as u32, Topology::Graph(graph), new)
}

/// `MPI_Graph_map`: the rank that `MPI_Graph_create` with `reorder` would give.
pub fn graph_map(
    t: &mut Token,
    comm: abi::Comm,
    index: &[i32],
    edges: Array<'_, i32>,
    rank: &mut i32,
) -> Result<()> {
    let state = t.lock();
    Graph::new(index, edges, plain_size(&state, comm)?)?;
    let mine = state.comm(comm)?.rank;
    *rank = if (mine as usize) < index.len() { mine as i32 } else { abi::UNDEFINED };
    Ok(())
}

/// `MPI_Graphdims_get`
pub fn graphdims_get(t: &mut Token, comm: abi::Comm, nodes: &mut i32, edges: &mut i32) -> Result<()> {
    let state = t.lock();
    let graph = graph(&state, comm)?;
    (*nodes, *edges) = (graph.index.len() as i32, graph.edges.len() as i32);
    Ok(())
}

/// `MPI_Graph_get`
pub fn graph_get(t: &mut Token, comm: abi::Comm, index: &mut [i32], edges: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let graph = graph(&state, comm)?;
    index.iter_mut().zip(&graph.index).for_each(|(out, &value)| *out = value);
    edges.iter_mut().zip(&graph.edges).for_each(|(out, &value)| *out = value);
    Ok(())
}

/// `MPI_Graph_neighbors_count`
pub fn graph_neighbors_count(t: &mut Token, comm: abi::Comm, rank: i32, count: &mut i32) -> Result<()> {
    *count = graph_node(&t.lock(), comm, rank)?.len() as i32;
    Ok(())
}

/// `MPI_Graph_neighbors`
pub fn graph_neighbors(t: &mut Token, comm: abi::Comm, rank: i32, neighbors: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let found = graph_node(&state, comm, rank)?;
    neighbors.iter_mut().zip(found).for_each(|(out, &value)| *out = value);
    Ok(())
}
