//! Staged writes: data is taken over at once, kept in bounded memory or in a local file, and written behind.
//!
//! ```text
//!   writer, aggregator ──take──►  [ first | … | last ]  ──write_next──► file          one thread at a time, in order
//!                                   held: at most `limit` bytes
//!   a thread that needs room, or its data in the file ──► writes entries itself, or waits for the one that writes
//! ```
//!
//! Entries are written in the order in which they were taken, so a later write of the same bytes wins. Only bytes of an
//! entry are written, never holes between them: others may write there meanwhile. So at any time each byte of the file
//! is an old or a new one.
//!
//! An entry that fails is reported once, by [`Stage::take_error`]; those behind it are written nevertheless, as a
//! kernel does with its own cache.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use mem::PeerBytes;

use crate::batch::{Part, Scratch, span_of};
use crate::log::Log;
use crate::storage::Sink;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::view::View;

/// Data whose writing is still to come.
#[derive(Debug)]
pub struct Stage {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Bytes that are held at most.
    limit: u64,
    /// Where they are held, if not in memory.
    log: Option<Log>,
    /// One thread at a time writes to the log.
    filling: Mutex<()>,
}

#[derive(Debug)]
struct Queue {
    entries: VecDeque<Arc<Entry>>,
    /// Bytes that were taken, and bytes of entries that are through.
    counts: Counts,
    /// A thread writes the first entry.
    writing: bool,
    /// A thread will come back to write until nothing is left.
    scheduled: bool,
    error: Option<io::Error>,
    /// Memory for the one that writes.
    scratch: Option<Scratch>,
    /// Memory of an entry that is through, for the next one.
    spare: Vec<u8>,
}

/// Bytes that a stage has had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// It has taken them over.
    pub taken: u64,
    /// Of these, it holds them no longer: they were written, or have failed.
    pub written: u64,
}

/// Which bytes of an entry belong to which view, one view after the other.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The view.
    pub view: Arc<View>,
    /// Positions of the bytes in the view.
    pub positions: Range<u64>,
}

#[derive(Debug)]
struct Entry {
    pieces: Vec<Piece>,
    span: Range<u64>,
    bytes: Held,
    /// The count of bytes taken before it and behind it.
    counted: Range<u64>,
}

#[derive(Debug)]
enum Held {
    Memory(Vec<u8>),
    /// In the log, at the count of bytes taken before.
    Logged,
}

/// Why data was not taken over. It is given back.
#[derive(Debug)]
pub enum Refusal {
    /// It does not fit now.
    Full(Vec<u8>),
    /// It never fits, or the log failed.
    Never(Vec<u8>),
    /// It goes to a log, which may block.
    Blocks(Vec<u8>),
}

/// What [`Stage::work`] comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worked {
    /// There is more to write.
    More,
    /// Nothing is left; the next entry schedules anew.
    Done,
}

impl Stage {
    /// A stage that holds at most `limit` bytes in memory or in a log.
    pub fn new(limit: u64, log: Option<Log>) -> Stage {
        let queue = Queue {
            entries: VecDeque::new(),
            counts: Counts::default(),
            writing: false,
            scheduled: false,
            error: None,
            scratch: Some(Scratch::default()),
            spare: Vec::new(),
        };
        Stage { queue: Mutex::new(queue), changed: Condvar::new(), limit, log, filling: Mutex::new(()) }
    }

