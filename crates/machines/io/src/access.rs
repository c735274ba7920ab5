//! Independent access: bytes between one process's memory and a file, through a view.
//!
//! ```text
//!   memory   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓      one run, or packed into and out of a staging buffer
//!             │   │   │   │
//!   view     ▓▓▓ ▓▓▓ ▓▓▓ ▓▓▓           one run: one system call
//!             │   │   │   │            pieces: a call each; or, to read, one for all (sieving): a window of the
//!   file   ..▓▓▓.▓▓▓.▓▓▓.▓▓▓..         file is read whole
//! ```
//!
//! Writes do not sieve. What lies between the pieces belongs to others, which may write it any time without locks.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use mem::{PeerBytes, PeerSpace, UserMem};

use crate::stage::{Piece, Stage};
use crate::storage::{Moved, Sink, Storage, read_fully, write_fully};
use crate::view::View;

/// The memory of an access, as a stream of bytes.
pub trait Memory {
    /// Its length in bytes.
    fn total(&self) -> u64;
    /// The memory, where it is one run.
    fn contiguous(&self) -> Option<UserMem>;
    /// Copies from the stream at `position` to all of `into`.
    fn pack(&mut self, position: u64, into: PeerSpace<'_>);
    /// Copies `from` into the stream at `position`.
    fn unpack(&mut self, position: u64, from: PeerBytes<'_>);
}

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
}

/// How pieces are moved; see [`crate::Hints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Bytes of a window of the file that is read for the pieces in it; 0: pieces are read one by one.
    pub read_window: u64,
    /// Whether windows are read where pieces fill less than a quarter of them.
    pub read_always: bool,
    /// All that is done takes locks: other processes use the same bytes meanwhile.
    pub locked: bool,
}

/// Bytes that are packed before they are written; with what they are packed from they stay in a second-level cache.
const STAGE: usize = 512 << 10;

/// One access on its way.
#[derive(Debug)]
pub struct Access {
    view: Arc<View>,
    direction: Direction,
    /// Position in the view of the first byte.
    first: u64,
    total: u64,
    done: u64,
    ended: bool,
    tuning: Tuning,
    /// Packed bytes.
    stage: Vec<u8>,
    /// Bytes of the file.
    window: Vec<u8>,
}

impl Access {
    /// An access of `total` bytes from position `first` of a view on.
    pub fn new(view: Arc<View>, direction: Direction, first: u64, total: u64, tuning: Tuning) -> Access {
        let (stage, window) = (Vec::new(), Vec::new());
        Access { view, direction, first, total, done: 0, ended: total == 0, tuning, stage, window }
    }

    /// Has it begin at another position than was known when it was made; nothing was moved yet.
    pub fn begin_at(&mut self, first: u64) {
        self.first = first;
    }

    /// The places of the file from the first byte to behind the last; empty for no bytes.
    pub fn span(&self) -> Range<u64> {
        self.view.span(&self.positions())
    }

    /// The positions of all its bytes.
    pub fn positions(&self) -> Range<u64> {
        self.first..self.first + self.total
    }

    /// How it moves its pieces.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// The view.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// What was moved by others than [`Access::run`]: bytes from the first on; it is over.
    pub fn settle(&mut self, done: u64) {
        self.done = done.min(self.total);
        self.ended = true;
    }

    /// Bytes moved so far, from the first on without a gap.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Whether all is moved that can be.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether [`Access::run`] keeps others out.
    pub fn takes_locks(&self) -> bool {
        self.tuning.locked
    }

    /// Moves all.
    ///
    /// # Errors
    /// The system's. What [`Access::done`] counts was moved; the access is over.
    pub fn run(&mut self, storage: &dyn Storage, memory: &mut dyn Memory) -> io::Result<()> {
        if !self.tuning.locked || self.ended {
            return self.run_unlocked(storage, memory);
        }
        let range = self.span();
        storage.lock(range.clone(), self.direction == Direction::Write)?;
        let result = self.run_unlocked(storage, memory);
        let unlocked = storage.unlock(range);
        result.and(unlocked)
    }

    fn run_unlocked(&mut self, storage: &dyn Storage, memory: &mut dyn Memory) -> io::Result<()> {
        while !self.ended {
            self.step(storage, memory)?;
        }
        Ok(())
    }

