//! A message to and fro between ranks 0 and 1.

use super::{Timed, is_painted, paint};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use abi::Result;
use mem::UserMem;
use pml::ReqId;

/// Round trips that make connections and fill pools before time is taken.
const WARM_UP: u32 = 3;
/// Of the message's pattern.
const SEED: u32 = 7;

/// One side of a ping-pong.
#[derive(Clone, Debug)]
pub struct PingPong {
    bytes: usize,
    /// Bytes from a page's start to the receive buffer's.
    offset: usize,
    rounds: u32,
    done: u32,
    state: State,
    time: Timed,
    painted: bool,
    intact: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Begin,
    Sending(ReqId),
    ToReceive,
    Receiving(ReqId),
}

impl PingPong {
    /// A side with messages of `bytes`, received in a buffer `offset` bytes off a page's start.
    pub fn new(bytes: usize, offset: usize, rounds: u32) -> PingPong {
        PingPong {
            bytes,
            offset,
            rounds: rounds + WARM_UP,
            done: 0,
            state: State::Begin,
            time: Timed::default(),
            painted: false,
            intact: true,
        }
    }

    /// Nanoseconds from a send to its receive, half a round trip; meaningful on rank 0.
    pub fn latency(&self) -> f64 {
        self.time.each(self.rounds - WARM_UP) / 2.0
    }

    /// Whether what came back is what was sent.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    /// Distance of the two buffers.
    fn stride(&self) -> usize {
        (self.bytes + self.offset).next_multiple_of(4096)
    }

    fn leaving(&self, end: &Endpoint) -> UserMem {
        end.memory().part(0, self.bytes)
    }

    fn landing(&self, end: &Endpoint) -> UserMem {
        end.memory().part(self.stride() + self.offset, self.bytes)
    }
}

impl Program for PingPong {
    fn memory(&self) -> usize {
        2 * self.stride()
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        let peer = 1 - end.rank();
        loop {
            match self.state {
                State::Begin if self.done == 0 && !self.painted => {
                    paint(self.leaving(end), SEED);
                    self.painted = true;
                }
                State::Begin if end.rank() == 1 => self.state = State::ToReceive,
                State::Begin => {
                    if self.done == WARM_UP {
                        self.time.begun = end.now();
                    }
                    if self.done == self.rounds {
                        self.time.ended = end.now();
                        self.intact = is_painted(self.landing(end), SEED);
                        return Ok(Step::Done);
                    }
                    self.state =
                        end.isend(peer, 0, self.leaving(end))?.map_or(State::ToReceive, State::Sending);
                }
                State::Sending(id) if !end.take(id) => return Ok(Step::Waiting),
                State::Sending(_) => self.state = State::ToReceive,
                State::ToReceive if end.rank() == 1 && self.done == self.rounds => return Ok(Step::Done),
                State::ToReceive => self.state = State::Receiving(end.irecv(peer, 0, self.landing(end))?),
                State::Receiving(id) if !end.take(id) => return Ok(Step::Waiting),
                State::Receiving(_) => {
                    self.done += 1;
                    self.state = match end.rank() {
                        0 => State::Begin,
                        _ => end.isend(peer, 0, self.leaving(end))?.map_or(State::ToReceive, State::Sending),
                    };
                }
            }
        }
    }
}
