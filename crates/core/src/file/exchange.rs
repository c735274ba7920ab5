//! Two-phase access: some processes access the file for all, with data that travel by messages.
//!
//! ```text
//!   write   every rank ──its bytes of the window──► aggregator: puts them where they belong ──► one write a window
//!   read    one read a window ──► aggregator: takes out what each rank wants ──────────────► every rank
//! ```
//!
//! An aggregator fetches the bytes of ranks on its node from their memory, or puts them there, where that is one run; those
//! ranks have nothing to do until all agree that it is over. The others send messages.
//!
//! Each rank tells each aggregator once for a view how the view is laid out. From then on both sides know from what all ranks
//! gather for each call which bytes go into which window: messages hold data and nothing else.
//!
//! Holes in a window of a write keep what the file has there: the window is read before it is changed. Nobody else of this
//! call writes there, since domains do not overlap; in atomic mode a lock keeps other openings out. Ranks whose bytes overlap
//! are put in their order everywhere, so what is written is as if they had written one after the other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use abi::{Error, Result};
use btl::{Peer, Refusal};
use io::{Cover, Direction, Memory, Plan, Posix, Storage, View};
use mem::{PeerBytes, PeerSpace, UserMem};
use node::Node;
use pml::{Data, Done, Mode, ReqId};

use super::access::Transfer;
use super::failed;
use crate::memory::{of_vec, of_vec_mut, resize};
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
pub(crate) type Views = Arc<Vec<View>>;

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
    /// Reading the file is allowed, and locks keep others out of what is read and written back.
    readable: bool,
    locked: bool,
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
    /// Bytes that have come.
    read: u64,
    /// Positions that aggregators put into this rank's memory, as far as the file reaches.
    put: Vec<Range<u64>>,
    error: Result<()>,
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

/// What an aggregator has.
struct Aggregator {
    domain: u64,
    views: Option<Views>,
    /// Descriptions that come.
    heard: Vec<Heard>,
    round: u64,
    /// Of each rank, the first position behind the windows that are done.
    next: Vec<u64>,
    /// Data of ranks, one after the other, but for this process's own.
    stage: Vec<u8>,
    /// Bytes of all ranks in the window.
    bytes: usize,
    window: Vec<u8>,
    parts: Vec<Part>,
    /// Messages of this round have been started.
    started: bool,
    cover: Cover,
}

struct Heard {
    id: Option<ReqId>,
    words: Vec<u64>,
}

/// A rank's bytes in a window.
struct Part {
    rank: usize,
    positions: Range<u64>,
    /// Where they begin in the stage.
    at: usize,
    /// This process's own bytes, where they are.
    own: Option<UserMem>,
    id: Option<ReqId>,
}

/// Most words that describe a view. A view that takes more goes without aggregators.
pub(crate) const MOST_WORDS: usize = 1 << 20;
/// Rounds for which a rank has messages under way.
const AHEAD: u64 = 2;
/// A window with fewer bytes of data for each of its pieces is covered piece by piece: looking whether all is there
/// then costs more than reading the window.
const WORTH_COVERING: u64 = 32;
/// Pieces this far apart are read and written one by one.
const FAR_APART: u64 = 8 << 10;

