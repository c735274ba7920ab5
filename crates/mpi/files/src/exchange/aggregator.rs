//! The aggregator's side of an exchange: windows, each with the bytes of all ranks that have any there.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use abi::{Error, Result};
use btl::{Peer, Refusal};
use io::{Calls, Course, Direction, Memory, Piece, Scratch, View};
use mem::{PeerBytes, PeerSpace, UserMem};
use node::Node;
use pml::{Data, Mode, ReqId};

use super::{ANSWER, DESCRIPTION, Exchange, Job, Transfer, Views};
use crate::{FILES, failed};
use messages::p2p::{start_recv, start_send};
use objects::memory::{of_vec, of_vec_mut, resize};
use objects::state::State;

/// Windows that wait or are being written while the next one comes by messages.
const BEHIND: usize = 2;

/// What an aggregator has.
pub(super) struct Aggregator {
    domain: u64,
    views: Option<Views>,
    /// Descriptions that come.
    heard: Vec<Heard>,
    /// What it answers to them; it stays until it was sent.
    answer: Box<[u64; 1]>,
    answering: Vec<ReqId>,
    /// The way of each rank through the domain.
    courses: Vec<Ahead>,
    /// The window whose messages are under way; of a read, once it was read.
    coming: Option<Window>,
    /// Windows with all their data, to be written.
    full: VecDeque<Window>,
    /// A job has a window.
    at_work: bool,
    /// The window that a job has given back.
    back: Option<Window>,
    /// Windows that are through, for the next ones.
    spare: Vec<Window>,
    /// No window is left.
    ended: bool,
}

struct Heard {
    id: Option<ReqId>,
    words: Vec<u64>,
}

/// The next window that has bytes of a rank.
struct Ahead {
    course: Course,
    next: Option<(Range<u64>, Range<u64>)>,
}

/// The bytes of all ranks in a part of the domain.
#[derive(Default)]
pub struct Window {
    parts: Vec<Part>,
    /// Data of ranks, one after the other, but for this process's own.
    pub stage: Vec<u8>,
    /// Bytes of all ranks.
    bytes: usize,
    /// What was read of the file.
    file: Vec<u8>,
    scratch: Scratch,
    /// There was no memory for the data: messages carry nothing.
    blind: bool,
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
    /// Bytes of a read that there are.
    came: usize,
}

impl Aggregator {
    pub fn new(domain: u64, views: Option<Views>) -> Aggregator {
        Aggregator {
            domain,
            views,
            heard: Vec::new(),
            answer: Box::new([0]),
            answering: Vec::new(),
            courses: Vec::new(),
            coming: None,
            full: VecDeque::new(),
            at_work: false,
            back: None,
            spare: Vec::new(),
            ended: false,
        }
    }

    pub fn is_over(&self) -> bool {
        let idle = self.coming.is_none() && self.back.is_none() && self.full.is_empty() && !self.at_work;
        self.ended && idle && self.answering.is_empty()
    }

    pub fn advance(&mut self, all: &mut Exchange, state: &mut State, transfer: &Transfer) -> bool {
        let before = self.answering.len();
        self.answering.retain(|&id| state.p2p.take(id).is_none());
        let mut moved = self.answering.len() < before;
        if self.is_over() {
            return moved;
        }
        let Some(views) = self.views.clone() else { return self.hear(all, state) };
        if let Some(mut window) = self.back.take() {
            moved = true;
            match all.direction {
                Direction::Write => self.spare.push(window),
                Direction::Read => {
                    window.answer(all, state);
                    self.coming = Some(window);
                }
            }
        }
        moved |= self.go_on(all, state);
        // One window at a time, but for writes of what comes by messages.
        let most = if all.direction == Direction::Write && all.is_far() { BEHIND } else { 1 };
        let busy = self.full.len() + usize::from(self.at_work);
        if self.coming.is_none() && !self.ended && busy < most {
            moved = true;
            self.begin(all, state, &views, transfer);
        }
        if !all.at_work
            && let Some(window) = self.full.pop_front()
        {
            self.at_work = true;
            all.start(Job::of_window(all, window, views));
            moved = true;
        }
        moved
    }

