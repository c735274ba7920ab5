//! What the solve phase of AMG2006 tells MPI on a 3-D 7-point Laplace problem: a skeleton without matrices.
//!
//! ```text
//!   an iteration of PCG    V-cycle
//!                            level 0      halo, smooth, halo, smooth, restrict
//!                              level 1      the same …
//!                                …
//!                              level 1      interpolate, halo, smooth
//!                            level 0      interpolate, halo, smooth
//!                          allreduce, allreduce
//!                          halo of level 0, matrix times vector
//!                          allreduce
//! ```
//!
//! Messages and the proportions of computing are those of a live run, recorded by `mpiexec -record`: hypre's `ij`,
//! the successor of the benchmark's code, AMG-PCG on 2 × 2 × 2 ranks of 40 × 40 × 40 points. A rank there has a
//! neighbour of each kind (across a face, an edge, a corner) in one direction, here in both. Levels below the live
//! run's coarsest are on fewer and fewer ranks, as many fewer as the live levels become smaller; each of these speaks
//! to those next to it. The set-up phase and the direct solution of the coarsest level are left out.

use super::lammps::Grid;
use crate::cluster::{Program, Step};
use crate::endpoint::{CONTEXT, Endpoint};
use crate::jitter::Jitter;
use crate::port::{Group, Places, RankPort};
use abi::Result;
use coll::{Execution, Layout, Schedule, Shape, State};
use gni::Time;
use pml::ReqId;
use std::sync::Arc;

/// Bytes of a message across a face, an edge, a corner; 0: none.
type Messages = [usize; 3];

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
/// Tags of a halo and of a transfer.
const TAGS: i32 = 32;
/// Messages to each neighbour before time is taken: shared memory has a fastbox for a peer after four.
const HELLOS: usize = 5;
/// Iterations of which time is taken.
pub(crate) const TIMED: u32 = 1;

/// What a rank does next.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
    /// Microseconds.
    Compute(f64),
    Exchange {
        messages: Messages,
        stride: u32,
    },
    Reduce,
}

/// The actions of an iteration; the same on all ranks that take part in a level.
pub struct Plan {
    grid: Grid,
    /// What makes every connection of an iteration, with an eighth of its messages; it ends as an iteration does.
    warm_up: Vec<Action>,
    actions: Vec<Action>,
    /// Nanoseconds that a microsecond of the live run takes.
    pace: f64,
    jitter: Jitter,
}