    /// Moves what one step can. Takes no lock.
    fn step(&mut self, storage: &dyn Storage, memory: &mut dyn Memory) -> io::Result<()> {
        let chunk = self.total - self.done;
        let moved = match (self.view.contiguous(), self.direction) {
            (Some(start), Direction::Write) => self.write_run(storage, memory, start, chunk),
            (Some(start), Direction::Read) => self.read_run(storage, memory, start, chunk),
            (None, Direction::Write) => self.write_pieces(storage, memory, chunk),
            (None, Direction::Read) => self.read_pieces(storage, memory, chunk),
        }
        .unwrap_or_else(|error| Moved { bytes: 0, error: Some(error) });
        self.done += moved.bytes;
        self.ended |= self.done == self.total || moved.error.is_some();
        moved.error.map_or(Ok(()), Err)
    }

    /// Has a stage take all over, which a write is then done with. `start` has [`Stage::work`] called until that is done.
    ///
    /// # Errors
    /// The system's, where the stage could not take data and it was written at once; no memory.
    pub fn run_staged(
        &mut self,
        stage: &Stage,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        start: &dyn Fn(),
    ) -> io::Result<()> {
        while !self.ended {
            let (piece, bytes) = self.next_staged(stage, memory)?;
            let len = bytes.len() as u64;
            let put = stage.put(storage, std::slice::from_ref(&piece), bytes);
            self.taken(stage, storage, len, put, start)?;
        }
        Ok(())
    }

    /// The bytes that a stage takes next, packed.
    fn next_staged(&mut self, stage: &Stage, memory: &mut dyn Memory) -> io::Result<(Piece, Vec<u8>)> {
        let len = (self.total - self.done).min(stage.chunk());
        let from = self.first + self.done;
        let piece = Piece { view: self.view.clone(), positions: from..from + len };
        if let Some(run) = memory.contiguous() {
            return Ok((piece, run.part(self.done as usize, len as usize).as_bytes().to_vec()));
        }
        let mut bytes = Vec::new();
        resize(&mut bytes, len as usize)?;
        memory.pack(self.done, PeerSpace::of(&mut bytes));
        Ok((piece, bytes))
    }

    /// A stage has taken bytes over, or never will.
    fn taken(
        &mut self,
        stage: &Stage,
        storage: &dyn Storage,
        len: u64,
        taken: Result<bool, Vec<u8>>,
        start: &dyn Fn(),
    ) -> io::Result<()> {
        let moved = match taken {
            Ok(starts) => {
                if starts {
                    start();
                }
                Moved { bytes: len, error: None }
            }
            Err(bytes) => {
                stage.drain(storage);
                write_each(&self.view, storage, self.first + self.done, PeerBytes::of(&bytes))
            }
        };
        self.done += moved.bytes;
        self.ended = self.done == self.total || moved.error.is_some();
        moved.error.map_or(Ok(()), Err)
    }

    fn write_run(
        &mut self,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        start: u64,
        chunk: u64,
    ) -> io::Result<Moved> {
        let place = start + self.first + self.done;
        write_from(memory, &mut self.stage, self.done, chunk, |bytes| write_fully(storage, bytes, place))
    }

    fn read_run(
        &mut self,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        start: u64,
        chunk: u64,
    ) -> io::Result<Moved> {
        let place = start + self.first + self.done;
        let read = |room: &PeerSpace<'_>| read_fully(storage, room, place);
        let (moved, complete) = read_into(memory, &mut self.stage, self.done, chunk, read)?;
        self.ended = !complete;
        Ok(moved)
    }

    fn write_pieces(
        &mut self,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        chunk: u64,
    ) -> io::Result<Moved> {
        let from = self.first + self.done;
        let Access { view, stage, done, .. } = self;
        write_from(memory, stage, *done, chunk, |bytes| write_each(view, storage, from, bytes))
    }

    fn read_pieces(
        &mut self,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        chunk: u64,
    ) -> io::Result<Moved> {
        let from = self.first + self.done;
        if self.sieves() {
            return self.read_window(storage, memory, from, chunk);
        }
        let Access { view, stage, done, .. } = self;
        let read = |room: &PeerSpace<'_>| read_each(view, storage, from, room);
        let (moved, complete) = read_into(memory, stage, *done, chunk, read)?;
        self.ended = !complete;
        Ok(moved)
    }

    /// Whether windows are read: several pieces, and holes no longer than three times the data, unless asked for.
    fn sieves(&self) -> bool {
        let (runs, data, extent) = self.view.density();
        let mean = data / runs.max(1);
        let dense = self.tuning.read_always || (extent / 4 <= data && mean < MOST_PIECE);
        self.tuning.read_window > 0 && self.view.is_ascending() && dense
    }

