//! Collective data access (MPI-5.0 sections 14.4.2 to 14.4.5).
//!
//! ```text
//!   every rank:  error? bytes, first and last place ──► gathered by all
//!                  │ somebody has an error: nobody moves anything
//!                  │ ordered: rank 0 moves the shared pointer by all bytes, each begins behind the ranks before it
//!                  ▼
//!                each rank moves its own bytes
//!                  ▼
//!   one agreement on the error
//! ```
//!
//! A blocking call does this in its own time, with the state unlocked while bytes move. Nonblocking and split calls are
//! an operation that progress advances; those of one file run one after the other, in the order in which they were
//! started, and a blocking call comes after them. So all processes take the same way.

use std::collections::VecDeque;

use abi::{Address, Count, Error, Result, Status};
use engine::{Afterlife, Operation, Turn};
use io::{Choice, Direction, Memory};
use pml::Done;

use super::access::{Request, Transfer};
use super::exchange::{Exchange, MOST_WORDS, Said};
use super::staged::Way;
use super::{Pointer, elsewhere};
use crate::coll::Running;
use crate::comm::{Held, gather_words, largest, share_words};
use crate::domain::Token;
use crate::handle::RequestKey;
use crate::memory::exposed;
use crate::state::State;
use crate::wait::{wait_actively, wait_for};

/// The collective calls of a file that are under way.
#[derive(Default)]
pub(crate) struct Collectives {
    /// Operations in the order of their starts; the first one runs.
    queue: VecDeque<u32>,
    /// A split collective between its begin and its end.
    split: Option<Split>,
    /// Counts those that were started, to tell their messages apart.
    number: u32,
    /// Counts two-phase accesses, likewise.
    exchanges: u32,
}

struct Split {
    call: Call,
    buf: Address,
    request: abi::Request,
}

/// Which split collective a begin or an end belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named as the functions are")]
pub enum Call {
    ReadAll,
    ReadAtAll,
    ReadOrdered,
    WriteAll,
    WriteAtAll,
    WriteOrdered,
}

impl Call {
    fn direction(self) -> Direction {
        match self {
            Call::ReadAll | Call::ReadAtAll | Call::ReadOrdered => Direction::Read,
            Call::WriteAll | Call::WriteAtAll | Call::WriteOrdered => Direction::Write,
        }
    }
}

/// What each rank says of its part: error class, etypes, flags and in how many words its view is described, first
/// position, bytes, first place, place behind the last, address of its memory.
const WORDS: usize = 8;
/// Its view serves two-phase access.
const ABLE: u64 = 1;
/// It would rather move its own pieces, which are long: data then are copied once and not three times. Measured on a
/// tmpfs with two ranks, processor time of both for a MiB: 0.27 ms against 0.32 for pieces of 16 KiB, 0.33 both ways
/// for 4 KiB.
const LONG: u64 = 2;
/// Its memory is one run, which others may read and write.
const OPEN: u64 = 4;
/// It reads and writes the memory of all others on its node.
const REACHES: u64 = 8;
const FLAG_BITS: u32 = 4;
/// Bytes of a window where aggregators fetch from the memory of ranks: they stay in a second-level cache with what was
/// fetched.
const NEAR_WINDOW: u64 = 256 << 10;
/// Bytes of a window where writes are staged.
const STAGED_WINDOW: u64 = 1 << 20;
/// Bytes of a long piece.
const LONG_PIECE: u64 = 8 << 10;
/// Bytes of a long piece of a write that aggregators fetch from memory, where every rank has a processor: an aggregator
/// writes the pieces of all ranks by one system call, and ranks that write by themselves wait for each other in the kernel
/// (docs/measurements/files.md).
const LONG_NEAR_PIECE: u64 = 256 << 10;

/// One process's part of a collective access.
struct Part {
    comm: abi::Comm,
    rank: usize,
    ordered: bool,
    /// It reads and writes the memory of all others on its node.
    reaches: bool,
    /// Ranks of its node share processors.
    oversubscribed: bool,
    transfer: Result<Transfer>,
    /// The words that describe its view, where there are few enough; none where the aggregators know it.
    description: Option<Vec<u64>>,
}

