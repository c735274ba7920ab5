//! What a choice depends on: the call, and what parameters prescribe for it.

use crate::algorithms::registry::AlgorithmId;
use crate::params::Coll;

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

/// What parameters prescribe for one collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Forced {
    /// `coll_tuned_<coll>_algorithm`, by [`crate::algorithms::registry::find`]. It prescribes among those for the same kind of communicator,
    /// within groups or between them, and where there are several ranks.
    pub algorithm: Option<AlgorithmId>,
    /// A forced algorithm that a call cannot use is passed over, and the table decides.
    pub or_table: bool,
    /// `coll_tuned_<coll>_segment`, in bytes.
    pub segment: Option<u64>,
    /// `coll_tuned_<coll>_fanout`.
    pub fanout: Option<u32>,
}
