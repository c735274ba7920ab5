//! A collective call of a replayed program.

use super::{Collective, Job};
use crate::setup::Setup;
use coll::tuned::{Forced, Placement, Query, RuleTable};
use coll::{Coll, Layout, Params, Root, Schedule, Shape, Topology};
use std::collections::HashMap;
use std::sync::Arc;

/// What choosing needs, and what was built for one rank.
pub(crate) struct Schedules {
    table: Arc<RuleTable>,
    ranks_per_node: u32,
    shares_memory: bool,
    copies: u32,
    built: HashMap<Collective, Prepared>,
}

/// A call that is ready to be started.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub schedule: Arc<Schedule>,
    pub shape: Shape,
    /// Ranks of the world.
    pub group: Arc<[u32]>,
}

impl std::hash::Hash for Collective {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.coll as u8, self.comm.0, self.root, self.count, self.element).hash(state);
    }
}

impl Schedules {
    pub fn new(setup: &Setup, table: &Arc<RuleTable>, copies: u32) -> Schedules {
        Schedules {
            table: Arc::clone(table),
            ranks_per_node: setup.ranks_per_node.max(1),
            shares_memory: setup.shares_memory(),
            copies,
            built: HashMap::new(),
        }
    }

    /// The call of the rank `me` of the world; `None`: the library has no algorithm for it here.
    pub fn prepare(&mut self, job: &Job, call: &Collective, me: u32) -> Option<Prepared> {
        if let Some(known) = self.built.get(call) {
            return Some(known.clone());
        }
        let prepared = self.choose(call, self.group(job, call, me), me)?;
        self.built.insert(call.clone(), prepared.clone());
        Some(prepared)
    }

    /// The call of `me` among these ranks of the world; `None`: as [`Schedules::prepare`].
    pub fn choose(&self, call: &Collective, group: Arc<[u32]>, me: u32) -> Option<Prepared> {
        let rank = group.iter().position(|&rank| rank == me)? as u32;
        let nodes = nodes(&group, self.ranks_per_node);
        let query = self.query(call, &group, &nodes);
        let choice = self.table.select(&query, &Forced::default()).ok()?;
        let params = Params {
            root: Root::Rank(call.root),
            segments: choice.segments,
            blocks: choice.blocks,
            fanout: choice.fanout,
            topology: Some(Topology::new(&nodes)),
            ..Params::new(rank, group.len() as u32)
        };
        let schedule = Arc::new((choice.algorithm.get().build)(&params));
        let layout = Layout::contiguous(call.count, call.element);
        let packed = match call.coll {
            Coll::Reduce | Coll::Allreduce | Coll::Scan | Coll::Exscan | Coll::ReduceScatterBlock => 0,
            _ => layout.bytes(),
        };
        Some(Prepared { schedule, shape: Shape { send: layout, recv: layout, packed }, group })
    }

    /// The world of all copies, or the communicator of the rank's own copy.
    fn group(&self, job: &Job, call: &Collective, me: u32) -> Arc<[u32]> {
        let recorded = job.comms.group(call.comm);
        if call.comm.is_world() {
            return (0..job.ranks() * self.copies).collect();
        }
        let first = me / job.ranks() * job.ranks();
        recorded.iter().map(|rank| first + rank).collect()
    }

    fn query(&self, call: &Collective, group: &[u32], nodes: &[u32]) -> Query {
        let count = nodes.iter().max().map_or(0, |last| last + 1) as usize;
        let placement = Placement::of(group.len(), count, false);
        // There is one area for all ranks of a node, in their order.
        let whole =
            group.len() as u32 <= self.ranks_per_node && group.iter().copied().eq(0..group.len() as u32);
        let area = whole && matches!(call.coll, Coll::Barrier | Coll::Bcast | Coll::Reduce | Coll::Allreduce);
        let block = call.count * call.element;
        Query {
            bytes: if call.coll == Coll::ReduceScatterBlock { block * group.len() as u64 } else { block },
            element: call.element,
            area: area && self.shares_memory,
            direct: self.shares_memory,
            ..Query::new(call.coll, group.len() as u32, placement)
        }
    }
}

/// For each rank of a group the number of its node, without gaps.
fn nodes(group: &[u32], ranks_per_node: u32) -> Vec<u32> {
    let mut known = HashMap::new();
    group
        .iter()
        .map(|rank| {
            let next = known.len() as u32;
            *known.entry(rank / ranks_per_node).or_insert(next)
        })
        .collect()
}
