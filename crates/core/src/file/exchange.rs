//! Two-phase access: some processes access the file for all, with data that travel by messages.
//!
//! ```text
//!   write   every rank ──its bytes of the window──► aggregator: puts them where they belong ──► one write a window
//!   read    one read a window ──► aggregator: takes out what each rank wants ──────────────► every rank
//! ```
//!
//! An aggregator fetches the bytes of ranks on its node from their memory, or puts them there, where that is one run;
//! those ranks have nothing to do until all agree that it is over. The others send messages.
//!
//! Each rank tells each aggregator once for a view how the view is laid out. From then on both sides know from what all
//! ranks gather for each call which bytes go into which window: messages hold data and nothing else.
//!
//! Where data comes by messages, a thread of the library writes a window while the next one comes:
//!
//! ```text
//!   aggregator   receives 1 | places 1, receives 2 | receives 3 …
//!   thread                  | writes 1             | writes 2 …          two windows wait at most
//! ```
//!
//! Holes in a window of a write are not written: any process may write there meanwhile, through another opening of the
//! file or through this one. Ranks whose bytes overlap are put in their order everywhere, so what is written is as if
//! they had written one after the other. In atomic mode each rank accesses its own bytes, under a lock.

mod aggregator;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abi::{Error, Result};
use btl::Peer;
use io::{Direction, Memory, Plan, Posix, Stage, View};
use mem::{PeerBytes, PeerSpace};
use node::Node;
use pml::{Data, Done, Mode, ReqId};

use self::aggregator::Aggregator;
use super::access::Transfer;
use super::failed;
use crate::memory::{of_vec_mut, resize};
use crate::p2p::{start_recv, start_send};
use crate::state::State;

/// What a rank has said of its part.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Positions of its view.
    pub positions: Range<u64>,
    /// Words by which it describes its view.
    pub description: usize,
    /// Where its bytes are, if they are one run.
    pub memory: Option<u64>,
    /// It reads and writes the memory of all others on its node.
    pub reaches: bool,
}

/// The views of all ranks, as an aggregator knows them.
pub(crate) type Views = Arc<Vec<Arc<View>>>;

/// One two-phase access on its way.
pub(crate) struct Exchange {
    file: abi::File,
    comm: abi::Comm,
    me: usize,
    /// The processes, and which of them are on this node.
    peers: Arc<[u32]>,
    near: Box<[bool]>,
    node: Option<Arc<Node>>,
    tag: i32,
    plan: Plan,
    said: Vec<Said>,
    direction: Direction,
    storage: Arc<Posix>,
    view: Arc<View>,
    positions: Range<u64>,
    /// Words by which this process describes its view; they stay until they were sent.
    description: Vec<u64>,
    described: bool,
    describing: Vec<ReqId>,
    /// Pieces between this rank and aggregators, in the order of their starts.
    pieces: VecDeque<Piece>,
    /// The next round of this rank.
    round: u64,
    aggregator: Option<Aggregator>,
    /// What aggregators hand their windows to.
    writer: Option<Writer>,
    /// This process has written to the file since it was synchronised.
    written: Arc<AtomicBool>,
    /// Bytes that have come.
    read: u64,
    /// Positions that aggregators put into this rank's memory, as far as the file reaches.
    put: Vec<Range<u64>>,
    error: Result<()>,
    over: bool,
}

/// Writes windows behind, while the next ones come.
struct Writer {
    stage: Arc<Stage>,
    /// The stage of the file, which has them when the access is over. Otherwise it is the access's own, and all is
    /// written then.
    lasts: bool,
}

/// A message between this rank and an aggregator.
#[derive(Default)]
struct Piece {
    id: Option<ReqId>,
    round: u64,
    /// Which bytes of this rank's data.
    at: Range<u64>,
    /// Where they are, if the program's memory is not one run.
    stage: Vec<u8>,
}

