//! Bounce buffers: buffers that a sender lends to one receiver at a time, which may send something back in them.
//!
//! ```text
//!   owner                                    receiver
//!   take a free bounce buffer
//!   fill header and payload
//!   reference through fastbox or queue  -->  check and read
//!                                            free it, and remember it
//!                                            send something back: borrow it, if it is still free
//!                                            fill header and payload
//!   check and read                      <--  reference through fastbox
//!   free it
//! ```
//! *Why it goes to and fro.* A line that the other processor has read is slow to write again: the write waits for the
//! other copy to be given up. A line that has just been read can be written fast by the reader. Measured on a Zen 4
//! server, half a ping-pong of doubles with a step of 2, in bounce buffers of 8 KiB: 16 KiB go at 15 instead of 7
//! GB/s, 256 KiB at 20 instead of 10. For the same reason an owner goes round all its bounce buffers: what lies in
//! older ones has left the caches nearest to the processors (1 MiB in bounce buffers of 512 KiB together: 19 GB/s; of
//! 256 KiB together: 10).
//!
//! Only the owner keeps lists of bounce buffers; whether one is free is one word in its head.

use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use mem::PeerBytes;

/// Header words that fit in a bounce buffer.
pub(crate) const BOUNCE_HEADER_WORDS: usize = 8;

/// What is known of a bounce buffer's content; the payload lies elsewhere.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct BounceHead {
    /// [`FREE`], [`TAKEN`] or [`BORROWED`].
    state: AtomicU32,
    /// Payload bytes (low half) and header words (high half).
    shape: AtomicU64,
    header: UnsafeCell<[u64; BOUNCE_HEADER_WORDS]>,
}

/// No process fills or reads the bounce buffer. So that a fresh segment's are free, zero.
const FREE: u32 = 0;
/// By its owner, then by the receiver.
const TAKEN: u32 = 1;
/// By a peer, then by the owner.
const BORROWED: u32 = 2;

// SAFETY: the header is written by the process that took the bounce buffer before the reference is published and read
// by the other side before it frees the bounce buffer; a peer that breaks the order makes raw words unspecified,
// which all readers allow for.
unsafe impl Sync for BounceHead {}

impl Default for BounceHead {
    fn default() -> BounceHead {
        BounceHead {
            state: AtomicU32::new(FREE),
            shape: AtomicU64::new(0),
            header: UnsafeCell::new([0; BOUNCE_HEADER_WORDS]),
        }
    }
}

impl BounceHead {
    /// Owner: takes the bounce buffer, if it is free.
    fn take(&self) -> bool {
        self.claim(TAKEN)
    }

    /// Peer: takes the bounce buffer, if it is free, to send something to its owner.
    pub fn borrow(&self) -> bool {
        self.claim(BORROWED)
    }

    fn claim(&self, state: u32) -> bool {
        // Acquire pairs with the Release in `free`: all reads of what was in it are over.
        self.state.load(Ordering::Relaxed) == FREE
            && self.state.compare_exchange(FREE, state, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Owner: whether a peer may have filled it.
    pub fn is_borrowed(&self) -> bool {
        // Relaxed: ordered by the Acquire that gave us the reference.
        self.state.load(Ordering::Relaxed) == BORROWED
    }

    /// Fills the head of a bounce buffer that was taken or borrowed, and is about to be sent.
    pub fn fill(&self, header: &[u64], len: usize) {
        assert!(header.len() <= BOUNCE_HEADER_WORDS, "a header of at most eight words");
        self.header.with_mut(|words| {
            // SAFETY: the header fits by the check above; the receiver does not look before the bounce buffer's
            // reference is published (Release).
            unsafe { core::ptr::copy_nonoverlapping(header.as_ptr(), words.cast(), header.len()) }
        });
        self.shape.store(len as u64 | (header.len() as u64) << 32, Ordering::Relaxed);
    }

    /// Receiver: the header and the payload's length, unless they cannot be of a bounce buffer with room for `capacity`.
    pub fn read(&self, capacity: usize) -> Option<(PeerBytes<'_>, usize)> {
        // Relaxed: ordered by the Acquire that gave us the reference.
        let shape = self.shape.load(Ordering::Relaxed);
        let (len, words) = (shape as u32 as usize, (shape >> 32) as usize);
        if len > capacity || words > BOUNCE_HEADER_WORDS {
            return None;
        }
        // SAFETY: the header has `BOUNCE_HEADER_WORDS` words.
        let header = self.header.with(|at| unsafe { PeerBytes::new(at.cast(), words * 8) });
        Some((header, len))
    }

    /// Receiver: the bounce buffer may be filled again; no view of it may be used afterwards.
    pub fn free(&self) {
        self.state.store(FREE, Ordering::Release);
    }
}

/// The owner's side of its bounce buffers of one size.
#[derive(Debug)]
pub struct Pool<'a> {
    heads: &'a [BounceHead],
    /// All bounce buffers, the one taken longest ago first.
    round: std::collections::VecDeque<u32>,
}

/// Bounce buffers looked at before giving up: one slow receiver must not make each attempt a walk over all.
const LOOKS: usize = 4;

impl<'a> Pool<'a> {
    /// The bounce buffers with these heads.
    pub fn new(heads: &'a [BounceHead]) -> Pool<'a> {
        Pool { heads, round: (0..heads.len() as u32).collect() }
    }

    /// Takes a bounce buffer, of those found free the one whose turn it is; `None` when all seem to be in use.
    pub fn take(&mut self) -> Option<u32> {
        for _ in 0..LOOKS.min(self.round.len()) {
            let bounce = *self.round.front()?;
            self.round.rotate_left(1);
            if self.heads[bounce as usize].take() {
                return Some(bounce);
            }
        }
        None
    }

    /// Whether any bounce buffer is free, of all and not only of those that [`Pool::take`] tries.
    pub fn has_free(&self) -> bool {
        self.heads.iter().any(|head| head.state.load(Ordering::Relaxed) == FREE)
    }

    /// Takes back the bounce buffer that [`Pool::take`] returned last, which was not sent after all.
    pub fn untake(&mut self) {
        if let Some(&bounce) = self.round.back() {
            self.heads[bounce as usize].free();
            self.round.rotate_right(1);
        }
    }
}
