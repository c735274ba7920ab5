//! A rank's side of an exchange: what goes between it and one aggregator by messages, window by window.

use std::collections::VecDeque;
use std::ops::Range;

use abi::Result;
use io::{Course, Direction, Memory};
use mem::{PeerBytes, PeerSpace};
use pml::{Data, Done, Mode, ReqId};

use super::{Exchange, Transfer};
use messages::p2p::{start_recv, start_send};
use objects::memory::{of_vec_mut, resize};
use objects::state::State;

/// Windows of an aggregator for which a rank has messages under way. Flows to different aggregators do not wait for each
/// other: else two ranks could each wait for a message that the other holds back.
const AHEAD: usize = 2;

/// What goes between this rank and an aggregator.
pub(super) struct Flow {
    domain: u64,
    with: i32,
    course: Course,
    /// The aggregator can place what comes.
    open: bool,
    /// Nothing more is to be started.
    ended: bool,
    pieces: VecDeque<Piece>,
}

/// A message between this rank and an aggregator.
struct Piece {
    id: ReqId,
    /// Which bytes of this rank's data.
    at: Range<u64>,
    /// Where they are, if the program's memory is not one run.
    stage: Option<Vec<u8>>,
}

impl Flow {
    pub fn new(domain: u64, all: &Exchange, open: bool) -> Flow {
        let with = all.plan.process(domain) as i32;
        // An aggregator's own announcement is with it already.
        let course = Course::new(domain, &all.positions);
        Flow { domain, with, course, open, ended: false, pieces: VecDeque::new() }
    }

    pub fn domain(&self) -> u64 {
        self.domain
    }

    /// The aggregator knows the views of all.
    pub fn open(&mut self) {
        self.open = true;
    }

    pub fn is_over(&self) -> bool {
        self.ended && self.pieces.is_empty()
    }

    /// Takes what has come or gone, and starts what is next; whether there was any.
    pub fn advance(&mut self, all: &mut Exchange, state: &mut State, transfer: &mut Transfer) -> bool {
        let mut moved = false;
        for _ in 0..self.pieces.len() {
            let Some(piece) = self.pieces.pop_front() else { break };
            match state.p2p.take(piece.id) {
                None => self.pieces.push_back(piece),
                Some(done) => {
                    moved = true;
                    take_piece(all, transfer, &piece, &done);
                }
            }
        }
        while self.open && !self.ended && self.pieces.len() < AHEAD {
            moved = true;
            let Some((_, part)) = self.course.next(&all.plan, &all.view) else {
                self.ended = true;
                break;
            };
            let at = part.start - all.positions.start..part.end - all.positions.start;
            match start_piece(all, state, transfer, self.with, at) {
                Ok(piece) => self.pieces.extend(piece),
                Err(error) => all.fail(error),
            }
        }
        moved
    }
}

/// Starts the message of a window. Without memory for it nothing goes in its place, or it comes into nothing.
fn start_piece(
    all: &mut Exchange,
    state: &mut State,
    transfer: &mut Transfer,
    with: i32,
    at: Range<u64>,
) -> Result<Option<Piece>> {
    let len = (at.end - at.start) as usize;
    let mut stage = None;
    let memory = match transfer.buffer.contiguous() {
        Some(memory) => memory.part(at.start as usize, len),
        None => {
            let mut bytes = Vec::new();
            if let Err(error) = resize(&mut bytes, len) {
                all.fail(error);
            } else if all.direction == Direction::Write {
                transfer.buffer.pack(at.start, PeerSpace::of(&mut bytes));
            }
            of_vec_mut(stage.insert(bytes))
        }
    };
    let data = Data::Contiguous(memory);
    let id = match all.direction {
        // Over when it is received: what waits at the aggregator is bounded by what is under way.
        Direction::Write => start_send(state, Mode::Synchronous, data, with, all.tag, all.comm)?,
        Direction::Read => start_recv(state, data, with, all.tag, all.comm)?,
    };
    Ok(id.map(|id| Piece { id, at, stage }))
}

fn take_piece(all: &mut Exchange, transfer: &mut Transfer, piece: &Piece, done: &Done) {
    if done.error != abi::SUCCESS {
        all.fail(messages::p2p::failure(done));
    }
    if all.direction == Direction::Write {
        return;
    }
    let mut came = done.status.bytes().min(piece.at.end - piece.at.start);
    if let Some(stage) = &piece.stage {
        came = came.min(stage.len() as u64);
        transfer.buffer.unpack(piece.at.start, PeerBytes::of(&stage[..came as usize]));
    }
    all.read += came;
}