    /// Bytes of the longest entry that large accesses are cut into: several fit, so that taking over and writing overlap.
    pub fn chunk(&self) -> u64 {
        (self.limit / 4).clamp(1, MOST_CHUNK)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes data over without blocking: the bytes of the pieces, one after the other. Whether the caller must have
    /// [`Stage::work`] called until that is done.
    ///
    /// # Errors
    /// It does not fit, or goes to a log; the caller has the data back.
    pub fn take(&self, pieces: Vec<Piece>, bytes: Vec<u8>) -> Result<bool, Refusal> {
        match self.log {
            None => self.take_into(pieces, bytes),
            Some(_) => Err(Refusal::Blocks(bytes)),
        }
    }

    /// As [`Stage::take`], into the log, too.
    fn take_into(&self, pieces: Vec<Piece>, bytes: Vec<u8>) -> Result<bool, Refusal> {
        let _filling = self.log.as_ref().map(|_| self.filling.lock().unwrap_or_else(|e| e.into_inner()));
        let len = bytes.len() as u64;
        let counted = {
            let queue = self.queue();
            if len > self.limit {
                return Err(Refusal::Never(bytes));
            }
            if queue.counts.held() + len > self.limit {
                return Err(Refusal::Full(bytes));
            }
            if self.log.is_none() {
                return Ok(self.push(queue, pieces, Held::Memory(bytes), len));
            }
            queue.counts.taken
        };
        match self.log.as_ref().map(|log| log.write(counted, &bytes)) {
            Some(Err(_)) => Err(Refusal::Never(bytes)),
            _ => Ok(self.push(self.queue(), pieces, Held::Logged, len)),
        }
    }

    fn push(&self, mut queue: MutexGuard<'_, Queue>, pieces: Vec<Piece>, bytes: Held, len: u64) -> bool {
        let before = queue.counts.taken;
        queue.counts.taken += len;
        let span = span_of(pieces.iter().map(|piece| (&*piece.view, &piece.positions)));
        queue.entries.push_back(Arc::new(Entry { pieces, span, bytes, counted: before..before + len }));
        !std::mem::replace(&mut queue.scheduled, true)
    }

    /// As [`Stage::take`], but makes room where there is none, and writes to the log. `Err` only for what never fits.
    ///
    /// # Errors
    /// The data, and it must be written by another way, after [`Stage::settle`].
    pub fn put(&self, storage: &dyn Sink, pieces: &[Piece], mut bytes: Vec<u8>) -> Result<bool, Vec<u8>> {
        loop {
            match self.take_into(pieces.to_vec(), bytes) {
                Ok(starts) => return Ok(starts),
                Err(Refusal::Never(bytes) | Refusal::Blocks(bytes)) => return Err(bytes),
                Err(Refusal::Full(back)) => {
                    let next = self.queue().entries.front().map_or(0, |entry| entry.counted.end);
                    self.wait(storage, next);
                    bytes = back;
                }
            }
        }
    }

    /// Memory for data that will be taken over; of any length, with anything in it.
    pub fn spare(&self) -> Vec<u8> {
        std::mem::take(&mut self.queue().spare)
    }

    /// No thread could be had for [`Stage::work`]: the next entry tries again, and those that wait write themselves.
    pub fn unschedule(&self) {
        self.queue().scheduled = false;
    }

    /// Writes the first entry, for the one that was scheduled.
    pub fn work(&self, storage: &dyn Sink) -> Worked {
        let mut queue = self.queue();
        while queue.writing {
            queue = self.changed.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        if !queue.entries.is_empty() {
            queue = self.write_first(queue, storage);
        }
        queue.scheduled = !queue.entries.is_empty();
        if queue.scheduled { Worked::More } else { Worked::Done }
    }

    fn write_first<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        storage: &dyn Sink,
    ) -> MutexGuard<'a, Queue> {
        let Some(entry) = queue.entries.front().cloned() else { return queue };
        let mut scratch = queue.scratch.take().unwrap_or_default();
        queue.writing = true;
        drop(queue);
        let done = self.write(&entry, storage, &mut scratch);
        let end = entry.counted.end;
        let mut queue = self.queue();
        queue.entries.pop_front();
        if let Some(Entry { bytes: Held::Memory(bytes), .. }) = Arc::into_inner(entry) {
            queue.spare = bytes;
        }
        queue.counts.written = end;
        (queue.writing, queue.scratch) = (false, Some(scratch));
        if let Err(error) = done {
            queue.error.get_or_insert(error);
        }
        self.changed.notify_all();
        queue
    }

    fn write(&self, entry: &Entry, storage: &dyn Sink, scratch: &mut Scratch) -> io::Result<()> {
        let logged;
        let bytes = match &entry.bytes {
            Held::Memory(bytes) => bytes,
            Held::Logged => {
                logged = self.logged(entry)?;
                &logged
            }
        };
        scratch.write(storage, &entry.parts(bytes))
    }

