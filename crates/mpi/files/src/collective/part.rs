//! A process's part of a collective access: what it announces of it, and what follows from the announcements of all.

use abi::{Error, Result, Status};
use io::{Choice, Direction, Memory};

use crate::access::{Request, Transfer};
use crate::exchange::{Exchange, MOST_WORDS, Said, reaches_near};
use crate::shared::shares_host;
use crate::staged::AccessPath;
use crate::{FILES, Pointer, elsewhere, file_of};
use objects::domain::Token;
use objects::state::State;

/// What each rank announces of its part: error class, etypes, flags and in how many words its view is described, first
/// position, bytes, first place, place behind the last, address of its memory.
pub(super) const WORDS: usize = 8;
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
pub(super) struct Part {
    pub comm: abi::Comm,
    rank: usize,
    pub ordered: bool,
    /// It reads and writes the memory of all others on its node.
    reaches: bool,
    /// Ranks of its node share processors.
    oversubscribed: bool,
    pub transfer: Result<Transfer>,
    /// The words that describe its view, where there are few enough; none where the aggregators know it.
    description: Option<Vec<u64>>,
}

impl Part {
    /// What this process has wrong must not leave the others waiting: it takes part, with an error.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`; `MPI_ERR_IO` while a split collective of the file is under way.
    pub fn prepare(t: &mut Token, fh: abi::File, request: Request) -> Result<Part> {
        let (comm, rank, reaches, oversubscribed) = {
            let mut state = t.lock();
            let file = file_of(&state, fh)?;
            if file.collectives.split.is_some() {
                return Err(UNDER_WAY);
            }
            let comm = file.comm;
            // A process that has heard of a failure leaves its call, and its memory is the program's again.
            let may_reach = request.direction == Direction::Write || !state.failures.survives;
            let oversubscribed = state.node.as_ref().is_some_and(|node| node.is_oversubscribed());
            (
                comm,
                state.comm(comm)?.rank as usize,
                may_reach && reaches_near(&mut state, fh)?,
                oversubscribed,
            )
        };
        let ordered = request.pointer == Pointer::Shared;
        let transfer = match ordered {
            true => Transfer::prepare_ordered(t, fh, request),
            false => Transfer::prepare(t, fh, request),
        };
        let described = file_of(&t.lock(), fh)?.described;
        let description = match &transfer {
            Ok(transfer) if !ordered && !described => transfer.access.view().describe(MOST_WORDS),
            _ => Some(Vec::new()),
        };
        Ok(Part { comm, rank, ordered, reaches, oversubscribed, transfer, description })
    }

    /// Has written what this access must not overtake if it goes together with those of others. Writes in the order of
    /// ranks never do. A process that cannot takes part with the error.
    pub fn settle(&mut self, t: &mut Token) {
        if let Ok(transfer) = &self.transfer
            && !(self.ordered && transfer.direction == Direction::Write)
            && let Err(error) = transfer.settle(t, AccessPath::Together, !self.ordered)
        {
            self.transfer = Err(error);
        }
    }

    /// As [`Part::settle`], whatever way the access will go: it goes on without the program.
    pub fn settle_all(&mut self, t: &mut Token) {
        self.settle(t);
        if let Ok(transfer) = &self.transfer
            && transfer.direction == Direction::Write
            && let Err(error) = transfer.settle(t, AccessPath::Staged, !self.ordered)
        {
            self.transfer = Err(error);
        }
    }

    /// What the others must know.
    pub fn words(&self) -> [u64; WORDS] {
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

    /// Takes what all ranks have announced.
    ///
    /// # Errors
    /// That of a rank: nothing is to be moved.
    pub fn hear(&self, all: &[u64]) -> Result<()> {
        self.transfer.as_ref().map_err(|&error| error)?;
        match all.chunks(WORDS).find(|rank| rank[0] != 0) {
            Some(rank) => Err(elsewhere(rank[0])),
            None => Ok(()),
        }
    }

    /// Moves the shared pointer for all ranks, by rank 0; where it was, one more than that, or 0 and an error.
    pub fn move_pointer(&self, state: &State, fh: abi::File, all: &[u64]) -> (u64, Result<()>) {
        if self.rank != 0 {
            return (0, Ok(()));
        }
        let moved = etypes(all).and_then(|etypes| {
            let file = file_of(state, fh)?;
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
    pub fn take_place(&mut self, heard: u64, all: &[u64]) -> Result<()> {
        let base = heard.checked_sub(1).ok_or(FAR)? as i64;
        let before = etypes(&all[..self.rank * WORDS])?;
        match &mut self.transfer {
            Ok(transfer) => transfer.begin_at(base.checked_add(before).ok_or(FAR)?),
            Err(_) => Ok(()),
        }
    }

    /// The two-phase access that all ranks begin now, if it pays: they all come to the same answer.
    pub fn exchange(&mut self, state: &mut State, fh: abi::File, all: &[u64]) -> Option<Box<Exchange>> {
        let size = all.len() / WORDS;
        let transfer = self.transfer.as_ref().ok()?;
        let comm = self.comm;
        let together = shares_host(state, comm);
        let file = FILES.get_mut(&mut state.tables).get_mut(fh).ok()?;
        let choice = match transfer.direction {
            // Each process holds a lock over its own bytes, all of them: then no other access comes between them.
            _ if file.atomic => Choice::Disable,
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

    pub fn status(&self) -> Status {
        self.transfer.as_ref().map_or(Status::EMPTY, Transfer::status)
    }
}

/// The sum of the etypes that ranks have announced.
fn etypes(all: &[u64]) -> Result<i64> {
    let sum = all.chunks(WORDS).try_fold(0i64, |sum, rank| sum.checked_add(i64::try_from(rank[1]).ok()?));
    sum.ok_or(FAR)
}

const FAR: Error = Error::new(abi::ERR_ARG, "the shared pointer would lie behind the end of the view");
const UNDER_WAY: Error = Error::new(abi::ERR_IO, "a split collective access of the file has not ended");