impl Part {
    /// What this process has wrong must not leave the others waiting: it takes part, with an error.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`; `MPI_ERR_IO` while a split collective of the file is under way.
    fn prepare(t: &mut Token, fh: abi::File, request: Request) -> Result<Part> {
        let (comm, rank, reaches, oversubscribed) = {
            let mut state = t.lock();
            let file = state.file(fh)?;
            if file.collectives.split.is_some() {
                return Err(UNDER_WAY);
            }
            let comm = file.comm;
            let oversubscribed = state.node.as_ref().is_some_and(|node| node.is_oversubscribed());
            (comm, state.comm(comm)?.rank as usize, state.reaches_near(fh)?, oversubscribed)
        };
        let ordered = request.pointer == Pointer::Shared;
        let transfer = match ordered {
            true => Transfer::prepare_ordered(t, fh, request),
            false => Transfer::prepare(t, fh, request),
        };
        let described = t.lock().file(fh)?.described;
        let description = match &transfer {
            Ok(transfer) if !ordered && !described => transfer.access.view().describe(MOST_WORDS),
            _ => Some(Vec::new()),
        };
        Ok(Part { comm, rank, ordered, reaches, oversubscribed, transfer, description })
    }

    /// Has written what this access must not overtake if it goes together with those of others. Writes in the order of
    /// ranks never do. A process that cannot takes part with the error.
    fn settle(&mut self, t: &mut Token) {
        if let Ok(transfer) = &self.transfer
            && !(self.ordered && transfer.direction == Direction::Write)
            && let Err(error) = transfer.settle(t, Way::Together, !self.ordered)
        {
            self.transfer = Err(error);
        }
    }

    /// As [`Part::settle`], whatever way the access will go: it goes on without the program.
    fn settle_all(&mut self, t: &mut Token) {
        self.settle(t);
        if let Ok(transfer) = &self.transfer
            && transfer.direction == Direction::Write
            && let Err(error) = transfer.settle(t, Way::Staged, !self.ordered)
        {
            self.transfer = Err(error);
        }
    }

    /// What the others must know.
    fn words(&self) -> [u64; WORDS] {
        match &self.transfer {
            Ok(transfer) => {
                let positions = transfer.access.positions();
                let ascends = transfer.access.view().is_ascending() && !self.ordered;
                let span = if ascends { transfer.access.span() } else { 0..0 };
                let able = if ascends && self.description.is_some() { ABLE } else { 0 };
                let words = self.description.as_ref().map_or(0, |description| description.len() as u64);
                let bytes = positions.end - positions.start;
                let (runs, data, _) = transfer.access.view().density();
                let memory = transfer.buffer.contiguous();
                let near = self.reaches && memory.is_some() && !self.oversubscribed;
                let least = match transfer.direction {
                    Direction::Write if near => LONG_NEAR_PIECE,
                    _ => LONG_PIECE,
                };
                let long = bytes == 0 || (data / runs.max(1) >= least && transfer.is_local());
                let open = if memory.is_some() { OPEN } else { 0 };
                let reaches = if self.reaches { REACHES } else { 0 };
                let flags = able | open | reaches | if long { LONG } else { 0 };
                [
                    0,
                    transfer.etypes(),
                    words << FLAG_BITS | flags,
                    positions.start,
                    bytes,
                    span.start,
                    span.end,
                    memory.map_or(0, |memory| memory.address() as u64),
                ]
            }
            Err(error) => [error.class as u64, 0, 0, 0, 0, 0, 0, 0],
        }
    }

    /// Takes what all ranks have said.
    ///
    /// # Errors
    /// Somebody's: nothing is to be moved.
    fn hear(&self, all: &[u64]) -> Result<()> {
        self.transfer.as_ref().map_err(|&error| error)?;
        match all.chunks(WORDS).find(|rank| rank[0] != 0) {
            Some(rank) => Err(elsewhere(rank[0])),
            None => Ok(()),
        }
    }

