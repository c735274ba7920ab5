//! Graph topologies known to every process (MPI-5.0 sections 8.5.3 and 8.5.5).

use abi::{Error, Result};
use ffi::Array;

use super::{Topology, attach};
use crate::domain::Token;
use crate::state::State;

/// A graph as `MPI_Graph_create` takes it: cumulated degrees and the concatenated neighbour lists.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    index: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    fn new(index: &[i32], edges: Array<'_, i32>, available: u32) -> Result<Graph> {
        let bad = |what| Error::new(abi::ERR_ARG, what);
        if index.len() > available as usize {
            return Err(bad("the graph has more nodes than the communicator processes"));
        }
        if index.first().is_some_and(|&first| first < 0) || index.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(bad("the cumulated degrees decrease"));
        }
        let edges = edges.first(index.last().map_or(0, |&last| last as usize))?;
        if edges.iter().any(|&edge| edge < 0 || edge as usize >= index.len()) {
            return Err(bad("an edge leads outside the graph"));
        }
        Ok(Graph { index: index.to_vec(), edges: edges.to_vec() })
    }

    /// The neighbour list of a node.
    pub fn neighbours(&self, rank: u32) -> &[i32] {
        let rank = rank as usize;
        let begin = if rank == 0 { 0 } else { self.index[rank - 1] };
        &self.edges[begin as usize..self.index[rank] as usize]
    }
}

impl State {
    fn graph(&self, comm: abi::Comm) -> Result<&Graph> {
        match self.topology(comm)? {
            Topology::Graph(graph) => Ok(graph),
            _ => Err(Error::new(abi::ERR_TOPOLOGY, "the communicator's topology is not a graph")),
        }
    }

    fn graph_node(&self, comm: abi::Comm, rank: i32) -> Result<&[i32]> {
        let graph = self.graph(comm)?;
        if rank < 0 || rank as usize >= graph.index.len() {
            return Err(Error::new(abi::ERR_RANK, "the rank lies outside the communicator"));
        }
        Ok(graph.neighbours(rank as u32))
    }
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
        Graph::new(index, edges, state.plain_comm(comm)?)?
    };
    *new = attach(t, comm, index.len() as u32, Topology::Graph(graph))?;
    Ok(())
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
    Graph::new(index, edges, state.plain_comm(comm)?)?;
    let mine = state.comm(comm)?.rank;
    *rank = if (mine as usize) < index.len() { mine as i32 } else { abi::UNDEFINED };
    Ok(())
}

/// `MPI_Graphdims_get`
pub fn graphdims_get(t: &mut Token, comm: abi::Comm, nodes: &mut i32, edges: &mut i32) -> Result<()> {
    let state = t.lock();
    let graph = state.graph(comm)?;
    (*nodes, *edges) = (graph.index.len() as i32, graph.edges.len() as i32);
    Ok(())
}

/// `MPI_Graph_get`
pub fn graph_get(t: &mut Token, comm: abi::Comm, index: &mut [i32], edges: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let graph = state.graph(comm)?;
    index.iter_mut().zip(&graph.index).for_each(|(out, &value)| *out = value);
    edges.iter_mut().zip(&graph.edges).for_each(|(out, &value)| *out = value);
    Ok(())
}

/// `MPI_Graph_neighbors_count`
pub fn graph_neighbors_count(t: &mut Token, comm: abi::Comm, rank: i32, count: &mut i32) -> Result<()> {
    *count = t.lock().graph_node(comm, rank)?.len() as i32;
    Ok(())
}

/// `MPI_Graph_neighbors`
pub fn graph_neighbors(t: &mut Token, comm: abi::Comm, rank: i32, neighbors: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let found = state.graph_node(comm, rank)?;
    neighbors.iter_mut().zip(found).for_each(|(out, &value)| *out = value);
    Ok(())
}
