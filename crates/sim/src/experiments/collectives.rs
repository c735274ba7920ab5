//! Many ranks.

use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::programs::{Allreduce, Halo, span};
use crate::setup::Setup;
use coll::algorithms::registry::{self, Memory};
use coll::{Coll, Params, Topology};
use std::sync::Arc;

/// An algorithm of the library's table.
pub use coll::algorithms::registry::Algorithm;

/// Result of an experiment with many ranks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// Nanoseconds of one call or exchange, all ranks together.
    pub nanoseconds: f64,
    /// The simulation's own counts.
    pub report: Report,
}

/// Calls and exchanges over which is averaged, after the first, which makes the connections.
const CALLS: u32 = 3;
/// Steps of all schedules together that a simulation keeps in memory.
const MOST_STEPS: u64 = 50_000_000;

/// The allreduce algorithms that need nothing but messages.
pub fn allreduce_algorithms() -> impl Iterator<Item = &'static Algorithm> {
    registry::of(Coll::Allreduce)
        .map(|(_, algorithm)| algorithm)
        .filter(|algorithm| algorithm.needs.memory == Memory::None && !algorithm.needs.inter)
}

/// An allreduce of `words` 64-bit integers over `ranks` ranks.
///
/// # Errors
/// [`Error`]; [`Error::Unsupported`] where the ranks' schedules would not fit into memory.
pub fn allreduce(setup: &Setup, algorithm: &Algorithm, ranks: u32, words: u64) -> Result<Outcome, Error> {
    let nodes: Vec<u32> = (0..ranks).map(|rank| rank / setup.ranks_per_node.max(1)).collect();
    let schedule = |rank| {
        let topology = Some(Topology { node_of: &nodes });
        let blocks = coll::tuned::block_class(words);
        (algorithm.build)(&Params { topology, blocks, ..Params::new(rank, ranks) })
    };
    let steps = schedule(ranks - 1).steps().len() as u64 * u64::from(ranks);
    if steps > MOST_STEPS {
        return Err(Error::Unsupported("the schedules of this algorithm grow with the ranks and do not fit"));
    }
    let make = |rank| Allreduce::new(Arc::new(schedule(rank)), ranks, words, CALLS);
    let mut cluster = Cluster::new(setup, ranks, make)?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    match programs().position(|program| !program.is_intact()) {
        Some(rank) => Err(Error::WrongData { rank: rank as u32 }),
        None => Ok(Outcome { nanoseconds: span(programs().map(Allreduce::time), CALLS), report }),
    }
}

/// A two-dimensional halo exchange over `ranks` ranks with faces of `face` bytes.
///
/// # Errors
/// [`Error`].
pub fn halo(setup: &Setup, ranks: u32, face: usize) -> Result<Outcome, Error> {
    let mut cluster = Cluster::new(setup, ranks, |rank| Halo::new(rank, ranks, face, CALLS))?;
    let report = cluster.run()?;
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    match programs().position(|program| !program.is_intact()) {
        Some(rank) => Err(Error::WrongData { rank: rank as u32 }),
        None => Ok(Outcome { nanoseconds: span(programs().map(Halo::time), CALLS), report }),
    }
}
