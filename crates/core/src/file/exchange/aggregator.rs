//! The aggregator's side of an exchange: rounds of windows, each with the bytes of all ranks in its domain.

use std::ops::Range;
use std::sync::Arc;

use abi::{Error, Result};
use btl::{Peer, Refusal};
use io::{Cover, Direction, Memory, Plan, Storage, View};
use mem::{PeerBytes, PeerSpace, UserMem};
use node::Node;
use pml::{Data, Mode, ReqId};

use super::{Exchange, Said, Transfer, Views, below};
use crate::file::failed;
use crate::memory::{of_vec, of_vec_mut, resize};
use crate::p2p::{start_recv, start_send};
use crate::state::State;

/// A window with fewer bytes of data for each of its pieces is covered piece by piece: looking whether all is there
/// then costs more than reading the window.
const WORTH_COVERING: u64 = 32;
/// Pieces this far apart are read and written one by one.
const FAR_APART: u64 = 8 << 10;

/// What an aggregator has.
pub(super) struct Aggregator {
    domain: u64,
    pub views: Option<Views>,
    /// Descriptions that come.
    heard: Vec<Heard>,
    pub round: u64,
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

impl Aggregator {
    pub fn new(domain: u64, views: Option<Views>) -> Aggregator {
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
