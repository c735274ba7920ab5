//! Collective data access (MPI-5.0 sections 14.4.2 to 14.4.5).
//!
//! ```text
//!   every rank:  error? bytes, first and last place ──► gathered by all
//!                  │ a rank has an error: no rank moves anything
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

mod operation;
mod part;

use std::collections::VecDeque;

use abi::{Address, Count, Error, Result, Status};
use io::Direction;

pub(super) use self::operation::Collective;
use self::operation::start;
use self::part::Part;
use super::access::{Request, Transfer};
use super::exchange::{Exchange, forget_views};
use super::staged::AccessPath;
use super::{FILES, Pointer, elsewhere, file_of};
use collectives::{gather_words, largest, share_words};
use objects::domain::Token;
use objects::wait::{wait_actively, wait_for};

/// The collective calls of a file that are under way.
#[derive(Default)]
pub struct Collectives {
    /// Operations in the order of their starts; the first one runs.
    queue: VecDeque<u32>,
    /// A split collective between its begin and its end.
    split: Option<Split>,
    /// Counts those that were started, to distinguish their messages.
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
    if agreed != 0 {
        forget_views(&mut t.lock(), fh);
    }
    if let Some(status) = status {
        status.fill(&part.status());
    }
    mine.and(if agreed == 0 { Ok(()) } else { Err(elsewhere(agreed)) })
}

/// Waits until the collective accesses are over that have begun: what the caller does next must not change how they go on.
pub(super) fn come_after(t: &mut Token, fh: abi::File) {
    wait_for(t, |state| match file_of(state, fh) {
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
                transfer.settle(t, AccessPath::Staged, true)?;
            }
            transfer.run(&t.may_block());
        }
        Some(exchange) => run_exchange(t, *exchange, transfer),
    }
    transfer.deliver(t);
    transfer.result()
}

/// Has an exchange go on until it is over. What blocks runs with the state unlocked: here, or where data comes by messages
/// meanwhile, by another thread.
fn run_exchange(t: &mut Token, mut exchange: Exchange, transfer: &mut Transfer) {
    let far = exchange.is_far();
    loop {
        let job = wait_actively(t, |state| {
            exchange.advance(state, transfer);
            let job = exchange.take_job();
            (job.is_some() || exchange.is_over()).then_some(job)
        });
        match job {
            None => return,
            Some(job) if far => job.start_apart(),
            Some(job) => job.run(&t.may_block()).hand_in(),
        }
    }
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
    FILES.get_mut(&mut state.tables).get_mut(fh)?.collectives.split = Some(Split { call, buf, request });
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
        let split = &mut FILES.get_mut(&mut state.tables).get_mut(fh)?.collectives.split;
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
    messages::request::wait(t, &mut request, status)
}

/// From the first nonblocking or split collective access of a file on, the library's thread goes on with them while the
/// program computes. Without it they wait for the program.
pub(super) fn help(t: &mut Token, fh: abi::File) -> Result<()> {
    if !file_of(&t.lock(), fh)?.helped {
        let helped = engine::need_progress(t).is_ok();
        FILES.get_mut(&mut t.lock().tables).get_mut(fh)?.helped = helped;
    }
    Ok(())
}
