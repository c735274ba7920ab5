//! Windows of messages from rank 0 to rank 1.

use super::Timed;
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use abi::Result;
use mem::UserMem;
use pml::ReqId;

/// Windows before time is taken.
const WARM_UP: u32 = 1;

/// One side of a stream: rank 0 sends a window of messages, rank 1 answers when it has all of them.
#[derive(Clone, Debug)]
pub struct Stream {
    bytes: usize,
    window: u32,
    windows: u32,
    done: u32,
    open: Vec<ReqId>,
    state: State,
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
    pub fn new(bytes: usize, window: u32, windows: u32) -> Stream {
        let windows = windows + WARM_UP;
        let (open, state) = (Vec::new(), State::Begin);
        Stream { bytes, window, windows, done: 0, open, state, time: Timed::default() }
    }

    /// Bytes per nanosecond; meaningful on rank 0.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * f64::from(self.window) / self.time.each(self.windows - WARM_UP)
    }

    fn begin(&mut self, end: &mut Endpoint) -> Result<()> {
        let memory = end.memory().part(0, self.bytes);
        for _ in 0..self.window {
            let request = match end.rank() {
                0 => end.isend(1, 0, memory)?,
                _ => Some(end.irecv(0, 0, memory)?),
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
                    if self.done == WARM_UP {
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
                    let request = match end.rank() {
                        0 => Some(end.irecv(1, 1, UserMem::EMPTY)?),
                        _ => end.isend(0, 1, UserMem::EMPTY)?,
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