    /// Moves the shared pointer for all ranks, by rank 0; where it was, one more than that, or 0 and an error.
    fn move_pointer(&self, state: &State, fh: abi::File, all: &[u64]) -> (u64, Result<()>) {
        if self.rank != 0 {
            return (0, Ok(()));
        }
        let moved = etypes(all).and_then(|etypes| {
            let file = state.file(fh)?;
            let end = file.shared.get()?.checked_add(etypes);
            file.view.position_of(end.ok_or(FAR)?)?;
            file.shared.take(etypes)
        });
        match moved {
            Ok(base) => (base as u64 + 1, Ok(())),
            Err(error) => (0, Err(error)),
        }
    }

    /// Begins behind the ranks before this one.
    fn take_place(&mut self, heard: u64, all: &[u64]) -> Result<()> {
        let base = heard.checked_sub(1).ok_or(FAR)? as i64;
        let before = etypes(&all[..self.rank * WORDS])?;
        match &mut self.transfer {
            Ok(transfer) => transfer.begin_at(base.checked_add(before).ok_or(FAR)?),
            Err(_) => Ok(()),
        }
    }

    /// The two-phase access that all ranks begin now, if it pays: they all come to the same answer.
    fn exchange(&mut self, state: &mut State, fh: abi::File, all: &[u64]) -> Option<Box<Exchange>> {
        let size = all.len() / WORDS;
        let transfer = self.transfer.as_ref().ok()?;
        let comm = self.comm;
        let together = state.shares_host(comm);
        let file = state.files.get_mut(fh).ok()?;
        let choice = match transfer.direction {
            Direction::Read if file.atomic => Choice::Disable,
            Direction::Read => file.hints.cb_read,
            Direction::Write => file.hints.cb_write,
        };
        let able = all.chunks(WORDS).all(|rank| rank[2] & ABLE != 0);
        if self.ordered || size == 1 || choice == Choice::Disable || !able {
            return None;
        }
        let extents = || all.chunks(WORDS).map(|rank| rank[5]..rank[6]).filter(|extent| !extent.is_empty());
        let span = extents().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
        let long = all.chunks(WORDS).all(|rank| rank[2] & LONG != 0);
        if choice == Choice::Automatic && (long || !io::interleave(extents())) {
            return None;
        }
        let said = all.chunks(WORDS).map(|rank| Said {
            positions: rank[3]..rank[3].saturating_add(rank[4]),
            description: (rank[2] >> FLAG_BITS) as usize,
            memory: (rank[2] & OPEN != 0).then_some(rank[7]),
            reaches: rank[2] & REACHES != 0,
        });
        let near = together && all.chunks(WORDS).all(|rank| rank[2] & OPEN != 0 && rank[2] & REACHES != 0);
        let buffer = file.hints.cb_buffer_size.min(if near { NEAR_WINDOW } else { u64::MAX });
        let plan = match transfer.stage() {
            // The same aggregator for a byte each time, so that writes stay in order.
            Some(_) => file.plan(span, size as u64, file.hints.cb_buffer_size.min(STAGED_WINDOW), true),
            None => file.plan(span, size as u64, buffer, false),
        };
        let own = transfer.access.span();
        if let Some(staged) = file.staged.as_mut().filter(|_| transfer.stage().is_some() && !own.is_empty()) {
            let before = staged.away.take().unwrap_or(own.clone());
            staged.away = Some(before.start.min(own.start)..before.end.max(own.end));
        }
        file.collectives.exchanges = file.collectives.exchanges.wrapping_add(1);
        let number = file.collectives.exchanges;
        let known = (std::mem::replace(&mut file.described, true), file.views.clone());
        let description = self.description.take().unwrap_or_default();
        let place = (fh, comm, self.rank);
        let said = said.collect();
        Some(Box::new(Exchange::new(state, transfer, place, number, plan, said, known, description)?))
    }

    fn status(&self) -> Status {
        self.transfer.as_ref().map_or(Status::EMPTY, Transfer::status)
    }
}

