//! What the ranks of AMG do, one action after another.

use super::set_up;
use crate::jitter::Jitter;
use crate::programs::lammps::Grid;

/// Bytes of a message across a face, an edge, a corner; 0: none.
pub(super) type Messages = [usize; 3];

/// A level of the live run.
struct Level {
    halo: Messages,
    /// With the next coarser level.
    transfer: Messages,
    /// Microseconds of computing: after either halo on the way down, after restricting, after interpolating, after
    /// the halo on the way up.
    computing: [f64; 5],
}

const LEVELS: [Level; 7] = [
    Level { halo: [12_800, 0, 0], transfer: [290, 20, 0], computing: [552.0, 363.0, 186.0, 42.0, 576.0] },
    Level { halo: [11_821, 303, 0], transfer: [1_878, 39, 0], computing: [518.0, 302.0, 115.0, 46.0, 412.0] },
    Level { halo: [4_927, 395, 26], transfer: [409, 26, 0], computing: [220.0, 172.0, 40.0, 18.0, 366.0] },
    Level { halo: [1_672, 303, 38], transfer: [108, 16, 0], computing: [43.0, 42.0, 13.0, 5.0, 54.0] },
    Level { halo: [642, 236, 56], transfer: [32, 9, 0], computing: [11.0, 15.0, 8.0, 1.0, 9.0] },
    Level { halo: [144, 114, 59], transfer: [10, 10, 10], computing: [3.0, 10.0, 6.0, 1.0, 1.0] },
    Level { halo: [19, 17, 18], transfer: [16, 16, 16], computing: [1.0, 8.0, 4.0, 1.0, 1.0] },
];
/// Microseconds of the rest of an iteration: before the second allreduce, before and after the last halo.
const OUTER: [f64; 3] = [33.0, 74.0, 284.0];
/// How many times fewer points the next level has, from the live run's 512,000 to about 9 in eight steps.
const COARSENING: f64 = 3.9;
/// Ranks of the live run.
const LIVE: f64 = 8.0;
/// Messages to each neighbour before time is taken: shared memory has a fastbox for a peer after four.
const HELLOS: usize = 5;

/// What a rank does next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Action {
    /// Microseconds of computing.
    Compute(f64),
    Exchange {
        messages: Messages,
        stride: u32,
    },
    Reduce,
    /// A tree of messages up to a rank and down again, by which ranks number their points, and learn that none asks more.
    Agree,
}

/// The parts of a run.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// What makes every connection of an iteration, with an eighth of its messages; it ends as an iteration does.
    WarmUp,
    Iteration,
    /// It comes last here, so that an iteration is the same with and without it.
    SetUp,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Phase; 3] = [Phase::WarmUp, Phase::Iteration, Phase::SetUp];
}

/// The actions of each phase; the same on all ranks that take part in a level.
pub struct AmgPlan {
    pub(super) grid: Grid,
    phases: [Vec<Action>; Phase::ALL.len()],
    /// Nanoseconds that a microsecond of the live run takes.
    pub(super) pace: f64,
    pub(super) jitter: Jitter,
}

impl AmgPlan {
    /// An iteration on `ranks` ranks, which compute for `compute` nanoseconds in it on average, each longer or shorter by its
    /// own draw for the whole iteration; and the set-up phase, if that is wanted.
    pub fn new(ranks: u32, compute: f64, jitter: Jitter, sets_up: bool) -> AmgPlan {
        let strides = strides(ranks);
        let iteration = iteration(&strides);
        let live =
            iteration.iter().map(|action| if let Action::Compute(time) = action { *time } else { 0.0 });
        let pace = compute / live.sum::<f64>().max(1.0);
        let set_up = if sets_up { set_up::actions(&strides) } else { vec![] };
        AmgPlan { grid: Grid::new(ranks), phases: [warm_up(&strides), iteration, set_up], pace, jitter }
    }

    pub(super) fn actions(&self, phase: Phase) -> &[Action] {
        &self.phases[phase as usize]
    }

