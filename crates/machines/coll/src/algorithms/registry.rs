//! Every algorithm by collective and name: what can be chosen, forced and measured.

use super::hierarchical::{movement, reductions};
use super::node::{blocks, bounce, direct, flag, parts, slots};
use super::*;
use crate::exchange::Meeting;
use crate::params::{Coll, Params};
pub use crate::schedule::AlgorithmId;
use crate::schedule::Schedule;

/// The type of a parameter that names an algorithm of the collective whose number is `COLL`; `None` where it names none.
pub struct Named<const COLL: usize>;

impl<const COLL: usize> mca::Type for Named<COLL> {
    type Value = Option<AlgorithmId>;
    const KIND: mca::Kind = mca::Kind::Word(NAMES[COLL]);

    fn parse(text: &str) -> Option<Option<AlgorithmId>> {
        if text.is_empty() { Some(None) } else { find(Coll::ALL[COLL], text).map(Some) }
    }
}

/// Builds the schedule of the calling rank.
pub type Build = for<'p, 'a> fn(&'p Params<'a>) -> Schedule;

/// What an algorithm needs beyond a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// An inter-communicator (all others: an intra-communicator).
    pub inter: bool,
    /// The operation may be applied in any order.
    pub commutative: bool,
    /// Elements without holes, in reductions.
    pub dense: bool,
    /// The shared memory it uses.
    pub memory: Memory,
    /// It makes use of `segments`.
    pub segments: bool,
    /// It makes use of `fanout`.
    pub fanout: bool,
    /// It makes use of `blocks`.
    pub blocks: bool,
    /// Not a need but a promise: how operands are associated depends on the number of ranks alone.
    pub canonical: bool,
}

/// Shared memory of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// No shared memory.
    None,
    /// Slots of one area for all ranks; at most [`crate::shared::PAYLOAD`] bytes for others from each rank.
    Slots,
    /// As `Slots`, of ranks that are bound to several caches or memory nodes.
    SlotsByCache,
    /// Slots of one area for at most [`crate::shared::MOST_PARTS`] ranks, each with parts for all of them.
    Parts,
    /// Slots of an area on each node; at most [`crate::shared::PAYLOAD`] bytes.
    SlotsPerNode,
    /// Bounce buffers of one area for all ranks.
    BounceBuffers,
    /// Direct reads between all ranks, and slots.
    Direct,
}

/// An algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The collective it computes.
    pub coll: Coll,
    /// Its name in parameters and tables; unique within the collective.
    pub name: &'static str,
    /// Its function.
    pub build: Build,
    /// What it needs.
    pub needs: Needs,
    /// Plain data takes an exchange, in which processes meet like this, instead of the schedule.
    pub exchange: Option<Meeting>,
}

impl AlgorithmId {
    /// The algorithm.
    pub fn get(self) -> &'static Algorithm {
        &ALGORITHMS[usize::from(self.0)]
    }
}

/// The algorithm of that name.
pub fn find(coll: Coll, name: &str) -> Option<AlgorithmId> {
    ALGORITHMS.iter().position(|a| a.coll == coll && a.name == name).map(|i| AlgorithmId(i as u16))
}

/// All algorithms of a collective, in the order of the table.
pub fn of(coll: Coll) -> impl Iterator<Item = (AlgorithmId, &'static Algorithm)> {
    ALGORITHMS
        .iter()
        .enumerate()
        .filter(move |(_, a)| a.coll == coll)
        .map(|(i, a)| (AlgorithmId(i as u16), a))
}