/// The sum of what ranks have said of their etypes.
fn etypes(all: &[u64]) -> Result<i64> {
    let sum = all.chunks(WORDS).try_fold(0i64, |sum, rank| sum.checked_add(i64::try_from(rank[1]).ok()?));
    sum.ok_or(FAR)
}

const FAR: Error = Error::new(abi::ERR_ARG, "the shared pointer would lie behind the end of the view");
const UNDER_WAY: Error = Error::new(abi::ERR_IO, "a split collective access of the file has not ended");

/// `MPI_File_read_all`, `MPI_File_write_at_all`, `MPI_File_read_ordered` …
pub fn collective(
    t: &mut Token,
    direction: Direction,
    pointer: Pointer,
    fh: abi::File,
    buf: Address,
    count: Count,
    datatype: abi::Datatype,
    status: Option<&mut Status>,
) -> Result<()> {
    let mut part = Part::prepare(t, fh, Request { direction, pointer, buf, count, datatype })?;
    come_after(t, fh);
    part.settle(t);
    let all = gather_words(t, part.comm, &part.words())?;
    let mine = move_own(t, fh, &mut part, &all);
    let class = mine.err().map_or(0, |error| error.class as u64);
    let agreed = largest(t, part.comm, class)?;
    if let Some(status) = status {
        status.fill(&part.status());
    }
    mine.and(if agreed == 0 { Ok(()) } else { Err(elsewhere(agreed)) })
}

/// Waits until the collective accesses are over that have begun: what the caller does next must not change how they go on.
pub(super) fn come_after(t: &mut Token, fh: abi::File) {
    wait_for(t, |state| match state.file(fh) {
        Ok(file) => file.collectives.queue.is_empty().then_some(()),
        Err(_) => Some(()),
    });
}

/// What this process moves in a blocking call.
fn move_own(t: &mut Token, fh: abi::File, part: &mut Part, all: &[u64]) -> Result<()> {
    part.hear(all)?;
    if part.ordered {
        let (word, moved) = part.move_pointer(&t.lock(), fh, all);
        let mut word = [word];
        share_words(t, part.comm, 0, &mut word)?;
        moved?;
        part.take_place(word[0], all)?;
    }
    let exchange = part.exchange(&mut t.lock(), fh, all);
    let Ok(transfer) = &mut part.transfer else { return Ok(()) };
    match exchange {
        None => {
            if transfer.direction == Direction::Write {
                transfer.settle(t, Way::Staged, true)?;
            }
            transfer.run();
        }
        Some(mut exchange) => wait_actively(t, |state| {
            exchange.advance(state, transfer);
            exchange.is_over().then_some(())
        }),
    }
    transfer.deliver(t);
    transfer.result()
}

/// `MPI_File_iread_all`, `MPI_File_iwrite_at_all` …
pub fn nonblocking_collective(
    t: &mut Token,
    direction: Direction,
    pointer: Pointer,
    fh: abi::File,
    buf: Address,
    count: Count,
    datatype: abi::Datatype,
    request: &mut abi::Request,
) -> Result<()> {
    let mut part = Part::prepare(t, fh, Request { direction, pointer, buf, count, datatype })?;
    part.settle_all(t);
    help(t, fh)?;
    *request = start(&mut t.lock(), fh, part)?;
    Ok(())
}

/// `MPI_File_read_all_begin` …
pub fn begin(
    t: &mut Token,
    call: Call,
    pointer: Pointer,
    fh: abi::File,
    buf: Address,
    count: Count,
    datatype: abi::Datatype,
) -> Result<()> {
    let direction = call.direction();
    let mut part = Part::prepare(t, fh, Request { direction, pointer, buf, count, datatype })?;
    part.settle_all(t);
    help(t, fh)?;
    let mut state = t.lock();
    let request = start(&mut state, fh, part)?;
    state.files.get_mut(fh)?.collectives.split = Some(Split { call, buf, request });
    Ok(())
}

