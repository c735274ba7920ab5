//! AMG2006's calls of MPI on a 3-D 7-point Laplace problem: a skeleton without matrices.
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
//! run's coarsest are on fewer and fewer ranks, as many fewer as the live levels become smaller; each of these sends
//! to those next to it. The direct solution of the coarsest level is left out. The set-up phase (`set_up`) is there where a whole
//! run is asked for.

mod plan;
mod set_up;

use plan::{Action, Messages};
pub use plan::{AmgPlan, Phase};

use crate::cluster::{Program, Step};
use crate::endpoint::{CONTEXT, Endpoint};
use crate::port::{Group, Places, RankPort};
use abi::Result;
use coll::{Execution, Layout, Schedule, Shape};
use gni::Time;
use pml::ReqId;
use std::sync::Arc;

/// The schedule of a rank in an allreduce, and what is to be added to the ranks that it names.
pub(crate) type Part = (Arc<Schedule>, u32);

/// A collective that is called again and again.
struct Collective {
    part: Part,
    execution: Execution<ReqId>,
}

/// One rank of AMG.
pub struct Amg {
    plan: Arc<AmgPlan>,
    reduce: Collective,
    /// Where there is a set-up phase.
    agree: Option<Collective>,
    rank: u32,
    place: [u32; 3],
    /// Of [`Phase::ALL`].
    phase: usize,
    at: usize,
    begun: Option<Time>,
    open: Vec<ReqId>,
    calls: i32,
    /// When each phase ended.
    marks: [Time; Phase::ALL.len()],
    within: [Within; Phase::ALL.len()],
}

/// Nanoseconds in `MPI_Allreduce`, in `MPI_Waitall`, and in what ranks agree by.
pub type Within = [u64; 3];

const WORD: usize = 8;
/// Tags of an exchange.
const TAGS: i32 = 32;

impl Collective {
    fn new(part: Part) -> Collective {
        let mut collective = Collective { part, execution: Execution::new() };
        // Binding finds how much scratch memory is needed. What it reports, it reports again with the first call.
        let _ = collective.start(0);
        collective
    }

    fn start(&mut self, epoch: u64) -> Result<()> {
        let layout = Layout::contiguous(1, WORD as u64);
        let shape = Shape { send: layout, recv: layout, packed: 0 };
        self.execution.start(&self.part.0, &shape, std::iter::empty(), epoch, false)
    }

    /// Begins or goes on with a call; `None`: it is over.
    fn go_on(&mut self, end: &mut Endpoint, is_new: bool, call: i32) -> Result<Option<Step>> {
        if is_new {
            let epoch = end.take_epochs(self.part.0.rounds());
            self.start(epoch)?;
        }
        let memory = end.memory();
        let arena = memory.part(2 * WORD, self.execution.arena_bytes());
        let places =
            Places { send: memory.part(0, WORD), recv: memory.part(WORD, WORD), arena, element: WORD };
        let (tag, group) = (TAGS + call, Group::Shifted(self.part.1));
        let is_over =
            RankPort { rank: end, places, context: CONTEXT, tag, group }.advance(&mut self.execution)?;
        Ok((!is_over).then_some(Step::Waiting))
    }
}

impl Amg {
    /// The part of `rank`, with the allreduce of this schedule; `agree`: that of the tree by which ranks agree, where `plan` has a
    /// set-up phase.
    pub(crate) fn new(plan: &Arc<AmgPlan>, reduce: Part, agree: Option<Part>, rank: u32) -> Amg {
        Amg {
            plan: Arc::clone(plan),
            reduce: Collective::new(reduce),
            agree: agree.map(Collective::new),
            rank,
            place: plan.grid.place(rank),
            phase: 0,
            at: 0,
            begun: None,
            open: Vec::new(),
            calls: 0,
            marks: [Time::START; Phase::ALL.len()],
            within: [[0; 3]; Phase::ALL.len()],
        }
    }

    /// When a phase began, which is when the one before it ended, and when it ended.
    pub fn span(&self, phase: Phase) -> [Time; 2] {
        let begun = (phase as usize).checked_sub(1).map_or(Time::START, |before| self.marks[before]);
        [begun, self.marks[phase as usize]]
    }

    /// What a phase spent in MPI.
    pub fn within(&self, phase: Phase) -> Within {
        self.within[phase as usize]
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
                end.compute(self.plan.jitter.drawn(time * self.plan.pace, self.rank, self.phase as u32));
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
            Action::Reduce | Action::Agree => {
                self.calls += i32::from(is_new);
                if is_new {
                    end.enter(
                        || if action == Action::Agree { "MPI_Scan, MPI_Bcast" } else { "MPI_Allreduce" },
                    );
                }
                let collective = match &mut self.agree {
                    Some(agree) if action == Action::Agree => agree,
                    _ => &mut self.reduce,
                };
                collective.go_on(end, is_new, self.calls)
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
        let arena = |collective: &Collective| collective.execution.arena_bytes();
        let arenas = arena(&self.reduce).max(self.agree.as_ref().map_or(0, arena));
        self.plan.longest().max(2 * WORD + arenas)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn share(&self) -> f64 {
        let lengths = Phase::ALL.map(|phase| self.plan.actions(phase).len());
        let done = lengths[..self.phase].iter().sum::<usize>() + self.at;
        done as f64 / lengths.iter().sum::<usize>() as f64
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        while let Some(&phase) = Phase::ALL.get(self.phase) {
            let Some(&action) = self.plan.actions(phase).get(self.at) else {
                self.marks[self.phase] = end.now();
                (self.phase, self.at) = (self.phase + 1, 0);
                continue;
            };
            if let Some(step) = self.go_on(end, action)? {
                return Ok(step);
            }
            end.leave();
            let began = self.begun.take().unwrap_or(end.now());
            let function = match action {
                Action::Reduce => Some(0),
                Action::Exchange { .. } => Some(1),
                Action::Agree => Some(2),
                Action::Compute(_) => None,
            };
            if let Some(function) = function {
                self.within[self.phase][function] += (end.now() - began).0;
            }
            self.at += 1;
        }
        Ok(Step::Done)
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
}