    fn read_window(
        &mut self,
        storage: &dyn Storage,
        memory: &mut dyn Memory,
        from: u64,
        chunk: u64,
    ) -> io::Result<Moved> {
        let positions = self.window_from(from, chunk, self.tuning.read_window);
        let span = self.view.span(&positions);
        resize(&mut self.window, (span.end - span.start) as usize)?;
        let mut moved = read_fully(storage, &PeerSpace::of(&mut self.window), span.start);
        let there = self.view.position_at(span.start + moved.bytes).clamp(positions.start, positions.end);
        let window = &self.window[..moved.bytes as usize];
        moved.bytes = there - positions.start;
        self.ended = there < positions.end;
        let complete = match memory.contiguous() {
            Some(run) => {
                let room = run.part(self.done as usize, moved.bytes as usize);
                self.view.gather(positions.start..there, window, span.start, room.as_space())
            }
            None => {
                resize(&mut self.stage, moved.bytes as usize)?;
                let room = PeerSpace::of(&mut self.stage);
                let complete = self.view.gather(positions.start..there, window, span.start, room);
                memory.unpack(self.done, PeerBytes::of(&self.stage));
                complete
            }
        };
        assert!(complete, "the positions lie in the window that was read for them");
        Ok(moved)
    }

    /// As many positions as lie in a window of the file, at least one.
    fn window_from(&self, from: u64, most: u64, window: u64) -> Range<u64> {
        let end = self.view.position_at(self.view.place_of(from).saturating_add(window));
        from..end.min(from + most).max(from + 1)
    }
}

/// Pieces from this length on are read by themselves: a system call costs less than the holes.
const MOST_PIECE: u64 = 16 << 10;

/// Writes the pieces of a view from a position on, one by one.
pub(crate) fn write_each(view: &View, storage: &dyn Sink, from: u64, bytes: PeerBytes<'_>) -> Moved {
    let mut all = Moved::default();
    view.for_each(from..from + bytes.len() as u64, |place, len| {
        let moved = write_fully(storage, bytes.part(all.bytes as usize, len as usize), place);
        all.bytes += moved.bytes;
        all.error = moved.error;
        all.error.is_none()
    });
    all
}

/// Reads the pieces of a view from a position on, one by one, until the file ends.
pub fn read_each(view: &View, storage: &dyn Storage, from: u64, room: &PeerSpace<'_>) -> Moved {
    let mut all = Moved::default();
    view.for_each(from..from + room.len() as u64, |place, len| {
        let moved = read_fully(storage, &room.part(all.bytes as usize, len as usize), place);
        all.bytes += moved.bytes;
        all.error = moved.error;
        moved.bytes == len && all.error.is_none()
    });
    all
}

/// Writes up to `chunk` bytes of memory from `done` on: from where they are, or packed.
fn write_from(
    memory: &mut dyn Memory,
    stage: &mut Vec<u8>,
    done: u64,
    chunk: u64,
    write: impl FnOnce(PeerBytes<'_>) -> Moved,
) -> io::Result<Moved> {
    if let Some(run) = memory.contiguous() {
        return Ok(write(run.part(done as usize, chunk as usize).as_bytes()));
    }
    let stage = staged(stage, chunk)?;
    memory.pack(done, PeerSpace::of(stage));
    Ok(write(PeerBytes::of(stage)))
}

/// The way back; whether all came that was asked for.
fn read_into(
    memory: &mut dyn Memory,
    stage: &mut Vec<u8>,
    done: u64,
    chunk: u64,
    read: impl FnOnce(&PeerSpace<'_>) -> Moved,
) -> io::Result<(Moved, bool)> {
    if let Some(run) = memory.contiguous() {
        let room = run.part(done as usize, chunk as usize);
        let moved = read(&room.as_space());
        let complete = moved.bytes == room.len() as u64;
        return Ok((moved, complete));
    }
    let stage = staged(stage, chunk)?;
    let moved = read(&PeerSpace::of(stage));
    memory.unpack(done, PeerBytes::of(&stage[..moved.bytes as usize]));
    let complete = moved.bytes == stage.len() as u64;
    Ok((moved, complete))
}

/// Room for packed bytes, for at most `bytes` of them.
fn staged(stage: &mut Vec<u8>, bytes: u64) -> io::Result<&mut [u8]> {
    resize(stage, bytes.min(STAGE as u64) as usize)?;
    Ok(stage)
}

fn resize(buffer: &mut Vec<u8>, len: usize) -> io::Result<()> {
    buffer.try_reserve(len.saturating_sub(buffer.len())).map_err(|_| io::ErrorKind::OutOfMemory)?;
    buffer.resize(len, 0);
    Ok(())
}
