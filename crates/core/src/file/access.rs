//! Independent data access (MPI-5.0 sections 14.4.2 to 14.4.4): from the arguments of a call to bytes that moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::{Address, Count, Error, Result, Status};
use engine::{Afterlife, Operation, Turn};
use io::{Access, Direction, Memory, Posix};
use pml::Done;

use super::buffer::Buffer;
use super::{File, Pointer, failed};
use crate::domain::Token;
use crate::handle::RequestKey;
use crate::state::State;

/// One data access: where, and from or to what memory.
pub(crate) struct Transfer {
    file: abi::File,
    storage: Arc<Posix>,
    written: Arc<AtomicBool>,
    direction: Direction,
    access: Access,
    buffer: Buffer,
    /// How it ended, once it has.
    ended: Option<Result<()>>,
}

/// What a call asks for, independent of the file.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub direction: Direction,
    pub pointer: Pointer,
    pub buf: Address,
    pub count: Count,
    pub datatype: abi::Datatype,
}

impl Transfer {
    /// Checks a call, and moves the pointer that it uses.
    ///
    /// # Errors
    /// Those of the arguments; no pointer has moved.
    pub fn prepare(t: &mut Token, fh: abi::File, request: Request) -> Result<Transfer> {
        let mut state = t.lock();
        let Request { direction, pointer, buf, count, datatype } = request;
        state.file(fh)?.allow(direction, pointer)?;
        let data = state.data(buf, count, datatype)?;
        let bytes = data.total();
        let file = state.files.get_mut(fh)?;
        let position = file.take_position(pointer, bytes)?;
        let access = Access::new(file.view.clone(), direction, position, bytes, file.tuning());
        Ok(Transfer {
            file: fh,
            storage: file.storage.clone(),
            written: file.written.clone(),
            direction,
            access,
            buffer: Buffer::User(data),
            ended: None,
        })
    }

    /// Moves all bytes.
    pub fn run(&mut self) {
        let moved = self.access.run(&*self.storage, &mut self.buffer);
        self.end(moved);
    }

    fn end(&mut self, moved: std::io::Result<()>) {
        if self.direction == Direction::Write && self.access.done() > 0 {
            self.written.store(true, Ordering::Relaxed);
        }
        self.ended = Some(moved.map_err(failed(match self.direction {
            Direction::Read => "the system could not read the file",
            Direction::Write => "the system could not write the file",
        })));
    }

    /// Moves some bytes.
    fn step(&mut self) {
        let moved = self.access.step(&*self.storage, &mut self.buffer, STEP);
        if moved.is_err() || self.access.is_over() {
            self.end(moved);
        }
    }

    /// What the call returns, once it is over.
    pub fn result(&self) -> Result<()> {
        self.ended.unwrap_or(Ok(()))
    }

    /// What is in the status.
    pub fn status(&self) -> Status {
        Status::new(abi::ANY_SOURCE, abi::ANY_TAG, self.access.done())
    }
}

/// Bytes that progress moves at a time.
const STEP: u64 = 4 << 20;
/// Accesses up to this length are over before the call returns.
const AT_ONCE: u64 = 256 << 10;

impl File {
    /// Whether the modes of the file allow an access.
    fn allow(&self, direction: Direction, pointer: Pointer) -> Result<()> {
        if pointer != Pointer::Shared {
            self.refuse_sequential()?;
        }
        match direction {
            Direction::Write if self.amode & abi::MODE_RDONLY != 0 => {
                Err(Error::new(abi::ERR_READ_ONLY, "the file was opened with MPI_MODE_RDONLY"))
            }
            Direction::Read if self.amode & abi::MODE_WRONLY != 0 => {
                Err(Error::new(abi::ERR_ACCESS, "the file was opened with MPI_MODE_WRONLY"))
            }
            _ => Ok(()),
        }
    }

    /// The position in the view where an access of `bytes` bytes begins; the pointer that it uses moves behind its end.
    fn take_position(&mut self, pointer: Pointer, bytes: u64) -> Result<u64> {
        let etypes = self.etypes_of(bytes)?;
        let offset = match pointer {
            Pointer::At(offset) => offset,
            Pointer::Individual => self.offset,
            Pointer::Shared => self.shared.get()?,
        };
        let end = offset.checked_add(etypes);
        let end = end.ok_or(Error::new(abi::ERR_ARG, "the access ends behind all offsets"))?;
        self.view.position_of(end)?;
        let first = match pointer {
            Pointer::At(_) => offset,
            Pointer::Individual => std::mem::replace(&mut self.offset, end),
            Pointer::Shared => self.shared.take(etypes)?,
        };
        self.view.position_of(first)
    }

    /// Bytes as etypes of the view.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if they are not a whole number of them.
    pub fn etypes_of(&self, bytes: u64) -> Result<i64> {
        match self.view.etype_size() {
            0 if bytes == 0 => Ok(0),
            size if size > 0 && bytes.is_multiple_of(size) => Ok((bytes / size) as i64),
            _ => Err(Error::new(abi::ERR_ARG, "the data are not a whole number of etypes of the view")),
        }
    }
}

/// `MPI_File_read_at`, `MPI_File_write`, `MPI_File_read_shared` …
pub fn blocking(
    t: &mut Token,
    direction: Direction,
    pointer: Pointer,
    fh: abi::File,
    buf: Address,
    count: Count,
    datatype: abi::Datatype,
    status: Option<&mut Status>,
) -> Result<()> {
    let mut transfer = Transfer::prepare(t, fh, Request { direction, pointer, buf, count, datatype })?;
    transfer.run();
    if let Some(status) = status {
        status.fill(&transfer.status());
    }
    transfer.result()
}

/// `MPI_File_iread_at`, `MPI_File_iwrite`, `MPI_File_iread_shared` …
pub fn nonblocking(
    t: &mut Token,
    direction: Direction,
    pointer: Pointer,
    fh: abi::File,
    buf: Address,
    count: Count,
    datatype: abi::Datatype,
    request: &mut abi::Request,
) -> Result<()> {
    let mut transfer = Transfer::prepare(t, fh, Request { direction, pointer, buf, count, datatype })?;
    let short = transfer.buffer.total() <= AT_ONCE;
    if short || transfer.access.takes_locks() {
        transfer.run();
    }
    let over = transfer.ended.is_some();
    let mut state = t.lock();
    let key = state.requests.add(transfer)?;
    if !over {
        state.requests.register(key);
    }
    *request = RequestKey::Operation(key).handle();
    Ok(())
}

impl Operation<State> for Transfer {
    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        let error = self.result().map_or_else(|error| error.class, |()| abi::SUCCESS);
        Done { status: self.status(), error, owner: self.file.0 as u32 }
    }

    fn advance(&mut self, _state: &mut State, _key: u32) -> Turn {
        if self.ended.is_none() {
            self.step();
        }
        if self.ended.is_some() { Turn::Rest } else { Turn::Moved }
    }

    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.ended.is_some() { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}