    fn logged(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let log = self.log.as_ref().ok_or(io::ErrorKind::NotFound)?;
        log.read(entry.counted.clone())
    }

    /// Has all entries written that were taken up to a count of bytes: waits for the thread that writes, or writes itself.
    fn wait(&self, storage: &dyn Sink, count: u64) {
        let mut queue = self.queue();
        while queue.counts.written < count && !queue.entries.is_empty() {
            queue = match queue.writing {
                true => self.changed.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner()),
                false => self.write_first(queue, storage),
            };
        }
    }

    /// Returns when no byte within `span` is held that was taken before the call.
    pub fn settle(&self, storage: &dyn Sink, span: &Range<u64>) {
        let last = self.queue().last_in(span);
        self.wait(storage, last.unwrap_or(0));
    }

    /// Returns when all is written that was taken before the call.
    pub fn drain(&self, storage: &dyn Sink) {
        let all = self.counts().taken;
        self.wait(storage, all);
    }

    /// Whether a byte within `span` may be held.
    pub fn holds(&self, span: &Range<u64>) -> bool {
        self.queue().last_in(span).is_some()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.queue().entries.is_empty()
    }

    /// Bytes that were taken and written.
    pub fn counts(&self) -> Counts {
        self.queue().counts
    }

    /// The first error since the last call.
    pub fn take_error(&self) -> Option<io::Error> {
        self.queue().error.take()
    }

    /// Whether it reads and writes a log, which may block: [`Stage::peek`] does then.
    pub fn logs(&self) -> bool {
        self.log.is_some()
    }

    /// Puts the bytes that are held for the places from `at` on into `into`, and calls `mark` with where they were put.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn peek(&self, at: u64, into: &mut [u8], mut mark: impl FnMut(Range<usize>)) -> io::Result<()> {
        let range = at..at.saturating_add(into.len() as u64);
        let entries: Vec<Arc<Entry>> = {
            let queue = self.queue();
            queue.entries.iter().filter(|entry| overlap(&entry.span, &range)).cloned().collect()
        };
        for entry in entries {
            let logged;
            let bytes = match &entry.bytes {
                Held::Memory(bytes) => bytes,
                Held::Logged if self.counts().written >= entry.counted.end => continue,
                Held::Logged => {
                    logged = self.logged(&entry)?;
                    // The log's place may have been used again meanwhile; then the file has the bytes.
                    if self.counts().written >= entry.counted.end {
                        continue;
                    }
                    &logged
                }
            };
            for part in entry.parts(bytes) {
                let mut done = 0;
                part.view.for_each(part.positions.clone(), |place, len| {
                    let (start, end) = (place.max(range.start), (place + len).min(range.end));
                    if start < end {
                        let to = (start - at) as usize..(end - at) as usize;
                        let from = done + (start - place) as usize;
                        part.bytes.part(from, to.len()).copy_to(&mut into[to.clone()]);
                        mark(to);
                    }
                    done += len as usize;
                    true
                });
            }
        }
        Ok(())
    }
}

/// Bytes of the longest entry of a large access: with what they are copied from they stay in a cache of the processor.
const MOST_CHUNK: u64 = 1 << 20;

impl Counts {
    fn held(&self) -> u64 {
        self.taken - self.written
    }
}

impl Queue {
    /// The count behind the last entry that has bytes within `span`.
    fn last_in(&self, span: &Range<u64>) -> Option<u64> {
        let last = self.entries.iter().rev().find(|entry| overlap(&entry.span, span));
        last.map(|entry| entry.counted.end)
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Entry {
    fn parts<'a>(&'a self, bytes: &'a [u8]) -> Vec<Part<'a>> {
        let mut at = 0;
        let part = |Piece { view, positions }: &'a Piece| {
            let len = (positions.end - positions.start) as usize;
            let part = Part { view, positions: positions.clone(), bytes: PeerBytes::of(bytes).part(at, len) };
            at += len;
            part
        };
        self.pieces.iter().map(part).collect()
    }
}
