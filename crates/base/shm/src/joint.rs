//! The control block of a joint copy: owner and receiver of a long message move its chunks together.
//!
//! ```text
//!   owner (exposed the memory)             receiver (gets it)
//!   prepare                  --key-->      open: where to, how long, which chunks
//!   claim the next chunk  <--- cursor ---> claim the next chunk
//!   push it (process_vm_writev)            pull it (process_vm_readv)
//!   count it as pushed         ------->    wait until own and pushed chunks are all there are
//! ```
//! A chunk belongs to the side that moved the cursor past it, by compare and swap; one that is elsewhere claims
//! nothing, so either can finish alone. Each use of a block has a generation, which stands in every word that a
//! latecomer could misread.
//!
//! *Trust.* The owner checks what the receiver wrote against the exposed memory before it uses it. Counts that are
//! too high end the receiver's wait early, with wrong bytes in its buffer and nothing worse.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A control block; it belongs to the process that exposes memory.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Control {
    /// `generation << 40 | next chunk`, or [`CLOSED`] for the chunk.
    cursor: AtomicU64,
    target: AtomicU64,
    offset: AtomicU64,
    len: AtomicU64,
    chunk: AtomicU64,
    receiver: AtomicU32,
    /// The chunk that the owner claimed and could not push, plus one. It claims none after that.
    failed: AtomicU32,
    /// `generation << 40 | chunks pushed`.
    pushed: AtomicU64,
}

/// What the receiver wants moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Address in the receiver's memory.
    pub target: u64,
    /// Offset in the exposed memory.
    pub offset: u64,
    /// Bytes to copy.
    pub len: u64,
    /// Bytes of a chunk; the last one may be shorter.
    pub chunk: u64,
    /// The receiver's place on the node.
    pub receiver: u32,
}

/// The number of a use of a block, below [`GENERATIONS`].
pub type Generation = u32;
/// Generations after which the numbers begin again.
pub const GENERATIONS: u32 = 1 << 24;

const GENERATION: u32 = 40;
const LOW: u64 = (1 << GENERATION) - 1;
/// Nothing can be claimed: not opened yet, or closed early.
const CLOSED: u64 = LOW;

impl Job {
    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        self.len.div_ceil(self.chunk.max(1))
    }

    /// Offset and length of chunk `index` within the job.
    pub fn part(&self, index: u64) -> (u64, u64) {
        let start = index.saturating_mul(self.chunk).min(self.len);
        (start, self.chunk.min(self.len - start))
    }
}

impl Control {
    /// Owner: begins a use; nothing can be claimed before the receiver opens it. Also ends the use before.
    pub fn prepare(&self, generation: Generation) {
        let base = u64::from(generation) << GENERATION;
        self.failed.store(0, Ordering::Relaxed);
        self.pushed.store(base, Ordering::Relaxed);
        self.cursor.store(base | CLOSED, Ordering::Release);
    }

    /// Receiver: describes the job and lets chunks be claimed. `false`: the owner has ended this use.
    pub fn open(&self, generation: Generation, job: &Job) -> bool {
        self.target.store(job.target, Ordering::Relaxed);
        self.offset.store(job.offset, Ordering::Relaxed);
        self.len.store(job.len, Ordering::Relaxed);
        self.chunk.store(job.chunk, Ordering::Relaxed);
        self.receiver.store(job.receiver, Ordering::Relaxed);
        let base = u64::from(generation) << GENERATION;
        // Release pairs with the Acquire in `job`; Acquire with the Release in `prepare`.
        self.cursor.compare_exchange(base | CLOSED, base, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Owner: the job, if the receiver has opened it and something is left to claim.
    pub fn job(&self, generation: Generation) -> Option<Job> {
        // Pairs with the Release in `open`.
        let cursor = self.cursor.load(Ordering::Acquire);
        if cursor >> GENERATION != u64::from(generation) || cursor & LOW == CLOSED {
            return None;
        }
        let job = Job {
            target: self.target.load(Ordering::Relaxed),
            offset: self.offset.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
            chunk: self.chunk.load(Ordering::Relaxed),
            receiver: self.receiver.load(Ordering::Relaxed),
        };
        if cursor & LOW < job.chunks() { Some(job) } else { None }
    }

    /// Takes the next of `chunks` chunks, which the caller then moves. `None`: all are taken, or the use has ended.
    pub fn claim(&self, generation: Generation, chunks: u64) -> Option<u64> {
        let mut seen = self.cursor.load(Ordering::Relaxed);
        while seen >> GENERATION == u64::from(generation) && seen & LOW < chunks {
            match self.cursor.compare_exchange_weak(seen, seen + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(seen & LOW),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Owner: has pushed one more chunk, `count` in all.
    pub fn pushed(&self, generation: Generation, count: u64) {
        // Pairs with the Acquire in `progress`.
        self.pushed.store(u64::from(generation) << GENERATION | count, Ordering::Release);
    }

    /// Owner: could not push `chunk` and claims no more.
    pub fn push_failed(&self, chunk: u64) {
        self.failed.store(chunk as u32 + 1, Ordering::Release);
    }

    /// Receiver: how many chunks the owner has pushed, and the one it could not push. `None`: it has ended this use, and pushes no more.
    pub fn progress(&self, generation: Generation) -> Option<(u64, Option<u64>)> {
        // Pairs with the Release in `pushed`; what the kernel wrote for the owner is ordered by its system call.
        let pushed = self.pushed.load(Ordering::Acquire);
        let failed = self.failed.load(Ordering::Acquire);
        let is_current = pushed >> GENERATION == u64::from(generation);
        is_current.then(|| (pushed & LOW, failed.checked_sub(1).map(u64::from)))
    }

    /// Receiver: ends claiming; the chunks that were claimed by then, or `None` when the owner has ended the use.
    pub fn close(&self, generation: Generation) -> Option<u64> {
        let base = u64::from(generation) << GENERATION;
        // What the next use of the block has begun stays.
        let closed = |seen: u64| (seen >> GENERATION == u64::from(generation)).then_some(base | CLOSED);
        let before = self.cursor.fetch_update(Ordering::AcqRel, Ordering::Relaxed, closed);
        before.ok().map(|before| before & LOW)
    }
}
