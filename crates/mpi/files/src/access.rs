//! Independent data access (MPI-5.0 sections 14.4.2 to 14.4.4): from the arguments of a call to bytes that moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::{Address, Count, Error, Result, Status};
use engine::{Afterlife, Lane, Operation, Work};
use io::{Access, Direction, Memory, Posix, Stage};
use platform::Blocking;
use pml::Done;

use super::buffer::Buffer;
use super::collective::Collective;
use super::datarep::Conversion;
use super::staged::{self, AccessPath};
use super::{FILES, File, Pointer, failed, file_of};
use objects::domain::Token;
use objects::handle::RequestKey;
use objects::state::State;

/// One data access: where, and from or to what memory.
pub struct Transfer {
    file: abi::File,
    pub storage: Arc<Posix>,
    written: Arc<AtomicBool>,
    pub direction: Direction,
    pub access: Access,
    pub buffer: Buffer,
    /// Between memory and the representation in the file, where they differ.
    conversion: Option<Conversion>,
    /// Bytes of the program's memory that a conversion has filled or read.
    converted: Option<u64>,
    /// All bytes that can be are here, and the program must convert them; how they came.
    due: Option<Result<()>>,
    /// How it ended, once it has.
    ended: Option<Result<()>>,
    /// Takes what is written, where writes are staged.
    stage: Option<Arc<Stage>>,
}