/// Most words that describe a view. A view that takes more goes without aggregators.
pub(crate) const MOST_WORDS: usize = 1 << 20;
/// Rounds for which a rank has messages under way.
const AHEAD: u64 = 2;
/// Windows that an aggregator has waiting or being written while the next one comes.
const WINDOWS_BEHIND: u64 = 2;

impl Exchange {
    /// The part of this rank in an access that all have agreed on. `views`: what it knows from an access before with
    /// the same views, if it is an aggregator; `described`: all aggregators know them.
    pub fn new(
        state: &State,
        transfer: &Transfer,
        (file, comm, me): (abi::File, abi::Comm, usize),
        number: u32,
        plan: Plan,
        said: Vec<Said>,
        (described, views): (bool, Option<Views>),
        description: Vec<u64>,
    ) -> Option<Exchange> {
        let peers = state.comm(comm).ok()?.peers.clone();
        let place_of = |peer: u32| state.node.as_ref().and_then(|node| node.place_of(Peer(peer)));
        let near = peers.iter().map(|&peer| place_of(peer).is_some()).collect();
        let view = transfer.access.view().clone();
        let mut aggregator = plan.index_of(me as u64).map(|index| Aggregator::new(index, views));
        if let Some(aggregator) = &mut aggregator {
            aggregator.rest(&plan);
        }
        let mut exchange = Exchange {
            file,
            comm,
            me,
            peers,
            near,
            node: state.node.clone(),
            // Two tags: an aggregator's description of its own view and what it sends to a rank must not be mixed up.
            tag: ((number & 0x3fff_ffff) << 1) as i32,
            plan,
            said,
            direction: transfer.direction,
            storage: transfer.storage.clone(),
            positions: transfer.access.positions(),
            description,
            described,
            view,
            describing: Vec::new(),
            pieces: VecDeque::new(),
            round: 0,
            writer: None,
            written: transfer.written().clone(),
            aggregator,
            read: 0,
            put: Vec::new(),
            error: Ok(()),
            over: false,
        };
        exchange.writer = exchange.find_writer(transfer);
        // Where all aggregators reach into this rank's memory, it sends and receives nothing.
        let mut aggregators =
            (0..exchange.plan.domains()).map(|domain| exchange.plan.process(domain) as usize);
        if aggregators.all(|aggregator| exchange.reaches_into(aggregator, me)) {
            exchange.round = exchange.plan.rounds();
            exchange
                .put
                .extend((exchange.direction == Direction::Read).then_some(exchange.positions.clone()));
        }
        Some(exchange)
    }

    /// Who writes windows while the next ones come: the file's stage, or one of this access where data comes by
    /// messages. Where all data is fetched from memory, the aggregator writes: nothing is waited for.
    fn find_writer(&self, transfer: &Transfer) -> Option<Writer> {
        if self.direction != Direction::Write || self.aggregator.is_none() {
            return None;
        }
        if let Some(stage) = transfer.stage() {
            return Some(Writer { stage: stage.clone(), lasts: true });
        }
        if (0..self.said.len()).all(|rank| self.reaches_into(self.me, rank)) {
            return None;
        }
        let stage = Arc::new(Stage::new(WINDOWS_BEHIND * self.plan.buffer(), None));
        Some(Writer { stage, lasts: false })
    }

    /// Whether an aggregator reaches into a rank's memory; one of the two is this process.
    fn reaches_into(&self, aggregator: usize, rank: usize) -> bool {
        let other = if aggregator == self.me { rank } else { aggregator };
        let reached = aggregator == rank || (self.near[other] && self.said[aggregator].reaches);
        reached && self.said[rank].memory.is_some()
    }

    /// The address of a position of a rank whose memory is one run.
    fn address(&self, rank: usize, position: u64) -> u64 {
        let said = &self.said[rank];
        said.memory.unwrap_or(0).wrapping_add(position - said.positions.start)
    }

