//! The facts an algorithm builds its schedule from.

/// A collective operation. Blocking, nonblocking and persistent calls share one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // named exactly as the MPI functions
pub enum Coll {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

impl Coll {
    /// Every collective, in the order of the enumeration.
    pub const ALL: [Coll; 22] = [
        Coll::Barrier,
        Coll::Bcast,
        Coll::Gather,
        Coll::Gatherv,
        Coll::Scatter,
        Coll::Scatterv,
        Coll::Allgather,
        Coll::Allgatherv,
        Coll::Alltoall,
        Coll::Alltoallv,
        Coll::Alltoallw,
        Coll::Reduce,
        Coll::Allreduce,
        Coll::ReduceScatter,
        Coll::ReduceScatterBlock,
        Coll::Scan,
        Coll::Exscan,
        Coll::NeighborAllgather,
        Coll::NeighborAllgatherv,
        Coll::NeighborAlltoall,
        Coll::NeighborAlltoallv,
        Coll::NeighborAlltoallw,
    ];

    /// Whether each process knows how much data there is for all, as [`Query::bytes`](crate::tuned::Query::bytes) counts it: where
    /// there is none, no process waits for another.
    #[inline(always)]
    pub const fn all_know_bytes(self) -> bool {
        matches!(
            self,
            Coll::Bcast
                | Coll::Gather
                | Coll::Scatter
                | Coll::Allgather
                | Coll::Allgatherv
                | Coll::Alltoall
                | Coll::Reduce
                | Coll::Allreduce
                | Coll::ReduceScatter
                | Coll::ReduceScatterBlock
                | Coll::Scan
                | Coll::Exscan
        )
    }

    /// The name used in rule files and parameters: the MPI function's, in lower case without `mpi_`.
    pub const fn name(self) -> &'static str {
        match self {
            Coll::Barrier => "barrier",
            Coll::Bcast => "bcast",
            Coll::Gather => "gather",
            Coll::Gatherv => "gatherv",
            Coll::Scatter => "scatter",
            Coll::Scatterv => "scatterv",
            Coll::Allgather => "allgather",
            Coll::Allgatherv => "allgatherv",
            Coll::Alltoall => "alltoall",
            Coll::Alltoallv => "alltoallv",
            Coll::Alltoallw => "alltoallw",
            Coll::Reduce => "reduce",
            Coll::Allreduce => "allreduce",
            Coll::ReduceScatter => "reduce_scatter",
            Coll::ReduceScatterBlock => "reduce_scatter_block",
            Coll::Scan => "scan",
            Coll::Exscan => "exscan",
            Coll::NeighborAllgather => "neighbor_allgather",
            Coll::NeighborAllgatherv => "neighbor_allgatherv",
            Coll::NeighborAlltoall => "neighbor_alltoall",
            Coll::NeighborAlltoallv => "neighbor_alltoallv",
            Coll::NeighborAlltoallw => "neighbor_alltoallw",
        }
    }

    /// The name of its function.
    pub fn mpi_name(self) -> String {
        let (first, rest) = self.name().split_at(1);
        format!("MPI_{}{rest}", first.to_uppercase())
    }

    /// The collective of that name.
    pub fn from_name(name: &str) -> Option<Coll> {
        Coll::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// Where the data of a rooted collective starts or ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// A rank: of the own group, or (inter-communicator) the remote group's root as its non-root group
    /// names it.
    Rank(u32),
    /// `MPI_ROOT`: the calling process is the root; the other group takes part (inter-communicators only).
    Me,
    /// `MPI_PROC_NULL`: another process of the own group is the root; nothing to do (inter-communicators
    /// only).
    Elsewhere,
}

/// The processes of the own node, where they share memory, and the leaders of all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Topology<'a> {
    /// For each rank the number of its node, counted from 0 without gaps.
    pub node_of: &'a [u32],
    /// The same by node, where it has been worked out for many schedules; `None`: each works it out.
    pub by_node: Option<&'a ByNode>,
}

impl<'a> Topology<'a> {
    /// The nodes by rank alone.
    pub fn new(node_of: &'a [u32]) -> Topology<'a> {
        Topology { node_of, by_node: None }
    }
}

/// The ranks of a job by node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByNode {
    /// Ranks of each node, ascending, in the order of the nodes' first ranks.
    pub(crate) members: Vec<Vec<u32>>,
    /// The lowest rank of each node.
    pub(crate) lowest: Vec<u32>,
    /// By a node's number: its place in `members`.
    pub(crate) place: Vec<u32>,
}

impl ByNode {
    /// Sorts the ranks, of which rank `r` is on the node `node_of(r)`.
    pub fn new(size: u32, node_of: impl Fn(u32) -> u32) -> ByNode {
        const NONE: u32 = u32::MAX;
        let mut by_node = ByNode::default();
        for rank in 0..size {
            let node = node_of(rank) as usize;
            if node >= by_node.place.len() {
                by_node.place.resize(node + 1, NONE);
            }
            let place = &mut by_node.place[node];
            if *place == NONE {
                *place = by_node.members.len() as u32;
                by_node.members.push(vec![]);
                by_node.lowest.push(rank);
            }
            by_node.members[*place as usize].push(rank);
        }
        by_node
    }
}