const PLAIN: Needs = Needs {
    inter: false,
    commutative: false,
    dense: false,
    memory: Memory::None,
    segments: false,
    fanout: false,
    blocks: false,
    canonical: false,
};
const SEGMENTS: Needs = Needs { segments: true, ..PLAIN };
const FANOUT: Needs = Needs { fanout: true, ..PLAIN };
const BOTH: Needs = Needs { segments: true, fanout: true, ..PLAIN };
const CANONICAL: Needs = Needs { canonical: true, ..PLAIN };
const CANONICAL_SEGMENTS: Needs = Needs { canonical: true, ..SEGMENTS };
const COMMUTES: Needs = Needs { commutative: true, ..PLAIN };
const COMMUTES_BLOCKS: Needs = Needs { commutative: true, blocks: true, ..SEGMENTS };
const INTER: Needs = Needs { inter: true, ..PLAIN };
/// One algorithm for every count and root.
const INTER_CANONICAL: Needs = Needs { canonical: true, ..INTER };
const SLOTS: Needs = Needs { memory: Memory::Slots, ..PLAIN };
const PARTS: Needs = Needs { memory: Memory::Parts, ..PLAIN };
const SLOTS_FANOUT: Needs = Needs { memory: Memory::Slots, ..FANOUT };
const SLOTS_BY_CACHE: Needs = Needs { memory: Memory::SlotsByCache, ..FANOUT };
const NODE_LINES: Needs = Needs { memory: Memory::SlotsPerNode, ..PLAIN };
const NODE_LINES_FANOUT: Needs = Needs { memory: Memory::SlotsPerNode, ..FANOUT };
const BOUNCE_BUFFERS: Needs = Needs { memory: Memory::BounceBuffers, ..SEGMENTS };
const BOUNCE_BUFFERS_DENSE: Needs = Needs { dense: true, ..BOUNCE_BUFFERS };
const DIRECT: Needs = Needs { memory: Memory::Direct, ..PLAIN };
const DIRECT_DENSE: Needs = Needs { dense: true, ..DIRECT };
const DIRECT_SEGMENTS: Needs = Needs { segments: true, ..DIRECT_DENSE };

macro_rules! algorithms {
    ($($coll:ident { $($name:literal $build:path: $needs:expr $(, exchange by $meeting:ident)?;)* })*) => {
        /// Every algorithm. To add one: its function, and a line here.
        pub static ALGORITHMS: &[Algorithm] = &[
            $($(Algorithm {
                coll: Coll::$coll,
                name: $name,
                build: $build,
                needs: $needs,
                exchange: algorithms!(@ $($meeting)?),
            },)*)*
        ];

        /// The names of each collective's algorithms, in the order of the table.
        const NAMES: [&[&str]; Coll::ALL.len()] = {
            let mut names: [&[&str]; Coll::ALL.len()] = [&[]; Coll::ALL.len()];
            $(names[Coll::$coll as usize] = &[$($name),*];)*
            names
        };
    };
    (@) => { None };
    (@ $meeting:ident) => { Some(Meeting::$meeting) };
}

