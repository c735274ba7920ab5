//! Several nodes: first within each node, then between one *leader* of each node, then within the nodes
//! again, so that each byte crosses the network between two nodes once.
//!
//! ```text
//!   node A          node B          node C
//!   a1 ─┐           b1 ─┐           c1 ─┐
//!   a2 ─┴→ a0 ═════════ b0 ═════════════ c0      leaders: the lowest rank, or the root
//! ```
//!
//! Gatherv, scatterv, alltoallv and alltoallw stay flat: a leader would have to receive blocks whose sizes only their
//! owners know. It would ask for them first, a message each way within the node before the first byte leaves it,
//! hold whole nodes' data in memory whose size no call can bound, and copy each byte once more, to save messages
//! of which a rank has one (gatherv, scatterv), or many that differ in size. Allgatherv's counts are known to all.
//!
//! Without [`Params::topology`], or where the order of an operation forbids it, the functions build what
//! they would build on one node.

pub mod movement;
pub mod reductions;

use crate::builder::Group;
use crate::params::{ByNode, Params};
use crate::tree::{self, Node};
use std::borrow::Cow;

/// The ranks by node.
pub(crate) struct Nodes<'a> {
    /// Ranks of each node, ascending, in the order of the nodes' first ranks.
    pub(crate) members: Cow<'a, [Vec<u32>]>,
    /// One rank of each node.
    pub(crate) leaders: Cow<'a, [u32]>,
    /// Index of the calling process's node.
    pub(crate) own: usize,
}

impl<'a> Nodes<'a> {
    /// Sorts the ranks; `root` leads its node, elsewhere the lowest rank does.
    pub(crate) fn new(p: &Params<'a>, root: Option<u32>) -> Nodes<'a> {
        let node_of = |rank: u32| p.topology.and_then(|t| t.node_of.get(rank as usize).copied()).unwrap_or(0);
        let place = |by_node: &ByNode, rank: u32| by_node.place[node_of(rank) as usize] as usize;
        let (members, mut leaders, own, of_root) = match p.topology.and_then(|t| t.by_node) {
            Some(known) => {
                let of_root = root.map(|root| place(known, root));
                (
                    Cow::Borrowed(&known.members[..]),
                    Cow::Borrowed(&known.lowest[..]),
                    place(known, p.rank),
                    of_root,
                )
            }
            None => {
                let made = ByNode::new(p.size, node_of);
                let (own, of_root) = (place(&made, p.rank), root.map(|root| place(&made, root)));
                (Cow::Owned(made.members), Cow::Owned(made.lowest), own, of_root)
            }
        };
        if let (Some(root), Some(of_root)) = (root, of_root) {
            leaders.to_mut()[of_root] = root;
        }
        Nodes { members, leaders, own }
    }

    /// The leader of the own node.
    pub(crate) fn leader(&self) -> u32 {
        self.leaders[self.own]
    }

    /// Ranks of the own node.
    pub(crate) fn mates(&self) -> &[u32] {
        &self.members[self.own]
    }

    /// Whether each node's ranks follow one another, so that going by nodes is going by ranks.
    pub(crate) fn in_order(&self) -> bool {
        self.members.iter().flatten().is_sorted()
    }

    /// The own node as a group.
    pub(crate) fn node_group(&self, p: &Params) -> Option<Group<'_>> {
        Group::of_ranks(p, self.mates())
    }

    /// The leaders as a group, if the calling process is one.
    pub(crate) fn leader_group(&self, p: &Params) -> Option<Group<'_>> {
        Group::of_ranks(p, &self.leaders)
    }

    /// The place of the calling process in a k-nomial tree over the leaders (`fanout`, 2 if unset) with a binomial tree
    /// below each.
    ///
    /// ```text
    ///        a0 ══════ b0          ══ between nodes, served first
    ///       ↙  ↘      ↙  ↘         ── within
    ///      a1   a2   b1   b2
    /// ```
    pub(crate) fn tree(&self, p: &Params, root: u32) -> Node {
        let within = tree::among(self.mates(), p.rank, self.leader(), 2);
        if p.rank == self.leader() {
            within.under(tree::among(&self.leaders, p.rank, root, p.fanout_or(2, 2)))
        } else {
            within
        }
    }
}

/// The consecutive runs in an ascending list of ranks.
pub(crate) fn runs(ranks: &[u32]) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
    ranks.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 1)
}