/// The hardware of a node that a rank is bound to, by numbers that mean nothing else. Ranks that are bound to no single
/// cache, or memory node, have one number in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Locality {
    /// Its memory node.
    pub memory: u32,
    /// Its last-level cache.
    pub cache: u32,
}

impl Locality {
    /// The locality at a place where so many consecutive places share a cache, and so many consecutive caches a memory node.
    pub fn at(place: u32, ranks: u32, caches: u32) -> Locality {
        let cache = place / ranks.max(1);
        Locality { memory: cache / caches.max(1), cache }
    }

    /// The localities of ranks, or none where all have the same one.
    pub fn if_several(localities: Vec<Locality>) -> Vec<Locality> {
        if localities.iter().any(|locality| *locality != localities[0]) { localities } else { Vec::new() }
    }
}

/// The neighbours of a process in a virtual topology, in the order the standard gives them (MPI-5.0 section
/// 8.6); `None` for `MPI_PROC_NULL`, whose blocks are skipped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighbours<'a> {
    /// Processes this one receives from.
    pub sources: &'a [Option<u32>],
    /// Processes this one sends to.
    pub destinations: &'a [Option<u32>],
    /// The topology is Cartesian: sources and destinations come in pairs, one for each direction of a
    /// dimension.
    pub cartesian: bool,
}

/// Everything a schedule depends on. Counts, addresses, types and tags are not among it.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    /// Rank of the calling process in its own group.
    pub rank: u32,
    /// Size of the own group.
    pub size: u32,
    /// Size of the remote group; `None` for an intra-communicator.
    pub remote: Option<u32>,
    /// The root; `Root::Rank(0)` where there is none.
    pub root: Root,
    /// `MPI_IN_PLACE` was given by this process. (Where only some processes may give it, it changes only
    /// their steps.)
    pub in_place: bool,
    /// The operation may be applied in any order.
    pub commutative: bool,
    /// This process's data is one contiguous run of bytes: extent = size, lower bound 0. Differs between
    /// ranks at will.
    pub contiguous: bool,
    /// Pieces a vector is cut into by pipelined algorithms; equal on all ranks, at least 1.
    pub segments: u32,
    /// Blocks at most that a vector is cut into by algorithms that give each rank one; equal on all ranks, at
    /// least 1. A vector shorter than the group has no more blocks than elements, and a ring no more steps.
    pub blocks: u32,
    /// Children per node of a tree, radix, or number of chains; equal on all ranks; 0: the algorithm's own.
    pub fanout: u32,
    /// Nodes, for hierarchical algorithms.
    pub topology: Option<Topology<'a>>,
    /// By rank: what it is bound to, for trees over caches and memory nodes; empty where that is not known.
    pub localities: &'a [Locality],
    /// Neighbours, for neighbourhood collectives.
    pub neighbours: Neighbours<'a>,
}

impl<'a> Params<'a> {
    /// Parameters of an intra-communicator without root, operation and neighbours; set the other fields as
    /// needed.
    pub fn new(rank: u32, size: u32) -> Params<'a> {
        Params {
            rank,
            size,
            remote: None,
            root: Root::Rank(0),
            in_place: false,
            commutative: true,
            contiguous: true,
            segments: 1,
            blocks: u32::MAX,
            fanout: 0,
            topology: None,
            localities: &[],
            neighbours: Neighbours::default(),
        }
    }

    /// The rank of the root, where the root is a rank.
    pub(crate) fn root_rank(&self) -> u32 {
        match self.root {
            Root::Rank(r) => r,
            Root::Me | Root::Elsewhere => 0,
        }
    }

    /// `fanout`, or the algorithm's own where none is set, and at least `least`.
    pub(crate) fn fanout_or(&self, own: u32, least: u32) -> u32 {
        let k = if self.fanout == 0 { own } else { self.fanout };
        k.max(least)
    }

    /// What a schedule is kept under, within one communicator.
    pub fn key(&self, algorithm: u16) -> Key {
        let root = match self.root {
            Root::Rank(r) => r,
            Root::Me => u32::MAX,
            Root::Elsewhere => u32::MAX - 1,
        };
        let flags =
            u8::from(self.in_place) | u8::from(self.commutative) << 1 | u8::from(self.contiguous) << 2;
        Key { algorithm, flags, root, segments: self.segments, blocks: self.blocks, fanout: self.fanout }
    }
}

/// The key of a schedule within one communicator: group sizes, ranks, topology and neighbours are the
/// communicator's and do not change. The numbers of segments and blocks are the count class; counts themselves
/// enter when a schedule is bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    algorithm: u16,
    flags: u8,
    root: u32,
    segments: u32,
    blocks: u32,
    fanout: u32,
}