algorithms! {
    Barrier {
        "dissemination" barrier::dissemination: FANOUT;
        "recursive_doubling" barrier::recursive_doubling: PLAIN;
        "tree" barrier::tree: FANOUT;
        "linear" barrier::linear: PLAIN;
        "hierarchical" movement::barrier: FANOUT;
        "hierarchical_slots" movement::barrier_lines: NODE_LINES_FANOUT;
        "slots_all" slots::barrier_all: SLOTS, exchange by Slots;
        "slots_flat" slots::barrier_flat: SLOTS;
        "slots_flag" slots::barrier_flag: SLOTS, exchange by Flag;
        "slots_tree" slots::barrier_tree: SLOTS_FANOUT;
        "slots_dissemination" slots::barrier_dissemination: SLOTS;
        "slots_caches" slots::barrier_caches: SLOTS_BY_CACHE;
        "inter" inter::barrier: INTER;
    }
    Bcast {
        "binomial" bcast::binomial: SEGMENTS;
        "knomial" bcast::knomial: BOTH;
        "binary" bcast::binary: BOTH;
        "chain" bcast::chain: BOTH;
        "linear" bcast::linear: SEGMENTS;
        "split_binary" bcast::split_binary: SEGMENTS;
        "scatter_recursive_doubling" bcast::scatter_recursive_doubling: PLAIN;
        "scatter_ring" bcast::scatter_ring: PLAIN;
        "hierarchical" movement::bcast: BOTH;
        "hierarchical_slots" movement::bcast_lines: NODE_LINES;
        "slots_flat" slots::bcast_flat: SLOTS, exchange by Slots;
        "slots_tree" slots::bcast_tree: SLOTS_FANOUT;
        "slots_caches" slots::bcast_caches: SLOTS_BY_CACHE;
        "bounce" bounce::bcast: BOUNCE_BUFFERS;
        "direct" direct::bcast: DIRECT;
        "inter" inter::bcast: INTER;
    }
    Gather {
        "binomial" gather::binomial: PLAIN;
        "linear" gather::linear: PLAIN;
        "hierarchical" movement::gather: PLAIN;
        "slots_flat" blocks::gather_flat: SLOTS, exchange by Slots;
        "direct" direct::gather: DIRECT;
        "inter" inter::gather: INTER;
    }
    Gatherv {
        "linear" gather::linear_v: PLAIN;
        "slots_flat" parts::gather_flat: SLOTS, exchange by Slots;
        "inter" inter::gather_v: INTER;
    }
    Scatter {
        "binomial" scatter::binomial: PLAIN;
        "linear" scatter::linear: PLAIN;
        "hierarchical" movement::scatter: PLAIN;
        "slots_flat" blocks::scatter_flat: SLOTS, exchange by Slots;
        "bounce" bounce::scatter: BOUNCE_BUFFERS;
        "direct" direct::scatter: DIRECT;
        "inter" inter::scatter: INTER;
    }
    Scatterv {
        "linear" scatter::linear_v: PLAIN;
        "slots_flat" parts::scatter_flat: PARTS, exchange by Slots;
        "inter" inter::scatter_v: INTER;
    }
    Allgather {
        "ring" allgather::ring: PLAIN;
        "recursive_doubling" allgather::recursive_doubling: PLAIN;
        "bruck" allgather::bruck: PLAIN;
        "neighbour_exchange" allgather::neighbour_exchange: PLAIN;
        "linear" allgather::linear: PLAIN;
        "hierarchical" movement::allgather: PLAIN;
        "hierarchical_doubling" movement::allgather_doubling: PLAIN;
        "slots_all" blocks::allgather_all: SLOTS, exchange by Slots;
        "slots_flag" blocks::allgather_flag: SLOTS, exchange by Flag;
        "bounce" bounce::allgather: BOUNCE_BUFFERS;
        "direct" direct::allgather: DIRECT;
        "inter" inter::allgather: INTER;
    }
    Allgatherv {
        "ring" allgather::ring_v: PLAIN;
        "neighbour_exchange" allgather::neighbour_exchange_v: PLAIN;
        "linear" allgather::linear_v: PLAIN;
        "hierarchical" movement::allgather_v: PLAIN;
        "slots_all" blocks::allgather_all_v: SLOTS, exchange by Slots;
        "slots_flag" blocks::allgather_flag_v: SLOTS, exchange by Flag;
        "bounce" parts::allgather: BOUNCE_BUFFERS;
        "direct" direct::allgather_v: DIRECT;
        "inter" inter::allgather_v: INTER;
    }
    Alltoall {
        "linear" alltoall::linear: PLAIN;
        "linear_sync" alltoall::linear_sync: FANOUT;
        "scattered" alltoall::scattered: FANOUT;
        "pairwise" alltoall::pairwise: PLAIN;
        "bruck" alltoall::bruck: FANOUT;
        "hierarchical" movement::alltoall: PLAIN;
        "slots_all" blocks::alltoall_all: SLOTS, exchange by Slots;
        "slots_flag" blocks::alltoall_flag: SLOTS, exchange by Flag;
        "bounce" bounce::alltoall: BOUNCE_BUFFERS;
        "bounce_flag" flag::alltoall: BOUNCE_BUFFERS;
        "direct" direct::alltoall: DIRECT;
        "inter" inter::alltoall: INTER;
    }
    Alltoallv {
        "linear" alltoall::linear_v: PLAIN;
        "scattered" alltoall::scattered_v: FANOUT;
        "pairwise" alltoall::pairwise_v: PLAIN;
        "slots_all" parts::alltoall_all: PARTS, exchange by Slots;
        "slots_flag" parts::alltoall_flag: PARTS, exchange by Flag;
        "inter" inter::alltoall_v: INTER;
    }
    Alltoallw {
        "linear" alltoall::linear_v: PLAIN;
        "scattered" alltoall::scattered_v: FANOUT;
        "pairwise" alltoall::pairwise_v: PLAIN;
        "slots_all" parts::alltoall_all: PARTS, exchange by Slots;
        "slots_flag" parts::alltoall_flag: PARTS, exchange by Flag;
        "inter" inter::alltoall_v: INTER;
    }
    Reduce {
        "binomial" reduce::binomial: SEGMENTS;
        "knomial" reduce::knomial: BOTH;
        "binary" reduce::binary: BOTH;
        "chain" reduce::chain: BOTH;
        "in_order_binary" reduce::in_order_binary: SEGMENTS;
        "linear" reduce::linear: PLAIN;
        "rabenseifner" reduce::rabenseifner: COMMUTES;
        "canonical" reduce::canonical: CANONICAL_SEGMENTS;
        "hierarchical" reductions::reduce: BOTH;
        "slots_flat" slots::reduce_flat: SLOTS, exchange by Slots;
        "slots_tree" slots::reduce_tree: SLOTS_FANOUT;
        "slots_caches" slots::reduce_caches: SLOTS_BY_CACHE;
        "bounce" bounce::reduce: BOUNCE_BUFFERS_DENSE;
        "bounce_flat" bounce::reduce_flat: BOUNCE_BUFFERS_DENSE;
        "direct" direct::reduce: DIRECT_SEGMENTS;
        "direct_flat" direct::reduce_flat: DIRECT_SEGMENTS;
        "inter" inter::reduce: INTER_CANONICAL;
    }
    Allreduce {
        "recursive_doubling" allreduce::recursive_doubling: PLAIN;
        "ring" allreduce::ring: COMMUTES_BLOCKS;
        "rabenseifner" allreduce::rabenseifner: COMMUTES;
        "tree" allreduce::tree: BOTH;
        "linear" allreduce::linear: PLAIN;
        "canonical" allreduce::canonical: CANONICAL_SEGMENTS;
        "hierarchical" reductions::allreduce: PLAIN;
        "hierarchical_rabenseifner" reductions::allreduce_rabenseifner: PLAIN;
        "hierarchical_slots" reductions::allreduce_lines: NODE_LINES;
        "slots_all" slots::allreduce_all: SLOTS, exchange by Slots;
        "slots_flat" slots::allreduce_flat: SLOTS;
        "slots_flag" slots::allreduce_flag: SLOTS, exchange by Flag;
        "slots_tree" slots::allreduce_tree: SLOTS_FANOUT;
        "slots_caches" slots::allreduce_caches: SLOTS_BY_CACHE;
        "bounce" bounce::allreduce: BOUNCE_BUFFERS_DENSE;
        "direct" direct::allreduce: DIRECT_SEGMENTS;
        "inter" inter::allreduce: INTER_CANONICAL;
    }
    ReduceScatter {
        "ring" reduce_scatter::ring: COMMUTES;
        "recursive_halving" reduce_scatter::recursive_halving: COMMUTES;
        "butterfly" reduce_scatter::butterfly: PLAIN;
        "linear" reduce_scatter::linear: PLAIN;
        "canonical" reduce_scatter::canonical: CANONICAL;
        "hierarchical" reductions::reduce_scatter: PLAIN;
        "slots_all" blocks::reduce_scatter_all: SLOTS, exchange by Slots;
        "slots_flag" blocks::reduce_scatter_flag: SLOTS, exchange by Flag;
        "direct" direct::reduce_scatter: DIRECT_DENSE;
        "inter" inter::reduce_scatter: INTER_CANONICAL;
    }
    ReduceScatterBlock {
        "ring" reduce_scatter::ring_block: COMMUTES;
        "recursive_halving" reduce_scatter::recursive_halving_block: COMMUTES;
        "butterfly" reduce_scatter::butterfly_block: PLAIN;
        "linear" reduce_scatter::linear_block: PLAIN;
        "canonical" reduce_scatter::canonical_block: CANONICAL;
        "hierarchical" reductions::reduce_scatter_block: PLAIN;
        "slots_all" blocks::reduce_scatter_block_all: SLOTS, exchange by Slots;
        "slots_flag" blocks::reduce_scatter_block_flag: SLOTS, exchange by Flag;
        "bounce_flag" flag::reduce_scatter_block: BOUNCE_BUFFERS_DENSE;
        "direct" direct::reduce_scatter_block: DIRECT_SEGMENTS;
        "inter" inter::reduce_scatter_block: INTER_CANONICAL;
    }
    Scan {
        "recursive_doubling" scan::recursive_doubling: PLAIN;
        "linear" scan::linear: CANONICAL_SEGMENTS;
        "hierarchical" reductions::scan: PLAIN;
        "slots_all" blocks::scan_all: SLOTS, exchange by Slots;
        "bounce" bounce::scan: BOUNCE_BUFFERS_DENSE;
    }
    Exscan {
        "recursive_doubling" scan::recursive_doubling_exclusive: PLAIN;
        "linear" scan::linear_exclusive: CANONICAL_SEGMENTS;
        "hierarchical" reductions::exscan: PLAIN;
        "slots_all" blocks::exscan_all: SLOTS, exchange by Slots;
        "bounce" bounce::exscan: BOUNCE_BUFFERS_DENSE;
    }
    NeighborAllgather {
        "linear" neighbour::allgather: PLAIN;
    }
    NeighborAllgatherv {
        "linear" neighbour::allgather_v: PLAIN;
    }
    NeighborAlltoall {
        "linear" neighbour::alltoall: PLAIN;
    }
    NeighborAlltoallv {
        "linear" neighbour::alltoall_v: PLAIN;
    }
    NeighborAlltoallw {
        "linear" neighbour::alltoall_v: PLAIN;
    }
}