/// What a call asks for, independent of the file.
#[derive(Clone, Copy)]
pub struct Request {
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
        if request.pointer == Pointer::Shared && file_of(&t.lock(), fh)?.shared.far().is_some() {
            return Transfer::prepare_far(t, fh, request);
        }
        Transfer::prepared(t, fh, request, |file, bytes| file.take_position(request.pointer, bytes))
    }

    /// As [`Transfer::prepare`], where another process keeps the shared pointer.
    fn prepare_far(t: &mut Token, fh: abi::File, request: Request) -> Result<Transfer> {
        let mut etypes = 0;
        let mut transfer = Transfer::prepared(t, fh, request, |file, bytes| {
            etypes = file.etypes_of(bytes)?;
            Ok(0)
        })?;
        transfer.begin_at(super::shared::moved(t, fh, etypes)?)?;
        Ok(transfer)
    }

    /// As [`Transfer::prepare`], for an access in the order of ranks, whose place is not known yet.
    pub(crate) fn prepare_ordered(t: &mut Token, fh: abi::File, request: Request) -> Result<Transfer> {
        Transfer::prepared(t, fh, request, |file, bytes| {
            if !file.shared.is_there() {
                file.shared.get()?;
            }
            file.etypes_of(bytes).map(|_| 0)
        })
    }

    fn prepared(
        t: &mut Token,
        fh: abi::File,
        request: Request,
        position: impl FnOnce(&mut File, u64) -> Result<u64>,
    ) -> Result<Transfer> {
        let Request { direction, pointer, buf, count, datatype } = request;
        let foreign = {
            let state = t.lock();
            let file = file_of(&state, fh)?;
            file.allow(direction, pointer)?;
            match file.representation.is_native() {
                true => None,
                false => {
                    Some((file.representation.clone(), state.types.items(buf, count, datatype)?.shared()))
                }
            }
        };
        let (buffer, conversion) = match foreign {
            None => (Buffer::User(t.lock().data(buf, count, datatype)?), None),
            Some((representation, shared)) => {
                let (conversion, mut staged) =
                    Conversion::new(t, representation, buf, count, shared, datatype)?;
                if direction == Direction::Write {
                    conversion.encode(t, &mut staged)?;
                }
                (Buffer::Staged(staged), Some(conversion))
            }
        };
        let bytes = buffer.total();
        let mut state = t.lock();
        let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
        let position = position(file, bytes)?;
        let access = Access::new(file.view.clone(), direction, position, bytes, file.tuning());
        let stage = if direction == Direction::Write { file.stage_in_use() } else { None };
        Ok(Transfer {
            file: fh,
            storage: file.storage.clone(),
            written: file.written.clone(),
            direction,
            access,
            buffer,
            conversion,
            converted: None,
            due: None,
            ended: None,
            stage,
        })
    }

    /// Has written what this access must not overtake, which may go anywhere if its place is not known yet.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED`: a process that may hold data is lost.
    pub fn settle(&self, t: &mut Token, way: AccessPath, placed: bool) -> Result<()> {
        if file_of(&t.lock(), self.file)?.staged.is_none() {
            return Ok(());
        }
        let way = if way == AccessPath::Staged && self.stage.is_none() { AccessPath::Direct } else { way };
        let span = if placed { self.access.span() } else { 0..u64::MAX };
        staged::settle(t, self.file, self.direction, way, &span)
    }

    /// Takes what is written, where writes are staged.
    pub fn stage(&self) -> Option<&Arc<Stage>> {
        self.stage.as_ref()
    }

    /// Whether this process has written.
    pub fn written(&self) -> &Arc<AtomicBool> {
        &self.written
    }

    /// Has an ordered access begin at an offset, in etypes.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`: behind the end of the view.
    pub fn begin_at(&mut self, offset: i64) -> Result<()> {
        let position = self.access.view().position_of(offset)?;
        self.access.begin_at(position);
        Ok(())
    }

    /// Whether each process may access its own pieces without any loss: others on this host share the file's cache, and
    /// nothing has to be locked.
    pub fn is_local(&self) -> bool {
        self.storage.kind() == io::Kind::Local && !self.access.takes_locks()
    }

    /// Etypes of the view that it moves.
    pub fn etypes(&self) -> u64 {
        self.buffer.total().checked_div(self.access.view().etype_size()).unwrap_or(0)
    }

    /// Moves all bytes.
    pub fn run(&mut self, blocking: &Blocking<'_>) {
        let moved = self.take_moving().run(blocking);
        self.come_back(moved);
    }

    /// What moves its bytes; it is without them until they come back.
    pub(crate) fn take_moving(&mut self) -> Moving {
        let nothing = Access::new(self.access.view().clone(), self.direction, 0, 0, self.access.tuning());
        Moving {
            storage: self.storage.clone(),
            access: std::mem::replace(&mut self.access, nothing),
            buffer: std::mem::replace(&mut self.buffer, Buffer::Staged(Vec::new())),
            stage: self.stage.clone(),
        }
    }

    /// Its bytes were moved.
    pub fn come_back(&mut self, (moving, moved): Moved) {
        (self.access, self.buffer) = (moving.access, moving.buffer);
        self.end(moved);
    }

    /// The thread that is to move them.
    pub fn lane(&self) -> Lane {
        let of = if self.direction == Direction::Read { Use::Read } else { Use::Write };
        lane(&self.storage, self.access.takes_locks(), of)
    }

    fn end(&mut self, moved: std::io::Result<()>) {
        let moved = moved.map_err(failed(match self.direction {
            Direction::Read => "the system could not read the file",
            Direction::Write => "the system could not write the file",
        }));
        self.end_with(moved);
    }

    /// All bytes that can be were moved, by whatever way.
    pub(crate) fn end_with(&mut self, moved: Result<()>) {
        let done = self.access.done() as usize;
        if self.direction == Direction::Write && done > 0 {
            self.written.store(true, Ordering::Relaxed);
        }
        let (Some(conversion), Buffer::Staged(staged)) = (&self.conversion, &mut self.buffer) else {
            self.ended = Some(moved);
            return;
        };
        match self.direction {
            Direction::Write => {
                self.converted = Some(conversion.in_memory(done as u64));
                self.ended = Some(moved);
            }
            Direction::Read if conversion.calls_program() => self.due = Some(moved),
            Direction::Read => {
                self.ended = Some(match conversion.decode_unaided(&mut staged[..done]) {
                    Ok(bytes) => {
                        self.converted = Some(bytes);
                        moved
                    }
                    Err(error) => Err(error),
                })
            }
        }
    }

    /// Has the program convert what was read, if that is due.
    pub fn deliver(&mut self, t: &mut Token) {
        if let Some(due) = self.take_due() {
            let delivered = due.run(t);
            self.delivered(delivered);
        }
    }

    /// What the program must do before the access is over.
    pub(crate) fn take_due(&mut self) -> Option<Due> {
        let moved = self.due.take()?;
        let conversion = self.conversion.take()?;
        let Buffer::Staged(staged) = &mut self.buffer else { return None };
        let mut staged = std::mem::take(staged);
        staged.truncate(self.access.done() as usize);
        Some(Due { conversion, staged, moved })
    }

    /// The program has done it.
    pub fn delivered(&mut self, (bytes, result): (u64, Result<()>)) {
        self.converted = Some(bytes);
        self.ended = Some(result);
    }

    /// Whether the program must convert what was read.
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// What the call returns, once it is over.
    pub fn result(&self) -> Result<()> {
        self.ended.unwrap_or(Ok(()))
    }

    /// What is in the status.
    pub fn status(&self) -> Status {
        let bytes = self.converted.unwrap_or(self.access.done());
        Status::new(abi::ANY_SOURCE, abi::ANY_TAG, bytes)
    }
}

/// A conversion that the program does.
pub struct Due {
    conversion: Conversion,
    staged: Vec<u8>,
    moved: Result<()>,
}

impl Due {
    /// Has it done; the bytes that it has filled, and what came of the access.
    pub fn run(mut self, t: &mut Token) -> (u64, Result<()>) {
        match self.conversion.decode(t, &mut self.staged) {
            Ok(bytes) => (bytes, self.moved),
            Err(error) => (0, Err(error)),
        }
    }
}