/// `MPI_File_read_all_end` …
pub fn end(
    t: &mut Token,
    call: Call,
    fh: abi::File,
    buf: Address,
    status: Option<&mut Status>,
) -> Result<()> {
    let mut request = {
        let mut state = t.lock();
        let split = &mut state.files.get_mut(fh)?.collectives.split;
        match split {
            None => return Err(Error::new(abi::ERR_IO, "no split collective access of the file has begun")),
            Some(begun) if begun.call != call => {
                return Err(Error::new(abi::ERR_IO, "another split collective access of the file has begun"));
            }
            Some(begun) if begun.buf != buf => {
                return Err(Error::new(
                    abi::ERR_BUFFER,
                    "the split collective access began with another buffer",
                ));
            }
            Some(begun) => {
                let request = begun.request;
                *split = None;
                request
            }
        }
    };
    crate::request::wait(t, &mut request, status)
}

/// From the first nonblocking or split collective access of a file on, the library's thread goes on with them while the
/// program computes. Without it they wait for the program.
pub(super) fn help(t: &mut Token, fh: abi::File) -> Result<()> {
    if !t.lock().file(fh)?.helped {
        let helped = engine::need_progress(t).is_ok();
        t.lock().files.get_mut(fh)?.helped = helped;
    }
    Ok(())
}

/// A collective access that progress advances.
pub(super) struct Collective {
    file: abi::File,
    part: Part,
    step: Step,
    /// What this process says, and behind it what all say.
    words: Box<[u64]>,
    /// What the others are asked at the moment.
    running: Option<Box<Running>>,
    /// Two-phase access.
    exchange: Option<Box<Exchange>>,
    /// The first error of this process.
    mine: Result<()>,
    ended: Option<Result<()>>,
    number: u32,
    /// Moving bytes has got on.
    moves: bool,
    /// The program has been asked to convert what was read.
    waits: bool,
    #[expect(dead_code, reason = "keeps the communicator until the operation is over")]
    held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Gather,
    Place,
    Move,
    Agree,
}

/// Tags of what an operation asks all processes: above those of ordinary collectives.
const TAGS: u32 = 3 << 29;

fn start(state: &mut State, fh: abi::File, part: Part) -> Result<abi::Request> {
    let comm = part.comm;
    let size = state.comm(comm)?.size() as usize;
    let held = state.hold(comm)?;
    let file = state.files.get_mut(fh)?;
    file.collectives.number = file.collectives.number.wrapping_add(1);
    let number = file.collectives.number;
    let operation = Collective {
        file: fh,
        part,
        step: Step::Gather,
        words: vec![0; WORDS * (size + 1)].into(),
        running: None,
        exchange: None,
        mine: Ok(()),
        ended: None,
        number,
        moves: true,
        waits: false,
        held,
    };
    let key = state.requests.add(operation)?;
    let queue = &mut state.files.get_mut(fh)?.collectives.queue;
    queue.push_back(key);
    if queue.len() == 1 {
        state.requests.register(key);
        engine::advance_all(state);
    }
    Ok(RequestKey::Operation(key).handle())
}

impl Collective {
    /// This process's part, if its arguments were right.
    pub fn transfer(&mut self) -> Option<&mut Transfer> {
        self.part.transfer.as_mut().ok()
    }

    /// Takes steps until something has to be waited for; whether any was taken.
    fn go_on(&mut self, state: &mut State, key: u32) -> Result<bool> {
        let mut moved = false;
        while self.ended.is_none() {
            if !self.take_step(state, key)? {
                return Ok(moved);
            }
            moved = true;
            if self.step == Step::Move {
                return Ok(!self.waits && self.moves);
            }
        }
        Ok(true)
    }

    fn take_step(&mut self, state: &mut State, key: u32) -> Result<bool> {
        if self.step == Step::Move {
            self.move_some(state, key);
            return Ok(true);
        }
        if self.running.is_none() {
            self.ask(state)?;
        }
        let Some(running) = &mut self.running else { return Ok(false) };
        running.step(&mut state.p2p);
        if !running.is_complete() {
            return Ok(false);
        }
        running.result()?;
        self.running = None;
        self.take_answer(state);
        Ok(true)
    }