    /// Goes on; whether anything happened. Over when [`Exchange::is_over`] says so; then the transfer is settled.
    pub fn advance(&mut self, state: &mut State, transfer: &mut Transfer) -> bool {
        let mut happened = false;
        while !self.has_nothing_to_do() {
            let moved = self.advance_once(state, transfer).unwrap_or_else(|error| {
                self.fail(error);
                true
            });
            if !moved {
                return happened;
            }
            happened = true;
        }
        if !std::mem::replace(&mut self.over, true) {
            self.settle(transfer);
        }
        happened
    }

    /// Whether all is done and the transfer settled.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn has_nothing_to_do(&self) -> bool {
        let all = self.plan.rounds();
        let done = self.aggregator.as_ref().is_none_or(|aggregator| aggregator.round == all);
        let done = done && self.writer.as_ref().is_none_or(|writer| writer.lasts || writer.stage.is_empty());
        let said = self.described && self.describing.is_empty();
        done && said && self.round == all && self.pieces.is_empty()
    }

    /// Remembers the first error. The messages go on: others wait for them.
    fn fail(&mut self, error: Error) {
        self.error = self.error.and(Err(error));
    }

    fn settle(&mut self, transfer: &mut Transfer) {
        if let Some(Writer { stage, lasts: false }) = &self.writer
            && let Some(error) = stage.take_error()
        {
            self.fail(failed("the system could not write the file")(error));
        }
        let done = match (self.direction, self.error) {
            (Direction::Read, _) => self.read + self.put_bytes(),
            (Direction::Write, Ok(())) => self.positions.end - self.positions.start,
            (Direction::Write, Err(_)) => 0,
        };
        transfer.access.settle(done);
        transfer.end_with(self.error);
    }

    /// Bytes that aggregators put into this rank's memory: up to the end of the file.
    fn put_bytes(&self) -> u64 {
        let Some(last) = self.put.iter().map(|part| part.end).max() else { return 0 };
        let end = self.storage.size().map_or(last, |size| self.view.position_at(size));
        self.put.iter().map(|part| part.end.min(end).saturating_sub(part.start)).sum()
    }

    fn advance_once(&mut self, state: &mut State, transfer: &mut Transfer) -> Result<bool> {
        let mut moved = self.describe(state)?;
        moved |= self.reap(state, transfer);
        moved |= self.start_round(state, transfer)?;
        if let Some(mut aggregator) = self.aggregator.take() {
            let aggregated = aggregator.advance(self, state, transfer);
            self.aggregator = Some(aggregator);
            moved |= aggregated?;
        }
        Ok(moved)
    }

    /// Tells the aggregators how the view is laid out, once.
    fn describe(&mut self, state: &mut State) -> Result<bool> {
        let before = self.describing.len();
        self.describing.retain(|&id| state.p2p.take(id).is_none());
        let moved = self.describing.len() < before;
        if self.described {
            return Ok(moved);
        }
        self.described = true;
        for to in self.others() {
            let data = Data::Contiguous(crate::memory::of_words(&mut self.description));
            let sent = start_send(state, Mode::Standard, data, to as i32, self.tag | 1, self.comm)?;
            self.describing.extend(sent);
        }
        Ok(true)
    }

    /// The aggregators but this rank.
    fn others(&self) -> Vec<usize> {
        let all = (0..self.plan.aggregators()).map(|index| self.plan.process(index) as usize);
        all.filter(|&rank| rank != self.me).collect()
    }

    /// Takes what has come or gone.
    fn reap(&mut self, state: &mut State, transfer: &mut Transfer) -> bool {
        let before = self.pieces.len();
        let mut ended: Vec<(Piece, Option<Done>)> = Vec::new();
        self.pieces.retain_mut(|piece| {
            let done = piece.id.and_then(|id| state.p2p.take(id));
            if piece.id.is_some() && done.is_none() {
                return true;
            }
            ended.push((std::mem::take(piece), done));
            false
        });
        for (piece, done) in ended {
            if let Some(done) = done {
                self.take_piece(transfer, &piece, &done);
            }
        }
        self.pieces.len() < before
    }

    fn take_piece(&mut self, transfer: &mut Transfer, piece: &Piece, done: &Done) {
        if done.error != abi::SUCCESS {
            self.fail(crate::p2p::failure(done));
        }
        if self.direction == Direction::Write {
            return;
        }
        let came = done.status.bytes().min(piece.at.end - piece.at.start);
        if !piece.stage.is_empty() {
            transfer.buffer.unpack(piece.at.start, PeerBytes::of(&piece.stage[..came as usize]));
        }
        self.read += came;
    }

    /// Sends to the aggregators what is theirs in the next round, or receives from them.
    fn start_round(&mut self, state: &mut State, transfer: &mut Transfer) -> Result<bool> {
        let oldest = self.pieces.front().map_or(self.round, |piece| piece.round);
        if self.round == self.plan.rounds() || self.round >= oldest + AHEAD {
            return Ok(false);
        }
        let round = self.round;
        self.round += 1;
        for domain in 0..self.plan.domains() {
            let part = clip(&self.view, &self.positions, &self.plan.window(domain, round));
            let with = self.plan.process(domain) as usize;
            if part.is_empty() {
                continue;
            }
            if self.reaches_into(with, self.me) {
                self.put.extend((self.direction == Direction::Read).then_some(part));
                continue;
            }
            let at = part.start - self.positions.start..part.end - self.positions.start;
            self.start_piece(state, transfer, with as i32, round, at)?;
        }
        Ok(true)
    }

    fn start_piece(
        &mut self,
        state: &mut State,
        transfer: &mut Transfer,
        with: i32,
        round: u64,
        at: Range<u64>,
    ) -> Result<()> {
        let len = (at.end - at.start) as usize;
        let (tag, comm) = (self.tag, self.comm);
        let mut piece = Piece { id: None, round, at, stage: Vec::new() };
        let memory = match transfer.buffer.contiguous() {
            Some(memory) => memory.part(piece.at.start as usize, len),
            None => {
                resize(&mut piece.stage, len)?;
                if self.direction == Direction::Write {
                    transfer.buffer.pack(piece.at.start, PeerSpace::of(&mut piece.stage));
                }
                of_vec_mut(&mut piece.stage)
            }
        };
        let data = Data::Contiguous(memory);
        piece.id = match self.direction {
            Direction::Write => start_send(state, Mode::Standard, data, with, tag, comm)?,
            Direction::Read => start_recv(state, data, with, tag, comm)?,
        };
        if piece.id.is_some() {
            self.pieces.push_back(piece);
        }
        Ok(())
    }
}

