//! Which algorithm a call uses: rows of one table, which parameters override.
//!
//! [`RuleTable::builtin`] is the file `tuned.toml` next to this one; a user's rule file ([`RuleTable::parse`]) is
//! asked first. The first row that fits the call and whose algorithm the call can use decides. All ranks of
//! a call ask with the same [`Query`], so all choose alike; nothing that may differ between ranks (buffer
//! addresses, layouts of types in data movement) is in it.

mod fit;
mod params;
mod rules;

pub use fit::{Misfit, Unfit, can_use};
pub use params::{Caches, CollParams, Level, Tuned, TunedParams};
pub use rules::ParseError;

use crate::algorithms::node::bounce;
use crate::algorithms::registry::{self, AlgorithmId, Memory};
use crate::params::Coll;
use fit::slot_limit;
use rules::Rule;

/// Where the ranks of a communicator are and what they share; equal on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// All on one node.
    Node {
        /// There are more ranks than cores.
        oversubscribed: bool,
    },
    /// On several nodes, with one rank on each.
    Spread,
    /// On several nodes, with several ranks on some.
    Cluster,
}

impl Placement {
    /// Of so many ranks on so many nodes; `oversubscribed`: the only node has more ranks than cores.
    pub fn of(ranks: usize, nodes: usize, oversubscribed: bool) -> Placement {
        match nodes {
            0 | 1 => Placement::Node { oversubscribed },
            several if several == ranks => Placement::Spread,
            _ => Placement::Cluster,
        }
    }
}

/// Ranks up to which the caches of ranks are not looked up: a flat exchange is as fast as any tree.
pub const WIDE: u32 = 16;

/// What a choice depends on; equal on all ranks of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Query {
    /// The operation.
    pub coll: Coll,
    /// Ranks of the communicator; of both groups in an inter-communicator.
    pub ranks: u32,
    /// An inter-communicator.
    pub inter: bool,
    /// Packed bytes. Bcast, reduce, allreduce, scans: of the vector. Gather, scatter, allgather, alltoall:
    /// of one rank's block. Allgatherv: of the largest block. Reduce-scatter: of the whole vector. Barrier,
    /// gatherv, scatterv, alltoallv, alltoallw and neighbourhoods, where not every rank knows it: 0.
    pub bytes: u64,
    /// Packed bytes of an element, for reductions.
    pub element: u64,
    /// The operation commutes.
    pub commutative: bool,
    /// The elements of a reduction have no holes (size = extent).
    pub dense: bool,
    /// The result must not depend on count, root or placement (`coll_reproducible`): only algorithms that
    /// keep to one association will do. Their [`crate::Params::commutative`] must be false, so that trees
    /// keep the rank order.
    pub canonical: bool,
    /// Where the ranks are.
    pub placement: Placement,
    /// A shared area exists on each node, and this call may use it: its place among the calls there is the same on all ranks.
    pub area: bool,
    /// Ranks of a node can read each other's memory.
    pub direct: bool,
    /// There are two ranks, on processors between which a cache line crosses fast. Copying through shared memory is
    /// faster there than reading directly, and much slower elsewhere.
    pub near: bool,
    /// The ranks are on one node and bound to several of its last-level caches or memory nodes.
    pub caches: bool,
}

impl Query {
    /// A call that moves no data, of an operation that commutes on bytes. On one node its ranks share an area and can
    /// read each other's memory.
    pub fn new(coll: Coll, ranks: u32, placement: Placement) -> Query {
        let on_node = matches!(placement, Placement::Node { .. });
        Query {
            coll,
            ranks,
            inter: false,
            bytes: 0,
            element: 1,
            commutative: true,
            dense: true,
            canonical: false,
            placement,
            area: on_node,
            direct: on_node,
            near: false,
            caches: false,
        }
    }
}

/// What was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: AlgorithmId,
    /// For [`crate::Params::segments`].
    pub segments: u32,
    /// For [`crate::Params::blocks`].
    pub blocks: u32,
    /// For [`crate::Params::fanout`].
    pub fanout: u32,
}

/// What parameters prescribe for one collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Forced {
    /// `coll_tuned_<coll>_algorithm`, by [`registry::find`]. It prescribes among those for the same kind of communicator,
    /// within groups or between them, and where there are several ranks.
    pub algorithm: Option<AlgorithmId>,
    /// A forced algorithm that a call cannot use is passed over, and the table decides.
    pub or_table: bool,
    /// `coll_tuned_<coll>_segment`, in bytes.
    pub segment: Option<u64>,
    /// `coll_tuned_<coll>_fanout`.
    pub fanout: Option<u32>,
}