/// Has the program convert what a nonblocking access has read, if one waits for that.
fn convert_due(t: &mut Token) {
    let due = {
        let mut state = t.lock();
        let Some(key) = FILES.get_mut(&mut state.tables).conversions.pop_front() else { return };
        transfer_of(&mut state, key).and_then(Transfer::take_due).map(|due| (key, due))
    };
    let Some((key, due)) = due else { return };
    let delivered = due.run(t);
    let mut state = t.lock();
    state.threads.changed();
    if let Some(transfer) = transfer_of(&mut state, key) {
        transfer.delivered(delivered);
    }
}

/// The program has to convert what a nonblocking access has read.
pub(super) fn convert(state: &mut State, key: u32) {
    FILES.get_mut(&mut state.tables).conversions.push_back(key);
    state.due.push_back(convert_due);
}

/// What a nonblocking access has come to: its file keeps a failure.
pub(super) fn note_failure(state: &mut State, fh: abi::File, result: Result<()>) {
    if let (Err(error), Ok(file)) = (result, FILES.get_mut(&mut state.tables).get_mut(fh)) {
        file.failure = Some(error);
    }
}

/// The access of a request.
fn transfer_of(state: &mut State, key: u32) -> Option<&mut Transfer> {
    if state.requests.get_as::<Collective>(key).is_some() {
        return state.requests.get_as::<Collective>(key)?.transfer();
    }
    state.requests.get_as::<Transfer>(key)
}

/// Accesses up to this length are over before the call returns; longer ones are moved by another thread.
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
    transfer.settle(t, AccessPath::Staged, true)?;
    transfer.run(&t.may_block());
    transfer.deliver(t);
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
    let prompt = transfer.storage.is_prompt() && !transfer.access.takes_locks();
    if prompt && transfer.buffer.total() <= AT_ONCE {
        transfer.settle(t, AccessPath::Staged, true)?;
        transfer.run(&t.may_block());
        transfer.deliver(t);
        let key = t.lock().requests.add(transfer)?;
        *request = RequestKey::Operation(key).handle();
        return Ok(());
    }
    // The worker writes at once: the program does not wait for it anyway.
    transfer.settle(t, AccessPath::Direct, true)?;
    let lane = transfer.lane();
    let moving = Moving { stage: None, ..transfer.take_moving() };
    let key = t.lock().requests.add(transfer)?;
    let started = engine::run_blocking(
        lane,
        |blocking| moving.run(blocking),
        move |state: &mut State, moved| take_moved(state, key, moved),
    );
    if let Err(error) = started {
        t.lock().requests.remove(key);
        return Err(error);
    }
    *request = RequestKey::Operation(key).handle();
    Ok(())
}

/// What another thread needs to move the bytes of an access.
pub struct Moving {
    storage: Arc<Posix>,
    access: Access,
    buffer: Buffer,
    stage: Option<Arc<Stage>>,
}

/// What has come of it.
pub type Moved = (Moving, std::io::Result<()>);

impl Moving {
    /// Moves the bytes of the access.
    pub fn run(mut self, blocking: &Blocking<'_>) -> Moved {
        let Moving { storage, access, buffer, stage } = &mut self;
        let calls = storage.calls(blocking);
        let moved = match stage {
            Some(stage) => access.run_staged(stage, &calls, buffer, &|| staged::start(stage, storage)),
            None => access.run(&calls, buffer),
        };
        (self, moved)
    }
}

/// What a thread of the library does with a file.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Windows of collective accesses.
    Together = 0,
    Read = 1,
    Write = 2,
    /// Writes what is staged.
    Behind = 3,
    /// Any access that waits for locks.
    Locked = 4,
}

/// Which threads do it: those of all files where each call ends by itself, soon; else some for this file alone, so that one
/// that stands still stops no other.
pub(super) fn lane(storage: &Arc<Posix>, locks: bool, of: Use) -> Lane {
    if storage.is_prompt() && !locks {
        return Lane::Pool;
    }
    let of = if locks { Use::Locked } else { of };
    // The address is that of a file as long as it is open, and a multiple of 8.
    let key = Arc::as_ptr(storage) as usize as u64 | of as u64;
    Lane::Own { key, most: if locks || !storage.is_regular() { 1 } else { MOST_OF_FILE } }
}

/// Calls at a time on a file whose file system asks other hosts.
const MOST_OF_FILE: usize = 4;

/// Another thread has moved the bytes of a nonblocking access.
fn take_moved(state: &mut State, key: u32, moved: Moved) {
    let Some(transfer) = state.requests.get_as::<Transfer>(key) else { return };
    transfer.come_back(moved);
    let (file, result, due) = (transfer.file, transfer.result(), transfer.due.is_some());
    if due {
        convert(state, key);
    }
    note_failure(state, file, result);
}

impl Operation<State> for Transfer {
    fn work(&self) -> Option<Work> {
        Some(Work::File)
    }

    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        let error = self.result().map_or_else(|error| error.class, |()| abi::SUCCESS);
        Done { status: self.status(), error, owner: self.file.0 as u32 }
    }

    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.ended.is_some() { Afterlife::Gone } else { Afterlife::UntilOver { register: true } }
    }
}
