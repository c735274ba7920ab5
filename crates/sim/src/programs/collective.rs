//! An allreduce of 64-bit sums by one of the library's schedules, or a barrier, broadcast or reduction.

use super::Timed;
use crate::cluster::{Program, Speaks, Step};
use crate::endpoint::{CONTEXT, Endpoint};
use crate::port::{Group, Places, RankPort};
use abi::Result;
use coll::{Coll, Execution, Layout, Schedule, Shape, State};
use mem::PeerBytes;
use pml::ReqId;
use std::ops::Range;
use std::sync::Arc;

/// Calls before time is taken.
const WARM_UP: u32 = 1;
const WORD: usize = 8;

/// One rank of repeated allreduces of `words` 64-bit integers.
pub struct Allreduce {
    coll: Coll,
    schedule: Arc<Schedule>,
    /// What is added to the ranks that the schedule names.
    shift: u32,
    shape: Shape,
    words: u64,
    execution: Execution<ReqId>,
    warm_up: u32,
    calls: u32,
    done: u32,
    running: bool,
    time: Timed,
    intact: bool,
    ranks: u32,
    speaks: Speaks,
}

impl Allreduce {
    /// The part of the rank whose schedule this is once `shift` is added to the ranks it names, in a group of `ranks`;
    /// the rank's node has those of `node`. The schedules are those of `coll`, with root 0 where it has one.
    pub fn new(
        coll: Coll,
        (schedule, shift): (Arc<Schedule>, u32),
        (ranks, node): (u32, Range<u32>),
        words: u64,
        calls: u32,
    ) -> Allreduce {
        let layout = Layout::contiguous(words, WORD as u64);
        let mut speaks = Speaks { meets: schedule.rounds() > 0, ..Speaks::default() };
        for step in schedule.steps() {
            if let coll::schedule::Step::Send { peer, .. } | coll::schedule::Step::Recv { peer, .. } = step {
                let within = node.contains(&(peer.index() + shift));
                speaks.within |= within;
                speaks.between |= !within;
            }
        }
        let warm_up = if is_rooted(coll) { 0 } else { WARM_UP };
        let mut allreduce = Allreduce {
            coll,
            speaks,
            schedule,
            shift,
            shape: Shape { send: layout, recv: layout, packed: 0 },
            words,
            execution: Execution::new(),
            warm_up,
            calls: calls + warm_up,
            done: 0,
            running: false,
            time: Timed::default(),
            intact: true,
            ranks,
        };
        // Binding tells how much scratch memory is needed. What it reports, it reports again with the first call.
        let _ = allreduce.start(0);
        allreduce
    }

    /// When the timed calls began and ended on this rank.
    pub fn time(&self) -> Timed {
        self.time
    }

    /// Whether every sum was right.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    fn start(&mut self, epoch: u64) -> Result<()> {
        self.execution.start(&self.schedule, &self.shape, std::iter::empty(), epoch, false)
    }

    fn places(&self, end: &Endpoint) -> Places {
        let bytes = self.words as usize * WORD;
        let memory = end.memory();
        Places {
            send: memory.part(0, bytes),
            recv: memory.part(bytes, bytes),
            arena: memory.part(2 * bytes, self.execution.arena_bytes()),
            element: WORD,
        }
    }

    /// Rank r contributes r + call to every element.
    fn prepare(&self, end: &Endpoint) {
        let mine = u64::from(end.rank()) + u64::from(self.done);
        let words = vec![mine; self.words as usize];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let Places { send, recv, .. } = self.places(end);
        match self.coll {
            Coll::Bcast if end.rank() == 0 => recv.write(PeerBytes::of(&bytes)),
            Coll::Bcast => recv.write(PeerBytes::of(&vec![0xFF; bytes.len()])),
            _ => send.write(PeerBytes::of(&bytes)),
        };
    }

    fn is_right(&self, end: &Endpoint) -> bool {
        let ranks = u64::from(self.ranks);
        let sum = match self.coll {
            Coll::Bcast => u64::from(self.done),
            Coll::Barrier => return true,
            Coll::Reduce if end.rank() > 0 => return true,
            _ => ranks * (ranks - 1) / 2 + ranks * u64::from(self.done),
        };
        let recv = self.places(end).recv;
        let recv = recv.as_bytes();
        (0..self.words as usize).all(|index| recv.word(index) == sum)
    }
}

impl Program for Allreduce {
    fn speaks(&self) -> Speaks {
        self.speaks
    }

    fn memory(&self) -> usize {
        2 * self.words as usize * WORD + self.execution.arena_bytes()
    }

    fn share(&self) -> f64 {
        f64::from(self.done) / f64::from(self.calls)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            if !self.running {
                if self.done == self.warm_up {
                    self.time.begun = end.now();
                }
                if self.done == self.calls {
                    self.time.ended = end.now();
                    return Ok(Step::Done);
                }
                let epoch = end.take_epochs(self.schedule.rounds());
                self.start(epoch)?;
                self.prepare(end);
                self.running = true;
            }
            let places = self.places(end);
            let mut port = RankPort {
                end,
                places,
                context: CONTEXT,
                tag: self.done as i32,
                group: Group::Shifted(self.shift),
            };
            match self.execution.advance(&mut port) {
                State::Done => {
                    self.intact &= self.is_right(end);
                    self.running = false;
                    self.done += 1;
                }
                State::Failed(error) => return Err(error),
                State::Pending | State::UserReduce { .. } => return Ok(Step::Waiting),
            }
        }
    }
}

/// Whether the collective has a root. There is one call of such a one, since ranks would begin a second one while others
/// are in the first.
pub(crate) fn is_rooted(coll: Coll) -> bool {
    matches!(coll, Coll::Bcast | Coll::Reduce)
}

/// Nanoseconds of one of `calls` calls: from when the last rank has begun the first of them to when the last rank has
/// ended the last.
pub(crate) fn span(times: impl Iterator<Item = Timed>, calls: u32) -> f64 {
    let later = |span: Timed, time: Timed| Timed {
        begun: span.begun.max(time.begun),
        ended: span.ended.max(time.ended),
    };
    times.fold(Timed::default(), later).each(calls)
}