    /// Asks all processes what the present step needs.
    fn ask(&mut self, state: &mut State) -> Result<()> {
        let comm = self.part.comm;
        if self.step == Step::Gather {
            let words = self.part.words();
            self.words[..WORDS].copy_from_slice(&words);
        } else {
            self.words[0] = match self.step {
                Step::Place => {
                    let (word, moved) = self.part.move_pointer(state, self.file, &self.words[WORDS..]);
                    self.mine = self.mine.and(moved);
                    word
                }
                _ => self.mine.err().map_or(0, |error| error.class as u64),
            };
        }
        let own = exposed(&mut self.words);
        let mut running = match self.step {
            Step::Gather => Running::gathering(state, comm, own, WORDS as i64, Address(own.0 + 8 * WORDS))?,
            _ => Running::of_words(state, comm, own)?,
        };
        let asked = 4 * self.number + self.step as u32;
        running.begin_apart((TAGS | asked & ((1 << 29) - 1)) as i32)?;
        self.running = Some(running);
        Ok(())
    }

    /// Goes on with the answer.
    fn take_answer(&mut self, state: &mut State) {
        self.step = match self.step {
            Step::Gather => {
                self.mine = self.part.hear(&self.words[WORDS..]);
                match (self.mine, self.part.ordered) {
                    // Everybody knows of the error already.
                    (Err(error), _) => {
                        self.ended = Some(Err(error));
                        Step::Agree
                    }
                    (Ok(()), true) => Step::Place,
                    (Ok(()), false) => {
                        self.exchange = self.part.exchange(state, self.file, &self.words[WORDS..]);
                        Step::Move
                    }
                }
            }
            Step::Place => {
                let heard = self.words[1];
                let placed = self.part.take_place(heard, &self.words[WORDS..]);
                self.mine = self.mine.and(placed);
                if self.mine.is_ok() { Step::Move } else { Step::Agree }
            }
            Step::Move | Step::Agree => {
                let agreed = if self.words[1] == 0 { Ok(()) } else { Err(elsewhere(self.words[1])) };
                self.ended = Some(self.mine.and(agreed));
                Step::Agree
            }
        };
    }

    fn move_some(&mut self, state: &mut State, key: u32) {
        if let Ok(transfer) = &mut self.part.transfer {
            if self.waits {
                // The program converts what was read.
            } else if let Some(exchange) = &mut self.exchange {
                self.moves = exchange.advance(state, transfer);
            } else if transfer.access.takes_locks() {
                transfer.run();
            } else {
                self.moves = transfer.step();
            }
            if transfer.is_due() && !std::mem::replace(&mut self.waits, true) {
                state.files.conversions.push_back(key);
            }
            if !transfer.has_ended() {
                return;
            }
            self.mine = transfer.result();
        }
        self.step = Step::Agree;
    }

    /// The next collective access of the file begins.
    fn hand_on(&self, state: &mut State) {
        let Ok(file) = state.files.get_mut(self.file) else { return };
        file.collectives.queue.pop_front();
        if let Some(&next) = file.collectives.queue.front() {
            state.requests.register(next);
        }
    }
}

impl Operation<State> for Collective {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        let result = self.ended.unwrap_or(Ok(()));
        let error = result.map_or_else(|error| error.class, |()| abi::SUCCESS);
        Done { status: self.part.status(), error, owner: self.file.0 as u32 }
    }

    fn advance(&mut self, state: &mut State, key: u32) -> Turn {
        let moved = self.go_on(state, key).unwrap_or_else(|error| {
            self.ended = Some(Err(error));
            true
        });
        if let Some(result) = self.ended {
            state.note_failure(self.file, result);
            self.hand_on(state);
            return Turn::Rest;
        }
        if moved { Turn::Moved } else { Turn::Idle }
    }

    /// It is in the registry, or will be when its turn comes.
    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.ended.is_some() { Afterlife::Gone } else { Afterlife::UntilOver { register: false } }
    }
}