impl Plan {
    /// An iteration on `ranks` ranks, which compute for `compute` nanoseconds in it on average, each longer or shorter by its
    /// own draw for the whole iteration.
    pub fn new(ranks: u32, compute: f64, jitter: Jitter) -> Plan {
        let strides = strides(ranks);
        let mut actions = Vec::new();
        for &(level, stride) in &strides {
            let Level { halo, transfer, computing: [first, second, restricted, ..] } = LEVELS[level];
            let halo = Action::Exchange { messages: halo, stride };
            let down = [halo, Action::Compute(first), halo, Action::Compute(second)];
            actions.extend(down);
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
        let live = actions.iter().map(|action| if let Action::Compute(time) = action { *time } else { 0.0 });
        let pace = compute / live.sum::<f64>().max(1.0);
        Plan { grid: Grid::new(ranks), warm_up: warm_up(&strides), actions, pace, jitter }
    }

    fn actions(&self, iteration: u32) -> &[Action] {
        if iteration == 0 { &self.warm_up } else { &self.actions }
    }
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

/// One rank of AMG.
pub struct Amg {
    plan: Arc<Plan>,
    schedule: (Arc<Schedule>, u32),
    execution: Execution<ReqId>,
    rank: u32,
    place: [u32; 3],
    iteration: u32,
    at: usize,
    begun: Option<Time>,
    open: Vec<ReqId>,
    reductions: i32,
    /// When the timed iterations began and ended.
    marks: [Time; 2],
    /// Nanoseconds of the timed iterations in `MPI_Allreduce` and in `MPI_Waitall`.
    within: [u64; 2],
}

const WORD: usize = 8;

impl Amg {
    /// The part of `rank`, with the allreduce of this schedule.
    pub fn new(plan: &Arc<Plan>, schedule: (Arc<Schedule>, u32), rank: u32) -> Amg {
        let mut amg = Amg {
            plan: Arc::clone(plan),
            schedule,
            execution: Execution::new(),
            rank,
            place: plan.grid.place(rank),
            iteration: 0,
            at: 0,
            begun: None,
            open: Vec::new(),
            reductions: 0,
            marks: [Time::START; 2],
            within: [0; 2],
        };
        // Binding tells how much scratch memory is needed. What it reports, it reports again with the first call.
        let _ = amg.start(0);
        amg
    }

    /// When the timed iterations began and ended.
    pub fn marks(&self) -> [Time; 2] {
        self.marks
    }

    /// Nanoseconds of the timed iterations in `MPI_Allreduce` and in `MPI_Waitall`.
    pub fn within(&self) -> [u64; 2] {
        self.within
    }

    fn start(&mut self, epoch: u64) -> Result<()> {
        let layout = Layout::contiguous(1, WORD as u64);
        let shape = Shape { send: layout, recv: layout, packed: 0 };
        self.execution.start(&self.schedule.0, &shape, std::iter::empty(), epoch, false)
    }

    fn takes_part(&self, stride: u32) -> bool {
        self.place.iter().all(|at| at.is_multiple_of(stride))
    }

    fn exchange(&mut self, end: &mut Endpoint, messages: Messages, stride: u32) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let mut tag = 0;
        for direction in DIRECTIONS {
            tag += 1;
            let kind = direction.iter().filter(|&&step| step != 0).count() - 1;
            let bytes = messages[kind];
            let Some(to) = plan.grid.neighbour(self.place, direction, stride).filter(|_| bytes > 0) else {
                continue;
            };
            // The neighbour sent its message in the opposite direction: the list is symmetric.
            let opposite = DIRECTIONS.len() as i32 + 1 - tag;
            let buffer = end.memory().part(0, bytes);
            self.open.push(end.irecv(to, opposite, buffer)?);
            self.open.extend(end.isend(to, tag, buffer)?);
        }
        Ok(())
    }

    /// Begins or goes on with the present action; `None`: it is over.
    fn go_on(&mut self, end: &mut Endpoint, action: Action) -> Result<Option<Step>> {
        let is_new = self.begun.is_none();
        self.begun.get_or_insert(end.now());
        match action {
            Action::Compute(time) if is_new => {
                end.compute(self.plan.jitter.drawn(time * self.plan.pace, self.rank, self.iteration));
                Ok(Some(Step::Computing))
            }
            Action::Compute(_) => Ok(None),
            Action::Exchange { stride, .. } if !self.takes_part(stride) => Ok(None),
            Action::Exchange { messages, stride } => {
                if is_new {
                    self.exchange(end, messages, stride)?;
                }
                self.open.retain(|&id| !end.take(id));
                Ok((!self.open.is_empty()).then_some(Step::Waiting))
            }
            Action::Reduce => {
                if is_new {
                    self.reductions += 1;
                    let epoch = end.take_epochs(self.schedule.0.rounds());
                    self.start(epoch)?;
                }
                let memory = end.memory();
                let arena = memory.part(2 * WORD, self.execution.arena_bytes());
                let places = Places {
                    send: memory.part(0, WORD),
                    recv: memory.part(WORD, WORD),
                    arena,
                    element: WORD,
                };
                let (tag, group) = (TAGS + self.reductions, Group::Shifted(self.schedule.1));
                match self.execution.advance(&mut RankPort { end, places, context: CONTEXT, tag, group }) {
                    State::Done => Ok(None),
                    State::Failed(error) => Err(error),
                    State::Pending | State::UserReduce { .. } => Ok(Some(Step::Waiting)),
                }
            }
        }
    }
}

/// The 26 directions, each as far from one end of the list as its opposite from the other.
const DIRECTIONS: [[i32; 3]; 26] = {
    let mut all = [[0; 3]; 26];
    let (mut at, mut number) = (0, 0);
    while number < 27 {
        if number != 13 {
            all[at] = [number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1];
            at += 1;
        }
        number += 1;
    }
    all
};

impl Program for Amg {
    fn memory(&self) -> usize {
        LEVELS[0].halo[0].max(2 * WORD + self.execution.arena_bytes())
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn share(&self) -> f64 {
        let actions = self.plan.actions.len() as f64 * f64::from(TIMED);
        let warm_up = self.plan.warm_up.len() as f64;
        let before = if self.iteration == 0 { 0.0 } else { warm_up };
        (before + self.at as f64) / (warm_up + actions)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            if self.at == 0 && self.begun.is_none() {
                if self.iteration == 1 {
                    self.marks[0] = end.now();
                }
                if self.iteration == 1 + TIMED {
                    self.marks[1] = end.now();
                    return Ok(Step::Done);
                }
            }
            let action = self.plan.actions(self.iteration)[self.at];
            if let Some(step) = self.go_on(end, action)? {
                return Ok(step);
            }
            let began = self.begun.take().unwrap_or(end.now());
            let took = (end.now() - began).0;
            if self.iteration > 0 {
                match action {
                    Action::Reduce => self.within[0] += took,
                    Action::Exchange { .. } => self.within[1] += took,
                    Action::Compute(_) => {}
                }
            }
            self.at += 1;
            if self.at == self.plan.actions(self.iteration).len() {
                self.at = 0;
                self.iteration += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_directions_pair() {
        for (at, direction) in DIRECTIONS.iter().enumerate() {
            assert_eq!(DIRECTIONS[DIRECTIONS.len() - 1 - at], direction.map(|step| -step));
        }
    }

    #[test]
    fn larger_jobs_have_more_levels_on_fewer_ranks() {
        assert_eq!(strides(8).len(), LEVELS.len());
        let many = strides(32_768);
        assert!(many.len() > 12 && many.last().is_some_and(|&(_, stride)| stride >= 8), "{many:?}");
    }

    #[test]
    fn an_iteration_computes_for_as_long_as_it_is_asked_to() {
        for ranks in [8, 1000] {
            let plan = Plan::new(ranks, 1e6, Jitter::NONE);
            let computes =
                |action: &Action| if let Action::Compute(time) = action { time * plan.pace } else { 0.0 };
            assert!((plan.actions.iter().map(computes).sum::<f64>() - 1e6).abs() < 1.0);
            assert_eq!(plan.actions.iter().filter(|action| **action == Action::Reduce).count(), 3);
        }
    }
}