    /// Receives how the others' views are laid out, and answers.
    fn hear(&mut self, all: &mut Exchange, state: &mut State) -> bool {
        if self.heard.is_empty() {
            for rank in 0..all.said.len() {
                let mut heard = Heard { id: None, words: Vec::new() };
                if rank != all.me {
                    // Without memory for one it comes into nothing, and is none.
                    let _ = resize(&mut heard.words, all.said[rank].description);
                    let room = Data::Contiguous(objects::memory::of_words(&mut heard.words));
                    heard.id = start_recv(state, room, rank as i32, all.tag | DESCRIPTION, all.comm)
                        .unwrap_or_else(|error| {
                            all.fail(error);
                            None
                        });
                }
                self.heard.push(heard);
            }
            return true;
        }
        for heard in &mut self.heard {
            heard.id = heard.id.filter(|&id| state.p2p.take(id).is_none());
        }
        if self.heard.iter().any(|heard| heard.id.is_some()) {
            return false;
        }
        let views = std::mem::take(&mut self.heard).into_iter().enumerate().map(|(rank, heard)| {
            match rank == all.me {
                true => Ok(all.view.clone()),
                false if heard.words.len() < all.said[rank].description => Err(objects::memory::NO_MEMORY),
                false => View::from_description(&heard.words).map(Arc::new),
            }
        });
        let views = views.collect::<Result<Vec<Arc<View>>>>();
        self.answer[0] = views.as_ref().err().map_or(0, |error| error.class as u64);
        all.answered(self.domain, views.is_ok());
        let me = all.me;
        for rank in (0..all.said.len()).filter(|&rank| rank != me) {
            let word = Data::Contiguous(objects::memory::of_words(&mut self.answer[..]));
            let (to, tag) = (rank as i32, all.tag | ANSWER);
            match start_send(state, Mode::Standard, word, to, tag, all.comm) {
                Ok(id) => self.answering.extend(id),
                Err(error) => all.fail(error),
            }
        }
        match views {
            Ok(views) => {
                let views = Arc::new(views);
                if let Ok(file) = FILES.get_mut(&mut state.tables).get_mut(all.file) {
                    file.views = Some(views.clone());
                }
                self.views = Some(views);
            }
            // The others know that nothing of theirs can be placed here.
            Err(error) => {
                self.ended = true;
                all.fail(error);
            }
        }
        true
    }

    /// Begins with the next window that has bytes of any rank.
    fn begin(&mut self, all: &mut Exchange, state: &mut State, views: &Views, transfer: &Transfer) {
        if self.courses.is_empty() {
            let has_domain = self.domain < all.plan.domains();
            self.courses.extend(all.said.iter().zip(&**views).filter(|_| has_domain).map(|(said, view)| {
                let mut course = Course::new(self.domain, &said.positions);
                let next = course.next(&all.plan, view);
                Ahead { course, next }
            }));
        }
        let starts =
            self.courses.iter().filter_map(|ahead| ahead.next.as_ref().map(|(window, _)| window.start));
        let Some(start) = starts.min() else {
            self.ended = true;
            return;
        };
        let mut window = self.spare.pop().unwrap_or_default();
        window.clear();
        let own = transfer.buffer.contiguous();
        let mut staged = 0;
        for (rank, ahead) in self.courses.iter_mut().enumerate() {
            let Some((_, positions)) = ahead.next.take_if(|(window, _)| window.start == start) else {
                continue;
            };
            ahead.next = ahead.course.next(&all.plan, &views[rank]);
            let len = (positions.end - positions.start) as usize;
            let at = (positions.start - all.said[rank].positions.start) as usize;
            let own = own.filter(|_| rank == all.me).map(|memory| memory.part(at, len));
            window.bytes += len;
            window.parts.push(Part { rank, positions, at: staged, own, id: None, came: 0 });
            // A stage keeps what it takes over.
            staged += if own.is_some() && all.stage.is_none() { 0 } else { len };
        }
        if let Err(error) = resize(&mut window.stage, staged) {
            all.fail(error);
            window.stage.clear();
            window.blind = true;
        }
        match all.direction {
            Direction::Write => {
                window.fetch(all, state);
                self.coming = Some(window);
            }
            Direction::Read if window.blind => {
                window.answer(all, state);
                self.coming = Some(window);
            }
            Direction::Read => self.full.push_back(window),
        }
    }

    /// A job is over.
    pub fn take_back(&mut self, window: Window) {
        self.at_work = false;
        self.back = Some(window);
    }

    /// Goes on with the window whose messages are under way: it ends when all are through.
    fn go_on(&mut self, all: &mut Exchange, state: &mut State) -> bool {
        let Some(window) = &mut self.coming else { return false };
        let moved = window.reap(all, state);
        if window.parts.iter().any(|part| part.id.is_some()) {
            return moved;
        }
        // After an error, what is there may not be what was meant.
        let writes = all.direction == Direction::Write && all.error.is_ok() && !window.blind;
        let window = self.coming.take();
        match writes {
            true => self.full.extend(window),
            false => self.spare.extend(window),
        }
        true
    }
}

impl Window {
    fn clear(&mut self) {
        self.parts.clear();
        (self.bytes, self.blind) = (0, false);
    }