impl State {
    /// Whether this process reads and writes the memory of all others on its node that have a file open; tried out once.
    pub(super) fn reaches_near(&mut self, fh: abi::File) -> Result<bool> {
        let file = self.file(fh)?;
        if let Some(reaches) = file.reaches {
            return Ok(reaches);
        }
        let (me, peers) = (self.me(), self.comm(file.comm)?.peers.clone());
        let reaches = self.node.as_ref().is_some_and(|node| {
            let near = |peer: &&u32| **peer != me && node.place_of(Peer(**peer)).is_some();
            node.has_single_copy() && peers.iter().filter(near).all(|&peer| node.can_read(Peer(peer)))
        });
        self.files.get_mut(fh)?.reaches = Some(reaches);
        Ok(reaches)
    }
}

/// The positions of a view among `positions` that lie in a window of the file.
fn clip(view: &View, positions: &Range<u64>, window: &Range<u64>) -> Range<u64> {
    if window.is_empty() || positions.is_empty() {
        return 0..0;
    }
    below(view, positions, window.start)..below(view, positions, window.end)
}

/// Where the positions of a view among `positions` end that lie below a place of the file.
fn below(view: &View, positions: &Range<u64>, place: u64) -> u64 {
    if positions.is_empty() { 0 } else { view.position_at(place).clamp(positions.start, positions.end) }
}
