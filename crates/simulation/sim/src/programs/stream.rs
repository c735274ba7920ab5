//! Windows of messages from the ranks of one node to those of another.

use super::{Pairs, Start, Timed};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use abi::Result;
use mem::UserMem;
use pml::ReqId;

/// One side of a stream: a rank of the first node sends a window of messages, its partner answers when it has all of them.
#[derive(Clone, Debug)]
pub struct Stream {
    pairs: Pairs,
    bytes: usize,
    window: u32,
    warm_up: u32,
    windows: u32,
    done: u32,
    open: Vec<ReqId>,
    state: State,
    start: Start,
    time: Timed,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Begin,
    Window,
    Answer,
}

impl Stream {
    /// A side of `windows` windows of `window` messages of `bytes`.
    pub fn new(pairs: Pairs, bytes: usize, window: u32, windows: u32) -> Stream {
        // Windows before time is taken.
        let warm_up = if pairs.0 > 1 { 2 } else { 1 };
        let windows = windows + warm_up;
        let (open, state) = (Vec::new(), State::Begin);
        Stream {
            pairs,
            bytes,
            window,
            warm_up,
            windows,
            done: 0,
            open,
            state,
            start: Start::default(),
            time: Timed::default(),
        }
    }

    /// Bytes per nanosecond; meaningful on the first node.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * f64::from(self.window) / self.time.each(self.windows - self.warm_up)
    }

    /// When the timed windows began and ended; meaningful on the first node.
    pub fn time(&self) -> Timed {
        self.time
    }

    fn begin(&mut self, end: &mut Endpoint) -> Result<()> {
        let memory = end.memory().part(0, self.bytes);
        let (partner, is_first) = (self.pairs.partner(end.rank()), self.pairs.is_first(end.rank()));
        for _ in 0..self.window {
            let request = match is_first {
                true => end.isend(partner, 0, memory)?,
                false => Some(end.irecv(partner, 0, memory)?),
            };
            self.open.extend(request);
        }
        Ok(())
    }

    fn is_over(&mut self, end: &mut Endpoint) -> bool {
        self.open.retain(|&id| !end.take(id));
        self.open.is_empty()
    }
}

impl Program for Stream {
    fn memory(&self) -> usize {
        self.bytes.max(1)
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        loop {
            match self.state {
                State::Begin => {
                    let is_first = self.pairs.is_first(end.rank());
                    if is_first && self.done + 1 == self.warm_up && self.start.pauses(self.pairs, end) {
                        return Ok(Step::Computing);
                    }
                    if self.done == self.warm_up {
                        self.time.begun = end.now();
                    }
                    if self.done == self.windows {
                        self.time.ended = end.now();
                        return Ok(Step::Done);
                    }
                    self.begin(end)?;
                    self.state = State::Window;
                }
                State::Window => {
                    if !self.is_over(end) {
                        return Ok(Step::Waiting);
                    }
                    let partner = self.pairs.partner(end.rank());
                    let request = match self.pairs.is_first(end.rank()) {
                        true => Some(end.irecv(partner, 1, UserMem::EMPTY)?),
                        false => end.isend(partner, 1, UserMem::EMPTY)?,
                    };
                    self.open.extend(request);
                    self.state = State::Answer;
                }
                State::Answer => {
                    if !self.is_over(end) {
                        return Ok(Step::Waiting);
                    }
                    self.done += 1;
                    self.state = State::Begin;
                }
            }
        }
    }
}
