//! From snapshots to what is dead-locked for sure.

use std::time::Duration;

use observe::{Begun, Slot};

use crate::graph::{Blocked, Graph, Node};

/// What is seen of a rank at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Does {
    /// It may do anything.
    Runs,
    /// It does nothing any more.
    Ended,
    /// Each of its threads that may act waits in one of these slots.
    Waits {
        /// The slots.
        slots: Vec<Slot>,
        /// Collective calls that go on meanwhile.
        begun: Begun,
        /// Processor time of its other threads, in any unit: with another number at the next look it runs.
        busy: u64,
    },
}

/// A rank at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rank {
    /// What it does.
    pub does: Does,
    /// How long its oldest wait has lasted.
    pub waited: Duration,
}

/// The ranks of a job at a moment, by rank.
pub type Snapshot = Vec<Rank>;

/// Finds dead-locks in snapshots that are taken one after the other.
#[derive(Debug, Default)]
pub struct Finder {
    before: Option<Snapshot>,
}

impl Finder {
    /// What is dead-locked in `now` and was in the snapshot before, by the very same waits: the graph, and its dead ranks.
    /// Both snapshots of a rank are of one and the same wait, which it never left in between. So between the two all of them
    /// waited at the same time. Nothing where none of them has waited for `after`.
    pub fn look(&mut self, now: Snapshot, after: Duration) -> Found {
        let old_dead = |before: &Snapshot| {
            let graph = graph(&now, before);
            let dead = graph.dead();
            dead.iter().any(|&rank| now[rank as usize].waited >= after).then_some(Found::Dead(graph, dead))
        };
        if old_dead(&now).is_none() {
            self.before = None;
            return Found::Nothing;
        }
        let found = self.before.as_ref().and_then(old_dead).unwrap_or(Found::LookAgain);
        self.before = Some(now);
        found
    }
}

/// What came of a look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// All is well.
    Nothing,
    /// Something may be dead-locked: the next look tells.
    LookAgain,
    /// The graph and its dead ranks.
    Dead(Graph, Vec<u32>),
}

/// The graph of `now`, in which ranks that are not as `before` run.
fn graph(now: &Snapshot, before: &Snapshot) -> Graph {
    let node = |(rank, now): (usize, &Rank)| match (&now.does, before.get(rank).map(|rank| &rank.does)) {
        (Does::Ended, _) => Node::Ended,
        (Does::Waits { slots, begun, busy }, Some(Does::Waits { slots: then, begun: had, busy: was })) => {
            let key = |slot: &Slot| (slot.number, slot.turn);
            let is_same =
                slots.iter().map(key).eq(then.iter().map(key)) && begun.turn == had.turn && busy == was;
            let waits = || slots.iter().map(|slot| slot.wait.clone()).collect();
            match is_same {
                true => Node::Waits(Blocked { waits: waits(), begun: begun.clone() }),
                false => Node::Runs,
            }
        }
        _ => Node::Runs,
    };
    Graph(now.iter().enumerate().map(node).collect())
}
