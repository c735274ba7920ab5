//! A message to and fro between partners.

use super::{Pairs, Start, Timed, is_painted, paint};
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
    pairs: Pairs,
    bytes: usize,
    /// Bytes from a page's start to the receive buffer's.
    offset: usize,
    rounds: u32,
    done: u32,
    state: State,
    time: Timed,
    painted: bool,
    start: Start,
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
    pub fn new(pairs: Pairs, bytes: usize, offset: usize, rounds: u32) -> PingPong {
        PingPong {
            pairs,
            bytes,
            offset,
            rounds: rounds + WARM_UP,
            done: 0,
            state: State::Begin,
            time: Timed::default(),
            painted: false,
            start: Start::default(),
            intact: true,
        }
    }

    /// Nanoseconds from a send to its receive, half a round trip; meaningful on the first node.
    pub fn latency(&self) -> f64 {
        self.time.each(self.rounds - WARM_UP) / 2.0
    }

    /// When the timed round trips began and ended; meaningful on the first node.
    pub fn time(&self) -> Timed {
        self.time
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
        let (peer, is_first) = (self.pairs.partner(end.rank()), self.pairs.is_first(end.rank()));
        loop {
            match self.state {
                State::Begin if self.done == 0 && !self.painted => {
                    paint(self.leaving(end), SEED);
                    self.painted = true;
                }
                State::Begin if !is_first => self.state = State::ToReceive,
                State::Begin => {
                    if self.done + 1 == WARM_UP && self.start.pauses(self.pairs, end) {
                        return Ok(Step::Computing);
                    }
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
                State::ToReceive if !is_first && self.done == self.rounds => return Ok(Step::Done),
                State::ToReceive => self.state = State::Receiving(end.irecv(peer, 0, self.landing(end))?),
                State::Receiving(id) if !end.take(id) => return Ok(Step::Waiting),
                State::Receiving(_) => {
                    self.done += 1;
                    self.state = match is_first {
                        true => State::Begin,
                        false => {
                            end.isend(peer, 0, self.leaving(end))?.map_or(State::ToReceive, State::Sending)
                        }
                    };
                }
            }
        }
    }
}