/// Rows by collective.
#[derive(Clone, Debug, Default)]
pub struct RuleTable {
    rules: Vec<Rule>,
}

impl RuleTable {
    /// The table that comes with the library.
    pub fn builtin() -> RuleTable {
        RuleTable::parse(include_str!("tuned.toml")).unwrap_or_default()
    }

    /// Reads a rule file; see `tuned.toml` for the format.
    pub fn parse(text: &str) -> Result<RuleTable, ParseError> {
        Ok(RuleTable { rules: rules::parse(text)? })
    }

    /// This table's rows before `other`'s.
    pub fn before(mut self, other: RuleTable) -> RuleTable {
        self.rules.extend(other.rules);
        self
    }

    /// The choice for a call: what is forced, else the first row that fits, else the collective's first
    /// algorithm that can be used.
    ///
    /// # Errors
    /// Why the call cannot use what is forced, or has no algorithm.
    pub fn select(&self, query: &Query, forced: &Forced) -> Result<Choice, Unfit> {
        let usable = |id: &AlgorithmId| can_use(id.get(), query);
        let rule = self.rules.iter().find(|rule| rule.matches(query) && usable(&rule.algorithm));
        let by_default = || registry::of(query.coll).map(|(id, _)| id).find(usable);
        let forced_one = forced.in_force(query)?;
        let algorithm =
            forced_one.or(rule.map(|r| r.algorithm)).or_else(by_default).ok_or(Unfit::NoAlgorithm)?;
        let rule = rule.filter(|r| r.algorithm == algorithm);
        let segment = forced.segment.or(rule.map(|r| r.segment)).unwrap_or(0);
        let fanout = forced.fanout.or(rule.map(|r| r.fanout)).unwrap_or(0);
        Ok(choice(algorithm, query, segment, fanout))
    }

    /// As [`RuleTable::select`]: the algorithm for a call, and the most bytes up to which calls that are the same
    /// otherwise use it.
    pub fn select_up_to(&self, query: &Query, forced: &Forced) -> Option<(AlgorithmId, u64)> {
        let of = |bytes| self.select(&Query { bytes, ..*query }, forced).ok().map(|choice| choice.algorithm);
        let algorithm = of(query.bytes)?;
        // What is chosen changes only at these.
        let rules = self.rules.iter().filter(|rule| rule.coll == query.coll);
        let mut changes: Vec<u64> = rules.flat_map(|rule| rule.changes()).collect();
        changes.push(slot_limit(query) + 1);
        changes.sort_unstable();
        let later = changes.into_iter().filter(|&bytes| bytes > query.bytes);
        let end = later.into_iter().find(|&bytes| of(bytes) != Some(algorithm));
        Some((algorithm, end.map_or(u64::MAX, |bytes| bytes - 1)))
    }
}

fn choice(algorithm: AlgorithmId, query: &Query, segment: u64, fanout: u32) -> Choice {
    let needs = &algorithm.get().needs;
    let wanted = if segment == 0 { 1 } else { query.bytes.div_ceil(segment) };
    let least = if needs.memory == Memory::BounceBuffers { bounce_segments(query) } else { 1 };
    let most = (query.bytes / query.element.max(1)).max(1);
    let segments = if needs.segments { segment_class(wanted.min(most).max(least)) } else { 1 };
    let blocks = if needs.blocks { block_class(most) } else { 1 };
    Choice { algorithm, segments, blocks, fanout: if needs.fanout { fanout } else { 0 } }
}

/// Blocks at most that a vector of `elements` has: rounded up, so that few schedules are kept.
pub fn block_class(elements: u64) -> u32 {
    u32::try_from(elements).ok().and_then(u32::checked_next_power_of_two).unwrap_or(u32::MAX)
}

fn bounce_segments(query: &Query) -> u64 {
    bounce::segments_for(query.bytes, query.element.max(1))
}

/// Segments at most, so that schedules stay short; so many for each rank of an area are still rounds that 16 bits count.
const MOST_SEGMENTS: u32 = 768;

/// Rounds up to 1, 2, 3, 4, 6, 8, 12, 16, …: few classes of counts, so that few schedules are kept.
fn segment_class(wanted: u64) -> u32 {
    let wanted = wanted.clamp(1, u64::from(MOST_SEGMENTS)) as u32;
    let power = wanted.next_power_of_two();
    if power >= 4 && wanted <= power / 4 * 3 { power / 4 * 3 } else { power }
}
