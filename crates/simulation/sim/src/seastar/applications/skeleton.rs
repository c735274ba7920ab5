//! One rank of an application.

use super::plans::{JobPlan, Partners, Phase, STEPS};
use crate::endpoint::CONTEXT;
use crate::port::{Group, Places, RankPort};
use crate::seastar::cluster::{Program, Step};
use crate::seastar::rank::Rank;
use abi::Result;
use coll::{Execution, Layout, Shape};
use pml::ReqId;
use portals_timed::Picos;
use std::sync::Arc;

/// Bytes of an element of a reduction.
const WORD: usize = 8;

pub(super) struct Skeleton {
    plan: Arc<JobPlan>,
    me: u32,
    step: u32,
    /// The phase, and how far it has come.
    phase: usize,
    began: bool,
    /// Partners of a shift that are done with.
    shifted: usize,
    open: Vec<ReqId>,
    execution: Execution<ReqId>,
    entered: Picos,
    sections: [f64; 2],
}

impl Skeleton {
    pub(super) fn new(plan: Arc<JobPlan>, me: u32) -> Skeleton {
        let mut skeleton = Skeleton {
            plan,
            me,
            step: 0,
            phase: 0,
            began: false,
            shifted: 0,
            open: Vec::new(),
            execution: Execution::new(),
            entered: 0,
            sections: [0.0; 2],
        };
        // Binding finds how much scratch memory is needed. What it reports, it reports again with the first call.
        let _ = skeleton.start();
        skeleton
    }

    /// Picoseconds of each section in all timed steps.
    pub(super) fn sections(&self) -> [f64; 2] {
        self.sections
    }

    fn start(&mut self) -> Result<()> {
        let layout = Layout::contiguous(self.plan.words, WORD as u64);
        let shape = Shape { send: layout, recv: layout, packed: 0 };
        let schedule = &self.plan.schedules[self.me as usize];
        self.execution.start(schedule, &shape, std::iter::empty(), 0, false)
    }

    /// The ranks that this one sends to, each with the one that it receives from at the same time.
    fn partners(&self, partners: Partners) -> Vec<(u32, u32)> {
        match partners {
            Partners::All => (1..self.plan.ranks)
                .map(|away| {
                    ((self.me + away) % self.plan.ranks, (self.me + self.plan.ranks - away) % self.plan.ranks)
                })
                .collect(),
            Partners::Grid(size) => {
                let place = [self.me % size[0], self.me / size[0] % size[1], self.me / size[0] / size[1]];
                let at = |dim: usize, by: u32| {
                    let mut other = place;
                    other[dim] = (place[dim] + by) % size[dim];
                    other[0] + size[0] * (other[1] + size[1] * other[2])
                };
                let both = |dim: usize| {
                    let (up, down) = (at(dim, 1), at(dim, size[dim] - 1));
                    [(up, down), (down, up)]
                };
                // A rank that is its own neighbour copies.
                (0..3).filter(|&dim| size[dim] > 1).flat_map(both).collect()
            }
        }
    }

    /// Which computing time this rank draws in this phase.
    fn share(&self) -> f64 {
        let seed = u64::from(self.me) << 32 | u64::from(self.step) << 16 | self.phase as u64;
        let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exchange(
        &mut self,
        rank: &mut Rank,
        partners: &[(u32, u32)],
        bytes: usize,
        first: usize,
    ) -> Result<()> {
        let buffer = self.plan.buffer.part(0, bytes);
        for (tag, &(_, from)) in partners.iter().enumerate() {
            self.open.push(rank.irecv(from, (first + tag) as i32, buffer)?);
        }
        for (tag, &(to, _)) in partners.iter().enumerate() {
            self.open.extend(rank.isend(to, (first + tag) as i32, buffer)?);
        }
        Ok(())
    }

    /// Takes what is complete; what to answer if that is not all.
    fn wait(&mut self, rank: &mut Rank) -> Result<Option<Step>> {
        let mut lost = Ok(());
        self.open.retain(|&id| match rank.take(id) {
            Ok(complete) => !complete,
            Err(error) => {
                lost = Err(error);
                false
            }
        });
        lost.map(|()| (!self.open.is_empty()).then_some(Step::Waiting))
    }

    /// Goes on with the phase; what to answer if it is not over.
    fn advance(&mut self, rank: &mut Rank) -> Result<Option<Step>> {
        let plan = Arc::clone(&self.plan);
        match plan.phases[self.phase].0 {
            Phase::Compute(nanoseconds, imbalance) => {
                if !std::mem::replace(&mut self.began, true) {
                    let longer = 1.0 + imbalance * plan.imbalance * self.share();
                    return Ok(Some(Step::Computing(nanoseconds * longer)));
                }
            }
            Phase::Exchange(partners, bytes) => {
                if !std::mem::replace(&mut self.began, true) {
                    let partners = self.partners(partners);
                    self.exchange(rank, &partners, bytes, 0)?;
                }
                return self.wait(rank);
            }
            Phase::Post(partners, bytes) => {
                let partners = self.partners(partners);
                self.exchange(rank, &partners, bytes, 0)?;
            }
            Phase::Wait => return self.wait(rank),
            Phase::Shift(partners, bytes) => {
                let partners = self.partners(partners);
                loop {
                    if let Some(answer) = self.wait(rank)? {
                        return Ok(Some(answer));
                    }
                    let Some(&next) = partners.get(self.shifted) else { break };
                    self.exchange(rank, &[next], bytes, self.shifted)?;
                    self.shifted += 1;
                }
            }
            Phase::Allreduce => {
                if !std::mem::replace(&mut self.began, true) {
                    self.start()?;
                }
                let bytes = plan.words as usize * WORD;
                let memory = rank.memory();
                let places = Places {
                    send: memory.part(0, bytes),
                    recv: memory.part(bytes, bytes),
                    arena: memory.part(2 * bytes, self.execution.arena_bytes()),
                    element: WORD,
                };
                let group = Group::Shifted(0);
                let mut port = RankPort { rank, places, context: CONTEXT, tag: 100, group };
                if !port.advance(&mut self.execution)? {
                    return Ok(Some(Step::Waiting));
                }
            }
        }
        Ok(None)
    }
}

impl Program for Skeleton {
    fn memory(&self) -> usize {
        2 * self.plan.words as usize * WORD + self.execution.arena_bytes()
    }

    fn step(&mut self, rank: &mut Rank) -> Result<Step> {
        loop {
            if self.entered == 0 {
                self.entered = rank.now().max(1);
            }
            if let Some(answer) = self.advance(rank)? {
                return Ok(answer);
            }
            if self.step > 0 {
                let section = self.plan.phases[self.phase].1;
                self.sections[section] += (rank.now() - self.entered) as f64;
            }
            self.entered = rank.now();
            (self.began, self.shifted) = (false, 0);
            self.phase += 1;
            if self.phase == self.plan.phases.len() {
                self.phase = 0;
                self.step += 1;
                if self.step > STEPS {
                    return Ok(Step::Done);
                }
            }
        }
    }
}