    /// Gets the bytes of all ranks: from their memory, or by messages.
    fn fetch(&mut self, all: &mut Exchange, state: &mut State) {
        let copies = all.stage.is_some();
        for part in self.parts.iter_mut().filter(|part| part.own.is_none() || copies) {
            let room = match self.blind {
                true => of_vec_mut(&mut []),
                false => of_vec_mut(&mut self.stage).part(part.at, part.len()),
            };
            if let Some(own) = part.own.take() {
                room.as_space().write(own.part(0, room.len()).as_bytes());
            } else if all.reaches_into(all.me, part.rank) {
                if !self.blind {
                    all.copy(part, |node, peer, address| node.read(peer, address, room));
                }
            } else {
                let data = Data::Contiguous(room);
                match start_recv(state, data, part.rank as i32, all.tag, all.comm) {
                    Ok(id) => part.id = id,
                    Err(error) => all.fail(error),
                }
            }
        }
    }

    /// Takes what has come or gone.
    fn reap(&mut self, all: &mut Exchange, state: &mut State) -> bool {
        let mut moved = false;
        for part in &mut self.parts {
            let Some(id) = part.id else { continue };
            let Some(done) = state.p2p.take(id) else { continue };
            (part.id, moved) = (None, true);
            let short = all.direction == Direction::Write && done.status.bytes() != part.len() as u64;
            if done.error != abi::SUCCESS {
                all.fail(messages::p2p::failure(&done));
            } else if short {
                all.fail(Error::new(
                    abi::ERR_NO_MEM,
                    "another process had no memory for the data of a window",
                ));
            }
        }
        moved
    }

    /// Reads the window and takes out what each rank wants of it: less where the file ends.
    pub fn read(&mut self, views: &Views, calls: &Calls<'_>) -> Result<()> {
        let span = io::span_of(self.parts.iter().map(|part| (&*views[part.rank], &part.positions)));
        let pieces = self.parts.iter().map(|part| io::pieces_of(&views[part.rank], &part.positions)).sum();
        let sparse = io::is_sparse(&span, self.bytes as u64, pieces);
        let there = if sparse { 0 } else { self.read_file(calls, &span)? };
        let Window { parts, stage, file, .. } = self;
        for part in parts {
            let view = &views[part.rank];
            let room = match &part.own {
                Some(own) => own.as_space(),
                None => PeerSpace::of(&mut stage[part.at..part.at + part.len()]),
            };
            if sparse {
                let moved = io::read_each(view, calls, part.positions.start, &room);
                part.came = moved.bytes as usize;
                if let Some(error) = moved.error {
                    return Err(failed(UNREADABLE)(error));
                }
                continue;
            }
            let end = view.position_at(span.start + there).clamp(part.positions.start, part.positions.end);
            part.came = (end - part.positions.start) as usize;
            let room = room.part(0, part.came);
            let taken = view.gather(part.positions.start..end, &file[..there as usize], span.start, room);
            assert!(taken, "the positions lie in what was read of the window");
        }
        Ok(())
    }

    fn read_file(&mut self, calls: &Calls<'_>, span: &Range<u64>) -> Result<u64> {
        resize(&mut self.file, (span.end - span.start) as usize)?;
        let moved = io::read_fully(calls, &PeerSpace::of(&mut self.file), span.start);
        match moved.error {
            None => Ok(moved.bytes),
            Some(error) => Err(failed(UNREADABLE)(error)),
        }
    }

    /// Gives each rank what there is of its bytes.
    fn answer(&mut self, all: &mut Exchange, state: &mut State) {
        let Window { parts, stage, .. } = self;
        for part in parts.iter_mut().filter(|part| part.own.is_none()) {
            let bytes = match part.came {
                0 => of_vec(&[]),
                came => of_vec(&stage[part.at..part.at + came]),
            };
            if all.reaches_into(all.me, part.rank) {
                all.copy(part, |node, peer, address| node.write(peer, address, bytes));
                continue;
            }
            // Over when it is received, as in `flow`.
            let (to, data) = (part.rank as i32, Data::Contiguous(bytes));
            match start_send(state, Mode::Synchronous, data, to, all.tag, all.comm) {
                Ok(id) => part.id = id,
                Err(error) => all.fail(error),
            }
        }
    }

    /// What is to be written, and memory for that.
    pub fn parts<'a>(&'a mut self, views: &'a Views) -> (Vec<io::Part<'a>>, &'a mut Scratch) {
        let Window { parts, stage, scratch, .. } = self;
        let part = |part: &'a Part| io::Part {
            view: &views[part.rank],
            positions: part.positions.clone(),
            bytes: part.bytes(stage),
        };
        (parts.iter().map(part).collect(), scratch)
    }

    /// What a stage takes over.
    pub(crate) fn take_pieces(&mut self, views: &Views) -> (Vec<Piece>, Vec<u8>) {
        let piece = |part: &Part| Piece { view: views[part.rank].clone(), positions: part.positions.clone() };
        (self.parts.iter().map(piece).collect(), std::mem::take(&mut self.stage))
    }
}

const UNREADABLE: &str = "the system could not read the file";

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
                abi::ERR_PROC_ABORTED,
                "the memory of a process of this node cannot be reached any more",
            ));
        }
    }
}
