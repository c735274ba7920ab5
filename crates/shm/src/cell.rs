//! Cells: buffers that a sender lends to one receiver at a time.
//!
//! ```text
//!   owner                                    receiver
//!   take a free cell
//!   fill header and payload
//!   reference through fastbox or queue  -->  check and read
//!                                       <--  mark as returned (in the cell)
//!   find the mark when cells run short
//! ```
//! Only the owner keeps lists; a receiver's one store returns a cell. Cells are reused last in first out, so a
//! pool touches no more memory than its user needs.

use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use mem::PeerBytes;

/// Header words that fit in a cell.
pub const CELL_HEADER_WORDS: usize = 8;

/// What is known of a cell's content; the payload lies elsewhere.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct CellHead {
    returned: AtomicU32,
    /// Payload bytes (low half) and header words (high half).
    shape: AtomicU64,
    header: UnsafeCell<[u64; CELL_HEADER_WORDS]>,
}

// SAFETY: the header is written by the owner before the reference is published and read by the receiver before
// it returns the cell; a peer that breaks the order makes raw words unspecified, which all readers allow for.
unsafe impl Sync for CellHead {}

impl Default for CellHead {
    fn default() -> CellHead {
        CellHead {
            returned: AtomicU32::new(0),
            shape: AtomicU64::new(0),
            header: UnsafeCell::new([0; CELL_HEADER_WORDS]),
        }
    }
}

impl CellHead {
    /// Owner: fills the head of a cell that it is about to send.
    pub fn fill(&self, header: &[u64], len: usize) {
        assert!(header.len() <= CELL_HEADER_WORDS, "a header of at most eight words");
        self.returned.store(0, Ordering::Relaxed);
        self.header.with_mut(|words| {
            // SAFETY: the header fits by the check above; the receiver does not look before the cell's
            // reference is published (Release).
            unsafe { core::ptr::copy_nonoverlapping(header.as_ptr(), words.cast(), header.len()) }
        });
        self.shape.store(len as u64 | (header.len() as u64) << 32, Ordering::Relaxed);
    }

    /// Receiver: the header and the payload's length, unless they cannot be of a cell with room for `capacity`.
    pub fn read(&self, capacity: usize) -> Option<(PeerBytes<'_>, usize)> {
        // Relaxed: ordered by the Acquire that gave us the reference.
        let shape = self.shape.load(Ordering::Relaxed);
        let (len, words) = (shape as u32 as usize, (shape >> 32) as usize);
        if len > capacity || words > CELL_HEADER_WORDS {
            return None;
        }
        // SAFETY: the header has `CELL_HEADER_WORDS` words.
        let header = self.header.with(|at| unsafe { PeerBytes::new(at.cast(), words * 8) });
        Some((header, len))
    }

    /// Receiver: gives the cell back; no view of it may be used afterwards.
    pub fn give_back(&self) {
        // Pairs with the Acquire in `Pool::oldest_returned`: our reads are over.
        self.returned.store(1, Ordering::Release);
    }
}

/// The owner's side of its cells of one size: which are free.
#[derive(Debug)]
pub struct Pool<'a> {
    heads: &'a [CellHead],
    free: Vec<u32>,
    /// Lent cells, oldest first.
    lent: std::collections::VecDeque<u32>,
}

/// Lent cells looked at before giving up: one slow receiver must not make each attempt a walk over all.
const LOOKS: usize = 4;

impl<'a> Pool<'a> {
    /// All of `heads`, none lent.
    pub fn new(heads: &'a [CellHead]) -> Pool<'a> {
        let count = heads.len() as u32;
        let lent = std::collections::VecDeque::with_capacity(heads.len());
        Pool { heads, free: (0..count).rev().collect(), lent }
    }

    /// Takes a cell; `None` when all seem to be lent.
    ///
    /// The one lent longest is tried first: it is back in most cases, and still in the caches.
    pub fn take(&mut self) -> Option<u32> {
        let cell =
            self.oldest_returned(1).or_else(|| self.free.pop()).or_else(|| self.oldest_returned(LOOKS))?;
        self.lent.push_back(cell);
        Some(cell)
    }

    /// Takes back the cell that [`Pool::take`] returned last, which was not sent after all.
    pub fn untake(&mut self) {
        self.free.extend(self.lent.pop_back());
    }

    /// The first of the oldest `looks` lent cells that was returned; those before it move to the back.
    fn oldest_returned(&mut self, looks: usize) -> Option<u32> {
        for _ in 0..looks.min(self.lent.len()) {
            let cell = *self.lent.front()?;
            // Pairs with the Release in `CellHead::give_back`.
            if self.heads[cell as usize].returned.load(Ordering::Acquire) != 0 {
                return self.lent.pop_front();
            }
            self.lent.rotate_left(1);
        }
        None
    }
}
