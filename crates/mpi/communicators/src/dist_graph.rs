//! Distributed graph topologies (MPI-5.0 sections 8.5.4 and 8.5.5): each process knows its own edges.

use abi::{Error, Result};
use ffi::{Array, Weights};

use super::create::{alike, give_hints};
use super::topology::{attach, first_ranks, plain_size, topology_of};
use collectives::{deal_words, starts};
use objects::domain::Token;
use objects::state::State;
use objects::topology::{DistGraph, Edges, Topology};

/// The topology of a communicator, if it is of this kind.
fn dist_graph(state: &State, comm: abi::Comm) -> Result<&DistGraph> {
    match topology_of(state, comm)? {
        Topology::DistGraph(graph) => Ok(graph),
        _ => Err(Error::new(abi::ERR_TOPOLOGY, "the communicator's topology is not a distributed graph")),
    }
}

fn checked(ranks: &[i32], size: u32) -> Result<()> {
    if ranks.iter().any(|&rank| rank != abi::PROC_NULL && (rank < 0 || rank as u32 >= size)) {
        return Err(Error::new(abi::ERR_RANK, "an edge leads outside the communicator"));
    }
    Ok(())
}

fn given(weights: &Weights<'_>, len: usize) -> Result<Option<Vec<i32>>> {
    let weights = match weights {
        Weights::Unweighted => return Ok(None),
        Weights::Given(weights) => weights.first(len)?,
    };
    if weights.iter().any(|&weight| weight < 0) {
        return Err(Error::new(abi::ERR_ARG, "a weight is negative"));
    }
    Ok(Some(weights.to_vec()))
}

/// `MPI_Dist_graph_create_adjacent`: every process gives its own edges.
pub fn dist_graph_create_adjacent(
    t: &mut Token,
    comm: abi::Comm,
    sources: &[i32],
    sourceweights: Weights<'_>,
    destinations: &[i32],
    destweights: Weights<'_>,
    info: abi::Info,
    _reorder: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    let (size, graph, hints) = {
        let state = t.lock();
        let hints = state.infos.hints(info)?;
        let size = plain_size(&state, comm)?;
        checked(sources, size)?;
        checked(destinations, size)?;
        let (coming, going) =
            (given(&sourceweights, sources.len())?, given(&destweights, destinations.len())?);
        let weighted = coming.is_some() && going.is_some();
        let incoming = Edges { ranks: sources.to_vec(), weights: coming.unwrap_or_default() };
        let outgoing = Edges { ranks: destinations.to_vec(), weights: going.unwrap_or_default() };
        (size, DistGraph { incoming, outgoing, weighted }, hints)
    };
    attach(t, comm, size, Topology::DistGraph(graph), new)?;
    give_hints(t, *new, &hints)
}

/// An edge of the whole graph: source, destination, weight.
type Edge = [i32; 3];

/// `MPI_Dist_graph_create`: edges may be given by any process; each learns of its own.
pub fn dist_graph_create(
    t: &mut Token,
    comm: abi::Comm,
    sources: &[i32],
    degrees: &[i32],
    destinations: Array<'_, i32>,
    weights: Weights<'_>,
    info: abi::Info,
    _reorder: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    let (size, edges, weighted, hints) = {
        let state = t.lock();
        let hints = state.infos.hints(info)?;
        let size = plain_size(&state, comm)?;
        if degrees.iter().any(|&degree| degree < 0) {
            return Err(Error::new(abi::ERR_ARG, "a degree is negative"));
        }
        let total = degrees.iter().map(|&degree| degree as usize).sum();
        let destinations = destinations.first(total)?;
        checked(sources, size)?;
        checked(destinations, size)?;
        let weights = given(&weights, total)?;
        let starts = sources.iter().zip(degrees).flat_map(|(&s, &d)| std::iter::repeat_n(s, d as usize));
        let edges: Vec<Edge> = starts
            .zip(destinations)
            .enumerate()
            .map(|(i, (source, &dest))| [source, dest, weights.as_ref().map_or(1, |weights| weights[i])])
            .collect();
        (size, edges, weights.is_some(), hints)
    };
    // Each edge goes to both its ends.
    alike(t, comm, new, |t| {
        let mut side = |end: usize| -> Result<Edges> {
            let (ranks, weights) = deal_out(t, comm, &edges, end)?.into_iter().unzip();
            Ok(Edges { ranks, weights: if weighted { weights } else { Vec::new() } })
        };
        let graph = DistGraph { incoming: side(1)?, outgoing: side(0)?, weighted };
        let new = first_ranks(t, comm, size, Topology::DistGraph(graph))?;
        give_hints(t, new, &hints)?;
        Ok(new)
    })
}

/// Gives each edge to the process at its `end`, 0 or 1. The other ends and the weights of those that this one gets, by the
/// rank that gave them. A process holds no more than it gives and gets.
fn deal_out(t: &mut Token, comm: abi::Comm, edges: &[Edge], end: usize) -> Result<Vec<(i32, i32)>> {
    let size = t.lock().comm(comm)?.size() as usize;
    // An edge to or from MPI_PROC_NULL has one end.
    let place = |edge: &Edge| usize::try_from(edge[end]).ok().filter(|&rank| rank < size);
    let mut given = vec![0i64; size];
    edges.iter().filter_map(place).for_each(|rank| given[rank] += 1);
    let mut next = starts(&given);
    let mut words = vec![0; given.iter().sum::<i64>() as usize];
    for edge in edges {
        let Some(rank) = place(edge) else { continue };
        words[next[rank] as usize] =
            u64::from(edge[1 - end].cast_unsigned()) << 32 | u64::from(edge[2].cast_unsigned());
        next[rank] += 1;
    }
    let got = deal_words(t, comm, &mut words, &given)?;
    Ok(got.into_iter().map(|word| ((word >> 32) as i32, word as i32)).collect())
}

/// `MPI_Dist_graph_neighbors_count`
pub fn dist_graph_neighbors_count(
    t: &mut Token,
    comm: abi::Comm,
    indegree: &mut i32,
    outdegree: &mut i32,
    weighted: &mut i32,
) -> Result<()> {
    let state = t.lock();
    let graph = dist_graph(&state, comm)?;
    *indegree = graph.incoming.ranks.len() as i32;
    *outdegree = graph.outgoing.ranks.len() as i32;
    *weighted = i32::from(graph.weighted);
    Ok(())
}

/// `MPI_Dist_graph_neighbors`
pub fn dist_graph_neighbors(
    t: &mut Token,
    comm: abi::Comm,
    sources: &mut [i32],
    sourceweights: Option<&mut [i32]>,
    destinations: &mut [i32],
    destweights: Option<&mut [i32]>,
) -> Result<()> {
    let state = t.lock();
    let graph = dist_graph(&state, comm)?;
    let fill =
        |out: &mut [i32], from: &[i32]| out.iter_mut().zip(from).for_each(|(out, &value)| *out = value);
    fill(sources, &graph.incoming.ranks);
    fill(destinations, &graph.outgoing.ranks);
    if graph.weighted {
        sourceweights.into_iter().for_each(|out| fill(out, &graph.incoming.weights));
        destweights.into_iter().for_each(|out| fill(out, &graph.outgoing.weights));
    }
    Ok(())
}
