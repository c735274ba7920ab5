//! Schedules of all ranks of a job, equal ones once.

use coll::algorithms::registry::Algorithm;
use coll::schedule::Step;
use coll::tuned::Choice;
use coll::{ByNode, Locality, Params, Peer, Schedule, Topology};
use std::sync::Arc;

/// The schedules of an algorithm for a job with equal nodes.
///
/// In a hierarchical algorithm a rank that is not its node's leader sends to its own node alone, and does what the
/// rank at the same place of any other node does, with all ranks moved by the nodes' distance. Such schedules are
/// built on two nodes and, if they are equal so, shared by all between the first node and the last.
pub(crate) struct Schedules<'a> {
    algorithm: &'a Algorithm,
    nodes: Vec<u32>,
    /// The same by node, once for all schedules.
    by_node: ByNode,
    per_node: u32,
    /// What the ranks of the only node are bound to, if that matters.
    localities: Vec<Locality>,
    segments: u32,
    blocks: u32,
    fanout: u32,
    /// By place on a node: the schedule on node 1, if it may be shared; `None`: not asked yet.
    shared: Vec<Option<Option<Arc<Schedule>>>>,
}

impl<'a> Schedules<'a> {
    pub(crate) fn new(
        algorithm: &'a Algorithm,
        ranks: u32,
        ranks_per_node: u32,
        words: u64,
    ) -> Schedules<'a> {
        let per_node = ranks_per_node.max(1);
        Schedules {
            algorithm,
            nodes: (0..ranks).map(|rank| rank / per_node).collect(),
            by_node: ByNode::new(ranks, |rank| rank / per_node),
            per_node,
            localities: vec![],
            segments: 1,
            fanout: 0,
            blocks: coll::tuned::block_class(words),
            shared: vec![None; per_node as usize],
        }
    }

    /// The same for ranks of one node that are bound to these.
    pub(crate) fn with_localities(self, localities: Vec<Locality>) -> Schedules<'a> {
        Schedules { localities, ..self }
    }

    /// The same with trees of another radix; 0: each algorithm's own.
    pub(crate) fn with_fanout(self, fanout: u32) -> Schedules<'a> {
        Schedules { fanout, ..self }
    }

    /// The schedules of a choice.
    pub(crate) fn chosen(choice: &Choice, ranks: u32, ranks_per_node: u32) -> Schedules<'static> {
        let Choice { algorithm, segments, blocks, fanout } = *choice;
        Schedules { segments, blocks, fanout, ..Schedules::new(algorithm.get(), ranks, ranks_per_node, 1) }
    }

    /// Builds the schedule of one rank.
    pub(crate) fn build(&self, rank: u32) -> Schedule {
        let topology = Some(Topology { node_of: &self.nodes, by_node: Some(&self.by_node) });
        let params = Params::new(rank, self.nodes.len() as u32);
        let Schedules { segments, blocks, fanout, ref localities, .. } = *self;
        (self.algorithm.build)(&Params { topology, segments, blocks, fanout, localities, ..params })
    }

    /// The schedule of a rank, and what is to be added to the ranks it names.
    pub(crate) fn of(&mut self, rank: u32) -> (Arc<Schedule>, u32) {
        let (node, place) = (rank / self.per_node, rank % self.per_node);
        let last = (self.nodes.len() as u32 - 1) / self.per_node;
        let is_led = place > 0 && self.algorithm.name.starts_with("hierarchical");
        if !is_led || node == 0 || node >= last || last < 3 {
            return (Arc::new(self.build(rank)), 0);
        }
        if self.shared[place as usize].is_none() {
            self.shared[place as usize] = Some(self.equal_on_nodes(place));
        }
        match &self.shared[place as usize] {
            Some(Some(schedule)) => (Arc::clone(schedule), (node - 1) * self.per_node),
            _ => (Arc::new(self.build(rank)), 0),
        }
    }

    /// The schedule of a place on node 1, if it names ranks of that node alone and is that of node 2, moved.
    fn equal_on_nodes(&self, place: u32) -> Option<Arc<Schedule>> {
        let (first, second) = (self.build(self.per_node + place), self.build(2 * self.per_node + place));
        let moved = first.steps().iter().map(|&step| self.moved(step)).collect::<Option<Vec<Step>>>()?;
        let equal = moved == second.steps()
            && first.refs() == second.refs()
            && first.scratch() == second.scratch()
            && first.rounds() == second.rounds();
        equal.then(|| Arc::new(first))
    }

    /// A step of node 1 on node 2; `None` where it names another node's rank.
    fn moved(&self, step: Step) -> Option<Step> {
        let to = |peer: Peer| {
            let stays = peer.index() / self.per_node == 1 && !peer.is_local();
            stays.then(|| Peer::rank(peer.index() + self.per_node))
        };
        Some(match step {
            Step::Send { slot, peer, from } => Step::Send { slot, peer: to(peer)?, from },
            Step::Recv { slot, peer, into } => Step::Recv { slot, peer: to(peer)?, into },
            step => step,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Schedules;
    use coll::Coll;
    use coll::algorithms::registry;

    #[test]
    fn shared_schedules_are_those_that_would_be_built() {
        for (_, algorithm) in registry::of(Coll::Allreduce).filter(|(_, algorithm)| !algorithm.needs.inter) {
            let mut schedules = Schedules::new(algorithm, 23, 4, 1);
            for rank in 0..23 {
                let (schedule, shift) = schedules.of(rank);
                let built = schedules.build(rank);
                assert_eq!(schedule.steps().len(), built.steps().len());
                assert_eq!(schedule.refs(), built.refs());
                let peers = |schedule: &coll::Schedule, shift: u32| -> Vec<u32> {
                    let peer = |step: &coll::schedule::Step| match *step {
                        coll::schedule::Step::Send { peer, .. } | coll::schedule::Step::Recv { peer, .. } => {
                            Some(peer.index() + shift)
                        }
                        _ => None,
                    };
                    schedule.steps().iter().filter_map(peer).collect()
                };
                assert_eq!(peers(&schedule, shift), peers(&built, 0), "{} of {rank}", algorithm.name);
            }
        }
    }
}