    /// Bytes of the longest message.
    pub(super) fn longest(&self) -> usize {
        let longest = |action: &Action| match action {
            Action::Exchange { messages, .. } => messages.iter().copied().max().unwrap_or(0),
            _ => 0,
        };
        self.phases.iter().flatten().map(longest).max().unwrap_or(0)
    }
}

/// An iteration of PCG with its V-cycle.
fn iteration(strides: &[(usize, u32)]) -> Vec<Action> {
    let mut actions = Vec::new();
    for &(level, stride) in strides {
        let Level { halo, transfer, computing: [first, second, restricted, ..] } = LEVELS[level];
        let halo = Action::Exchange { messages: halo, stride };
        actions.extend([halo, Action::Compute(first), halo, Action::Compute(second)]);
        actions.extend([Action::Exchange { messages: transfer, stride }, Action::Compute(restricted)]);
    }
    for &(level, stride) in strides.iter().rev() {
        let Level { halo, transfer, computing: [.., interpolated, last] } = LEVELS[level];
        actions.extend([Action::Exchange { messages: transfer, stride }, Action::Compute(interpolated)]);
        actions.extend([Action::Exchange { messages: halo, stride }, Action::Compute(last)]);
    }
    let matrix = Action::Exchange { messages: LEVELS[0].halo, stride: 1 };
    let [second, before, after] = OUTER.map(Action::Compute);
    actions.extend([Action::Reduce, second, Action::Reduce, before, matrix, after, Action::Reduce]);
    actions
}

/// The longest messages once, then the shortest level of each distance, which has messages of all kinds, and as many
/// reductions.
fn warm_up(strides: &[(usize, u32)]) -> Vec<Action> {
    let mut actions = vec![Action::Exchange { messages: LEVELS[0].halo, stride: 1 }];
    for (at, &(level, stride)) in strides.iter().enumerate() {
        if strides.get(at + 1).is_none_or(|next| next.1 != stride) {
            actions.extend([Action::Exchange { messages: LEVELS[level].halo, stride }; HELLOS]);
        }
    }
    actions.extend([Action::Reduce; HELLOS]);
    actions
}

/// Levels with the distance of the ranks that have points of them: those of the live run, then as many more as bring the
/// points of this job down to the live run's.
fn strides(ranks: u32) -> Vec<(usize, u32)> {
    let more = ((f64::from(ranks) / LIVE).ln() / COARSENING.ln()).ceil().max(0.0) as u32;
    let coarser = (1..=more).map(|level| {
        let apart = COARSENING.powf(f64::from(level) / 3.0).log2().floor() as u32;
        (LEVELS.len() - 1, 1 << apart)
    });
    (0..LEVELS.len()).map(|level| (level, 1)).chain(coarser).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_jobs_have_more_levels_on_fewer_ranks() {
        assert_eq!(strides(8).len(), LEVELS.len());
        let many = strides(32_768);
        assert!(many.len() > 12 && many.last().is_some_and(|&(_, stride)| stride >= 8), "{many:?}");
    }

    #[test]
    fn an_iteration_computes_for_as_long_as_it_is_asked_to() {
        for ranks in [8, 1000] {
            let plan = AmgPlan::new(ranks, 1e6, Jitter::NONE, false);
            let actions = plan.actions(Phase::Iteration);
            let computes =
                |action: &Action| if let Action::Compute(time) = action { time * plan.pace } else { 0.0 };
            assert!((actions.iter().map(computes).sum::<f64>() - 1e6).abs() < 1.0);
            assert_eq!(actions.iter().filter(|action| **action == Action::Reduce).count(), 3);
            assert!(plan.actions(Phase::SetUp).is_empty());
        }
    }

    /// The live run's: 59 on its seven levels.
    #[test]
    fn a_set_up_reduces_as_often_as_the_live_one() {
        let plan = AmgPlan::new(8, 1e6, Jitter::NONE, true);
        let reductions =
            plan.actions(Phase::SetUp).iter().filter(|action| **action == Action::Reduce).count();
        assert_eq!(reductions, 59);
    }
}