impl Exchange {
    /// The part of this rank in an access that all have agreed on. `views`: what it knows from an access before with the same
    /// views, if it is an aggregator; `described`: all aggregators know them.
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
            readable: transfer.storage.is_readable(),
            locked: transfer.access.takes_locks(),
            storage: transfer.storage.clone(),
            positions: transfer.access.positions(),
            description,
            described,
            view,
            describing: Vec::new(),
            pieces: VecDeque::new(),
            round: 0,
            aggregator,
            read: 0,
            put: Vec::new(),
            error: Ok(()),
        };
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
        while !self.is_over() {
            let moved = self.advance_once(state, transfer).unwrap_or_else(|error| {
                self.fail(error);
                true
            });
            if !moved {
                return happened;
            }
            happened = true;
        }
        self.settle(transfer);
        happened
    }

    /// Whether this rank has nothing more to do.
    pub fn is_over(&self) -> bool {
        let all = self.plan.rounds();
        let done = self.aggregator.as_ref().is_none_or(|aggregator| aggregator.round == all);
        let said = self.described && self.describing.is_empty();
        done && said && self.round == all && self.pieces.is_empty()
    }

    /// Remembers the first error. The messages go on: others wait for them.
    fn fail(&mut self, error: Error) {
        self.error = self.error.and(Err(error));
    }

    fn settle(&self, transfer: &mut Transfer) {
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

impl Exchange {
    /// Copies between the memory of a rank on this node and that of this process.
    fn copy(&mut self, part: &Part, copy: impl FnOnce(&Node, Peer, u64) -> std::result::Result<(), Refusal>) {
        let (peer, address) = (Peer(self.peers[part.rank]), self.address(part.rank, part.positions.start));
        let copied = self.node.as_deref().map(|node| copy(node, peer, address));
        if !matches!(copied, Some(Ok(()))) {
            self.fail(Error::new(
                abi::ERR_OTHER,
                "the memory of a process of this node cannot be reached any more",
            ));
        }
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

impl Aggregator {
    fn new(domain: u64, views: Option<Views>) -> Aggregator {
        Aggregator {
            domain,
            views,
            heard: Vec::new(),
            round: 0,
            next: Vec::new(),
            stage: Vec::new(),
            bytes: 0,
            window: Vec::new(),
            parts: Vec::new(),
            started: false,
            cover: Cover::default(),
        }
    }

    /// One that has no domain this time has nothing to do but to hear of the views.
    fn rest(&mut self, plan: &Plan) {
        if self.views.is_some() && self.domain >= plan.domains() {
            self.round = plan.rounds();
        }
    }

    fn advance(&mut self, all: &mut Exchange, state: &mut State, transfer: &Transfer) -> Result<bool> {
        if self.round == all.plan.rounds() {
            return Ok(false);
        }
        let Some(views) = self.views.clone() else { return self.hear(all, state) };
        if self.started {
            return self.end_round(all, state, &views);
        }
        self.begin_round(all, state, &views, transfer)?;
        Ok(true)
    }

    /// Receives how the others' views are laid out.
    fn hear(&mut self, all: &mut Exchange, state: &mut State) -> Result<bool> {
        if self.heard.is_empty() {
            for (rank, said) in all.said.iter().enumerate() {
                let mut heard = Heard { id: None, words: vec![0; said.description] };
                if rank != all.me {
                    let room = Data::Contiguous(crate::memory::of_words(&mut heard.words));
                    heard.id = start_recv(state, room, rank as i32, all.tag | 1, all.comm)?;
                }
                self.heard.push(heard);
            }
            return Ok(true);
        }
        for heard in &mut self.heard {
            heard.id = heard.id.filter(|&id| state.p2p.take(id).is_none());
        }
        if self.heard.iter().any(|heard| heard.id.is_some()) {
            return Ok(false);
        }
        let views = self.heard.drain(..).enumerate().map(|(rank, heard)| match rank == all.me {
            true => Ok(View::clone(&all.view)),
            false => View::from_description(&heard.words),
        });
        let views = views.collect::<Result<Vec<View>>>();
        // Without them nobody's data can be placed, and nobody can be answered.
        let views = Arc::new(views.inspect_err(|_| self.round = all.plan.rounds())?);
        if let Ok(file) = state.files.get_mut(all.file) {
            file.views = Some(views.clone());
        }
        self.views = Some(views);
        self.rest(&all.plan);
        Ok(true)
    }

    /// Finds out whose bytes lie in the window, and starts their messages.
    fn begin_round(
        &mut self,
        all: &mut Exchange,
        state: &mut State,
        views: &[View],
        transfer: &Transfer,
    ) -> Result<()> {
        let window = all.plan.window(self.domain, self.round);
        self.parts.clear();
        let own = transfer.buffer.contiguous();
        let mut staged = 0;
        self.bytes = 0;
        if self.next.is_empty() {
            let first = |(view, said): (&View, &Said)| below(view, &said.positions, window.start);
            self.next = views.iter().zip(&all.said).map(first).collect();
        }
        for (rank, (view, said)) in views.iter().zip(&all.said).enumerate() {
            let end = below(view, &said.positions, window.end);
            let positions = std::mem::replace(&mut self.next[rank], end)..end;
            if !positions.is_empty() {
                let len = (positions.end - positions.start) as usize;
                let at = (positions.start - said.positions.start) as usize;
                let own = own.filter(|_| rank == all.me).map(|memory| memory.part(at, len));
                self.bytes += len;
                self.parts.push(Part { rank, positions, at: staged, own, id: None });
                staged += if own.is_some() { 0 } else { len };
            }
        }
        if self.parts.is_empty() {
            self.round += 1;
            return Ok(());
        }
        self.started = true;
        resize(&mut self.stage, staged)?;
        match all.direction {
            Direction::Write => self.fetch(all, state),
            Direction::Read => self.read(all, state, views),
        }
    }

    /// Gets the bytes of all ranks: from their memory, or by messages.
    fn fetch(&mut self, all: &mut Exchange, state: &mut State) -> Result<()> {
        for part in self.parts.iter_mut().filter(|part| part.own.is_none()) {
            let room = of_vec_mut(&mut self.stage).part(part.at, part.len());
            if all.reaches_into(all.me, part.rank) {
                all.copy(part, |node, peer, address| node.read(peer, address, room));
            } else {
                part.id = start_recv(state, Data::Contiguous(room), part.rank as i32, all.tag, all.comm)?;
            }
        }
        Ok(())
    }

    /// Reads the window and gives each rank what it wants of it: less where the file ends.
    fn read(&mut self, all: &mut Exchange, state: &mut State, views: &[View]) -> Result<()> {
        let span = self.span(views);
        let sparse = self.is_sparse(views, &span);
        let there = if sparse { Ok(0) } else { self.read_window(all, &span) };
        let there = there.unwrap_or_else(|error| {
            all.fail(error);
            0
        });
        let Aggregator { parts, stage, window, .. } = self;
        for part in parts {
            let view = &views[part.rank];
            let room = match &part.own {
                Some(own) => own.as_space(),
                None => PeerSpace::of(&mut stage[part.at..part.at + part.len()]),
            };
            let came = if sparse {
                let moved = io::read_each(view, &*all.storage, part.positions.start, &room);
                if let Some(error) = moved.error {
                    all.fail(failed("the system could not read the file")(error));
                }
                moved.bytes as usize
            } else {
                let end =
                    view.position_at(span.start + there).clamp(part.positions.start, part.positions.end);
                let came = (end - part.positions.start) as usize;
                let room = room.part(0, came);
                let taken =
                    view.gather(part.positions.start..end, &window[..there as usize], span.start, room);
                assert!(taken, "the positions lie in what was read of the window");
                came
            };
            if part.own.is_some() {
                continue;
            }
            let bytes = of_vec(&stage[part.at..part.at + came]);
            if all.reaches_into(all.me, part.rank) {
                all.copy(part, |node, peer, address| node.write(peer, address, bytes));
            } else {
                let data = Data::Contiguous(bytes);
                part.id = start_send(state, Mode::Standard, data, part.rank as i32, all.tag, all.comm)?;
            }
        }
        Ok(())
    }

    fn read_window(&mut self, all: &Exchange, span: &Range<u64>) -> Result<u64> {
        resize(&mut self.window, (span.end - span.start) as usize)?;
        let moved = io::read_fully(&*all.storage, &PeerSpace::of(&mut self.window), span.start);
        match moved.error {
            None => Ok(moved.bytes),
            Some(error) => Err(failed("the system could not read the file")(error)),
        }
    }

    /// Ends the round when all its messages are through.
    fn end_round(&mut self, all: &mut Exchange, state: &mut State, views: &[View]) -> Result<bool> {
        let mut moved = false;
        for part in &mut self.parts {
            let Some(id) = part.id else { continue };
            let Some(done) = state.p2p.take(id) else { continue };
            (part.id, moved) = (None, true);
            let short = all.direction == Direction::Write && done.status.bytes() != part.len() as u64;
            if done.error != abi::SUCCESS {
                all.fail(crate::p2p::failure(&done));
            } else if short {
                all.fail(Error::new(abi::ERR_INTERN, "another process sent less than it said"));
            }
        }
        if self.parts.iter().any(|part| part.id.is_some()) {
            return Ok(moved);
        }
        (self.started, self.round) = (false, self.round + 1);
        // After an error, what is there may not be what was meant.
        if all.direction == Direction::Write && all.error.is_ok() {
            self.write(all, views)?;
        }
        Ok(true)
    }

    /// Puts the bytes of all ranks into the file.
    fn write(&mut self, all: &Exchange, views: &[View]) -> Result<()> {
        let span = self.span(views);
        let len = (span.end - span.start) as usize;
        if self.is_sparse(views, &span) {
            return self.write_each(all, views);
        }
        if let ([part], true) = (&self.parts[..], self.bytes == len) {
            return written(io::write_fully(&*all.storage, part.bytes(&self.stage), span.start));
        }
        resize(&mut self.window, len)?;
        let keeps = self.bytes != len || !self.covers(views, &span);
        if keeps && !all.readable {
            return self.write_each(all, views);
        }
        let lock = keeps && all.locked;
        if lock {
            all.storage.lock(span.clone(), true).map_err(failed("the system gave no lock on the file"))?;
        }
        let result = self.write_window(all, views, &span, keeps);
        if lock {
            all.storage.unlock(span).map_err(failed("the system took no lock back"))?;
        }
        result
    }

    fn write_window(&mut self, all: &Exchange, views: &[View], span: &Range<u64>, keeps: bool) -> Result<()> {
        if keeps {
            let there = self.read_window(all, span)?;
            self.window[there as usize..].fill(0);
        }
        for part in &self.parts {
            let bytes = part.bytes(&self.stage);
            let placed =
                views[part.rank].scatter(part.positions.clone(), bytes, &mut self.window, span.start);
            assert!(placed, "the positions lie in the span of all parts");
        }
        written(io::write_fully(&*all.storage, PeerBytes::of(&self.window), span.start))
    }

    fn write_each(&self, all: &Exchange, views: &[View]) -> Result<()> {
        self.parts.iter().try_for_each(|part| {
            let bytes = part.bytes(&self.stage);
            written(io::write_each(&views[part.rank], &*all.storage, part.positions.start, bytes))
        })
    }

    /// From the place of the first byte of the round to behind that of the last.
    fn span(&self, views: &[View]) -> Range<u64> {
        let spans = self.parts.iter().map(|part| views[part.rank].span(&part.positions));
        spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// Pieces of the round, about.
    fn pieces(&self, views: &[View]) -> u64 {
        let of = |part: &Part| {
            let (runs, data, _) = views[part.rank].density();
            1 + part.len() as u64 * runs / data.max(1)
        };
        self.parts.iter().map(of).sum()
    }

    fn is_sparse(&self, views: &[View], span: &Range<u64>) -> bool {
        (span.end - span.start - (self.bytes as u64).min(span.end - span.start)) / self.pieces(views)
            > FAR_APART
    }

    /// Whether there is no hole in the window, given that there are as many bytes as it is long.
    fn covers(&mut self, views: &[View], span: &Range<u64>) -> bool {
        if self.pieces(views) * WORTH_COVERING > span.end - span.start {
            return false;
        }
        let Aggregator { parts, cover, .. } = self;
        cover.clear((span.end - span.start) as usize);
        parts.iter().all(|part| {
            let mut fresh = true;
            views[part.rank].for_each(part.positions.clone(), |place, len| {
                fresh = cover.mark((place - span.start) as usize, len as usize);
                fresh
            });
            fresh
        })
    }
}

impl Part {
    fn len(&self) -> usize {
        (self.positions.end - self.positions.start) as usize
    }

    /// Its bytes, once they are here.
    fn bytes<'a>(&'a self, stage: &'a [u8]) -> PeerBytes<'a> {
        match &self.own {
            Some(own) => own.as_bytes(),
            None => PeerBytes::of(&stage[self.at..self.at + self.len()]),
        }
    }
}

fn written(moved: io::Moved) -> Result<()> {
    match moved.error {
        None => Ok(()),
        Some(error) => Err(failed("the system could not write the file")(error)),
    }
}
