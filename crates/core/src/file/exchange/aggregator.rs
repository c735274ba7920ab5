//! The aggregator's side of an exchange: rounds of windows, each with the bytes of all ranks in its domain.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::{Error, Result};
use btl::{Peer, Refusal};
use io::{Direction, Memory, Piece, Plan, Scratch, View};
use mem::{PeerBytes, PeerSpace, UserMem};
use node::Node;
use pml::{Data, Mode, ReqId};

use super::{Exchange, Transfer, Views, Writer, clip};
use crate::file::{failed, staged};
use crate::memory::{of_vec, of_vec_mut, resize};
use crate::p2p::{start_recv, start_send};
use crate::state::State;

/// What an aggregator has.
pub(super) struct Aggregator {
    domain: u64,
    pub views: Option<Views>,
    /// Descriptions that come.
    heard: Vec<Heard>,
    pub round: u64,
    /// Data of ranks, one after the other, but for this process's own.
    stage: Vec<u8>,
    /// Bytes of all ranks in the window.
    bytes: usize,
    window: Vec<u8>,
    parts: Vec<Part>,
    /// Messages of this round have been started.
    started: bool,
    scratch: Scratch,
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

impl Aggregator {
    pub fn new(domain: u64, views: Option<Views>) -> Aggregator {
        Aggregator {
            domain,
            views,
            heard: Vec::new(),
            round: 0,
            stage: Vec::new(),
            bytes: 0,
            window: Vec::new(),
            parts: Vec::new(),
            started: false,
            scratch: Scratch::default(),
        }
    }

    /// One that has no domain this time has nothing to do but to hear of the views.
    pub fn rest(&mut self, plan: &Plan) {
        if self.views.is_some() && self.domain >= plan.domains() {
            self.round = plan.rounds();
        }
    }

    pub fn advance(&mut self, all: &mut Exchange, state: &mut State, transfer: &Transfer) -> Result<bool> {
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
            true => Ok(all.view.clone()),
            false => View::from_description(&heard.words).map(Arc::new),
        });
        let views = views.collect::<Result<Vec<Arc<View>>>>();
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
        views: &[Arc<View>],
        transfer: &Transfer,
    ) -> Result<()> {
        let window = all.plan.window(self.domain, self.round);
        self.parts.clear();
        let own = transfer.buffer.contiguous();
        let handed_on = all.writer.is_some();
        let mut staged = 0;
        self.bytes = 0;
        for (rank, (view, said)) in views.iter().zip(&all.said).enumerate() {
            let positions = clip(view, &said.positions, &window);
            if !positions.is_empty() {
                let len = (positions.end - positions.start) as usize;
                let at = (positions.start - said.positions.start) as usize;
                let own = own.filter(|_| rank == all.me).map(|memory| memory.part(at, len));
                self.bytes += len;
                self.parts.push(Part { rank, positions, at: staged, own, id: None });
                // What is written later is copied.
                staged += if own.is_some() && !handed_on { 0 } else { len };
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
        let handed_on = all.writer.is_some();
        for part in self.parts.iter_mut().filter(|part| part.own.is_none() || handed_on) {
            let room = of_vec_mut(&mut self.stage).part(part.at, part.len());
            if let Some(own) = part.own.take() {
                room.as_space().write(own.as_bytes());
            } else if all.reaches_into(all.me, part.rank) {
                all.copy(part, |node, peer, address| node.read(peer, address, room));
            } else {
                part.id = start_recv(state, Data::Contiguous(room), part.rank as i32, all.tag, all.comm)?;
            }
        }
        Ok(())
    }

    /// Reads the window and gives each rank what it wants of it: less where the file ends.
    fn read(&mut self, all: &mut Exchange, state: &mut State, views: &[Arc<View>]) -> Result<()> {
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

    /// Ends the round when all its messages are through, and a thread that writes has taken its window.
    fn end_round(&mut self, all: &mut Exchange, state: &mut State, views: &[Arc<View>]) -> Result<bool> {
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
        // After an error, what is there may not be what was meant.
        let writes = all.direction == Direction::Write && all.error.is_ok();
        if writes && all.writer.is_some() && !self.hand_on(all, views)? {
            return Ok(moved);
        }
        (self.started, self.round) = (false, self.round + 1);
        if writes && all.writer.is_none() {
            self.write(all, views)?;
        }
        Ok(true)
    }

    /// Has the window written behind; false while there is no room.
    fn hand_on(&mut self, all: &Exchange, views: &[Arc<View>]) -> Result<bool> {
        let Some(Writer { stage, .. }) = &all.writer else { return Ok(true) };
        let piece = |part: &Part| Piece { view: views[part.rank].clone(), positions: part.positions.clone() };
        let mut bytes = std::mem::take(&mut self.stage);
        loop {
            let back = match stage.take(self.parts.iter().map(piece).collect(), bytes) {
                Ok(starts) => {
                    if starts {
                        staged::start(stage, &all.storage);
                    }
                    all.written.store(true, Ordering::Relaxed);
                    self.stage = stage.spare();
                    return Ok(true);
                }
                Err(io::Refusal::Never(back)) => {
                    self.stage = back;
                    stage.drain(&*all.storage);
                    return self.write(all, views).map(|()| true);
                }
                Err(io::Refusal::Full(back)) => back,
            };
            // No other thread writes: this one does, and tries again.
            if !stage.write_next(&*all.storage) {
                self.stage = back;
                return Ok(false);
            }
            bytes = back;
        }
    }

    /// Puts the bytes of all ranks into the file.
    fn write(&mut self, all: &Exchange, views: &[Arc<View>]) -> Result<()> {
        let Aggregator { parts, stage, scratch, .. } = self;
        let parts = parts.iter().map(|part| io::Part {
            view: &views[part.rank],
            positions: part.positions.clone(),
            bytes: part.bytes(stage),
        });
        let parts: Vec<io::Part<'_>> = parts.collect();
        let written = scratch.write(&*all.storage, &parts);
        all.written.store(true, Ordering::Relaxed);
        written.map_err(failed("the system could not write the file"))
    }

    /// From the place of the first byte of the round to behind that of the last.
    fn span(&self, views: &[Arc<View>]) -> Range<u64> {
        io::span_of(self.parts.iter().map(|part| (&*views[part.rank], &part.positions)))
    }

    fn is_sparse(&self, views: &[Arc<View>], span: &Range<u64>) -> bool {
        let pieces = self.parts.iter().map(|part| io::pieces_of(&views[part.rank], &part.positions)).sum();
        io::is_sparse(span, self.bytes as u64, pieces)
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
