//! Many ranks.

use crate::cluster::{Cluster, Report};
use crate::error::Error;
use crate::programs::{Allreduce, Halo, grid, is_rooted, span, square};
use crate::schedules::Schedules;
use crate::setup::Setup;
use coll::Coll;
use coll::algorithms::registry::{self, Memory};
use coll::tuned::{Choice, Forced, Placement, Query, RuleTable, WIDE};

/// An algorithm of the library's table.
pub use coll::algorithms::registry::Algorithm;

/// The grid of a halo exchange: that of its ranks which is nearest to a square or a cube.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimensions {
    /// Four neighbours.
    Two,
    /// Six neighbours.
    Three,
}

/// Result of an experiment with many ranks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// Nanoseconds of one call or exchange, all ranks together.
    pub nanoseconds: f64,
    /// The most bytes that a rank has registered.
    pub registered: u64,
    /// The simulation's own counts.
    pub report: Report,
}

/// Calls and exchanges over which is averaged, after the first, which makes the connections.
const CALLS: u32 = 3;
/// Steps of all schedules together that a simulation keeps in memory.
const MOST_STEPS: u64 = 50_000_000;
/// Bytes of all ranks' receive buffers together.
const MOST_BYTES: u64 = 1 << 30;

/// The algorithms of a collective for a machine's job of `ranks`: those that need nothing but messages, where ranks share
/// memory, those with an area on each node, and on a single node all.
pub fn algorithms(setup: &Setup, coll: Coll, ranks: u32) -> impl Iterator<Item = &'static Algorithm> {
    let several = !setup.localities(ranks).is_empty();
    let shares = setup.shares_memory() && ranks > 1;
    let on_one_node = ranks <= setup.ranks_per_node;
    let fits = move |algorithm: &&Algorithm| match algorithm.needs.memory {
        Memory::None => true,
        Memory::SlotsPerNode => shares,
        Memory::SlotsByCache => shares && several,
        Memory::Slots | Memory::Parts | Memory::BounceBuffers | Memory::Direct => shares && on_one_node,
    };
    registry::of(coll).map(|(_, algorithm)| algorithm).filter(|algorithm| !algorithm.needs.inter).filter(fits)
}

/// Those of the allreduce.
pub fn allreduce_algorithms(setup: &Setup, ranks: u32) -> impl Iterator<Item = &'static Algorithm> {
    algorithms(setup, Coll::Allreduce, ranks)
}

/// What the library's table chooses for that many ranks with a processor each; `None` where the ranks of a node share no
/// memory.
pub fn chosen(setup: &Setup, coll: Coll, ranks: u32, words: u64) -> Option<Choice> {
    if setup.ranks_per_node > 1 && !setup.shares_memory() {
        return None;
    }
    let nodes = ranks.div_ceil(setup.ranks_per_node);
    let placement = Placement::of(ranks as usize, nodes as usize, false);
    let query = Query {
        bytes: 8 * words,
        element: 8,
        caches: nodes == 1 && !setup.localities(ranks).is_empty() && ranks > WIDE,
        ..Query::new(coll, ranks, placement)
    };
    RuleTable::builtin().select(&query, &Forced::default()).ok()
}

/// An allreduce of `words` 64-bit integers over `ranks` ranks, or another collective with so many for each block, uncut.
///
/// # Errors
/// As [`collective`].
pub fn allreduce(setup: &Setup, algorithm: &Algorithm, ranks: u32, words: u64) -> Result<Outcome, Error> {
    let schedules = Schedules::new(algorithm, ranks, setup.ranks_per_node, words).with_fanout(setup.fanout);
    run(setup, algorithm, schedules, ranks, words)
}

/// As [`allreduce`], with segments and radix as chosen.
///
/// # Errors
/// [`Error`]; [`Error::Unsupported`] where the ranks' schedules or buffers would not fit into memory.
pub fn collective(setup: &Setup, choice: &Choice, ranks: u32, words: u64) -> Result<Outcome, Error> {
    let schedules = Schedules::chosen(choice, ranks, setup.ranks_per_node);
    run(setup, choice.algorithm.get(), schedules, ranks, words)
}

fn run(
    setup: &Setup,
    algorithm: &Algorithm,
    schedules: Schedules,
    ranks: u32,
    words: u64,
) -> Result<Outcome, Error> {
    let mut schedules = schedules.with_localities(setup.localities(ranks));
    let steps = schedules.build(ranks - 1).steps().len() as u64 * u64::from(ranks);
    let in_lines =
        matches!(algorithm.needs.memory, Memory::Slots | Memory::SlotsByCache | Memory::SlotsPerNode);
    if in_lines && words * 8 > coll::shared::PAYLOAD as u64 {
        return Err(Error::Unsupported("a line of a node's area does not hold the vector"));
    }
    if steps > MOST_STEPS {
        return Err(Error::Unsupported("the schedules of this algorithm grow with the ranks and do not fit"));
    }
    let blocks = if has_blocks(algorithm.coll) { u64::from(ranks) } else { 1 };
    if u64::from(ranks) * blocks * words * 8 > MOST_BYTES {
        return Err(Error::Unsupported("the ranks' buffers do not fit"));
    }
    let calls = if is_rooted(algorithm.coll) { 1 } else { CALLS };
    let make = |rank| {
        let group = (ranks, setup.ranks_of_node(rank));
        Allreduce::new(algorithm.coll, schedules.of(rank), group, words, calls)
    };
    let mut cluster = Cluster::new(setup, ranks, make)?;
    let report = cluster.run()?;
    let registered = cluster.registered();
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    match programs().position(|program| !program.is_intact()) {
        Some(rank) => Err(Error::WrongData { rank: rank as u32 }),
        None => Ok(Outcome { nanoseconds: span(programs().map(Allreduce::time), calls), registered, report }),
    }
}

/// Whether each rank has a block for, or from, each other.
fn has_blocks(coll: Coll) -> bool {
    matches!(coll, Coll::Allgather | Coll::Alltoall)
}

/// A halo exchange over `ranks` ranks with faces of `face` bytes, in a grid of two or three dimensions.
///
/// # Errors
/// [`Error`].
pub fn halo(setup: &Setup, ranks: u32, dimensions: Dimensions, face: usize) -> Result<Outcome, Error> {
    let grid = match dimensions {
        Dimensions::Two => square(ranks).to_vec(),
        Dimensions::Three => grid(ranks).to_vec(),
    };
    let mut cluster = Cluster::new(setup, ranks, |rank| Halo::new(rank, &grid, face, CALLS))?;
    let report = cluster.run()?;
    let registered = cluster.registered();
    let programs = || (0..ranks).filter_map(|rank| cluster.program(rank));
    match programs().position(|program| !program.is_intact()) {
        Some(rank) => Err(Error::WrongData { rank: rank as u32 }),
        None => Ok(Outcome { nanoseconds: span(programs().map(Halo::time), CALLS), registered, report }),
    }
}
