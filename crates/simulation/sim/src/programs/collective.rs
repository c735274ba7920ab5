//! An allreduce of 64-bit sums by one of the library's schedules, or another collective.

use super::{Timed, until_next_second};
use crate::cluster::{Program, Step};
use crate::endpoint::{CONTEXT, Endpoint};
use crate::port::{Group, Places, RankPort};
use crate::speaks::Speaks;
use abi::Result;
use coll::{Coll, Execution, Layout, Schedule, Shape};
use mem::PeerBytes;
use pml::ReqId;
use std::ops::Range;
use std::sync::Arc;

/// Calls before time is taken.
const WARM_UP: u32 = 1;
const WORD: usize = 8;

/// One rank of repeated allreduces of `words` 64-bit integers, or of another collective with blocks of so many.
pub struct Allreduce {
    coll: Coll,
    schedule: Arc<Schedule>,
    /// What is added to the ranks that the schedule names.
    shift: u32,
    shape: Shape,
    words: u64,
    execution: Execution<ReqId>,
    calls: u32,
    done: u32,
    running: bool,
    /// It has waited for the moment at which all ranks begin the call that is timed.
    paused: bool,
    time: Timed,
    intact: bool,
    ranks: u32,
    speaks: Speaks,
}

impl Allreduce {
    /// The part of the rank whose schedule this is once `shift` is added to the ranks it names, in a group of `ranks`;
    /// the rank's node has those of `node`. The schedules are those of `coll`, with root 0 where it has one. One call more
    /// comes first, which makes the connections.
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
        let mut allreduce = Allreduce {
            coll,
            speaks,
            schedule,
            shift,
            shape: Shape { send: layout, recv: layout, packed: layout.bytes() },
            words,
            execution: Execution::new(),
            calls: calls + WARM_UP,
            done: 0,
            running: false,
            paused: !is_rooted(coll),
            time: Timed::default(),
            intact: true,
            ranks,
        };
        // Binding finds how much scratch memory is needed. What it reports, it reports again with the first call.
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

    /// Bytes of the send and of the receive buffer.
    fn buffers(&self) -> (usize, usize) {
        let block = self.words as usize * WORD;
        let all = self.ranks as usize * block;
        match self.coll {
            Coll::Allgather => (block, all),
            Coll::Alltoall => (all, all),
            _ => (block, block),
        }
    }

    fn places(&self, end: &Endpoint) -> Places {
        let (send, recv) = self.buffers();
        let memory = end.memory();
        Places {
            send: memory.part(0, send),
            recv: memory.part(send, recv),
            arena: memory.part(send + recv, self.execution.arena_bytes()),
            element: WORD,
        }
    }

    /// Rank r contributes r + call to every element, to a block for rank s the same and s times 2^32.
    fn prepare(&self, end: &Endpoint) {
        let mine = u64::from(end.rank()) + u64::from(self.done);
        let block = |word: u64| -> Vec<u8> { (0..self.words).flat_map(|_| word.to_ne_bytes()).collect() };
        let Places { send, recv, .. } = self.places(end);
        match self.coll {
            Coll::Bcast if end.rank() == 0 => recv.write(PeerBytes::of(&block(mine))),
            Coll::Bcast => recv.write(PeerBytes::of(&block(u64::MAX))),
            Coll::Alltoall => {
                let to_all: Vec<u8> =
                    (0..u64::from(self.ranks)).flat_map(|to| block(mine + (to << 32))).collect();
                send.write(PeerBytes::of(&to_all))
            }
            _ => send.write(PeerBytes::of(&block(mine))),
        };
    }

    fn is_right(&self, end: &Endpoint) -> bool {
        let (ranks, done) = (u64::from(self.ranks), u64::from(self.done));
        let recv = self.places(end).recv;
        let recv = recv.as_bytes();
        let holds = |block: u64, word: u64| {
            (block * self.words..(block + 1) * self.words).all(|index| recv.word(index as usize) == word)
        };
        match self.coll {
            Coll::Barrier => true,
            Coll::Reduce if end.rank() > 0 => true,
            Coll::Bcast => holds(0, done),
            Coll::Allgather => (0..ranks).all(|from| holds(from, from + done)),
            Coll::Alltoall => (0..ranks).all(|from| holds(from, from + done + (u64::from(end.rank()) << 32))),
            _ => holds(0, ranks * (ranks - 1) / 2 + ranks * done),
        }
    }
}

impl Program for Allreduce {
    fn speaks(&self) -> Speaks {
        self.speaks
    }

    fn memory(&self) -> usize {
        let (send, recv) = self.buffers();
        send + recv + self.execution.arena_bytes()
    }

    fn share(&self) -> f64 {
        f64::from(self.done) / f64::from(self.calls)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            if !self.running {
                if self.done == WARM_UP {
                    if !std::mem::replace(&mut self.paused, true) {
                        end.compute(until_next_second(end.now()));
                        return Ok(Step::Computing);
                    }
                    self.time.begun = end.now();
                }
                if self.done == self.calls {
                    self.time.ended = end.now();
                    return Ok(Step::Done);
                }
                end.enter(|| self.coll.mpi_name());
                let epoch = end.take_epochs(self.schedule.rounds());
                self.start(epoch)?;
                self.prepare(end);
                self.running = true;
            }
            let places = self.places(end);
            let mut port = RankPort {
                rank: end,
                places,
                context: CONTEXT,
                tag: self.done as i32,
                group: Group::Shifted(self.shift),
            };
            if !port.advance(&mut self.execution)? {
                return Ok(Step::Waiting);
            }
            end.leave();
            self.intact &= self.is_right(end);
            self.running = false;
            self.done += 1;
        }
    }
}

/// Whether the collective has a root. One call of such a one is timed, which all ranks begin at the same moment, since they
/// would begin a second one while others are in the first.
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
