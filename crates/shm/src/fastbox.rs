//! A fastbox: the ring from one sender to one receiver in which a short message costs one cache line.
//!
//! ```text
//!            64-byte lines, each a message of its own            blocks of data, 64 bytes each
//!          +------+------------------------------------+       +------+------+------+------+---
//!  line 0  | word | header words, then payload          |       |  payload of line 1  | of line 2 ...
//!          +------+------------------------------------+       +------+------+------+------+---
//!  line 1  | word | header words   (payload in data) ---+-------^
//!          +------+------------------------------------+
//!          | ...                                        |
//!
//!  word:  63 ...... 40   39     38 .. 36   35 .... 32        31 ...... 0
//!         sequence       valid  kind       header words      payload bytes
//! ```
//!
//! *Publishing.* The sender writes everything else, then the word (Release). The receiver polls the word of the
//! one line it expects next (Acquire). The sequence number makes the word of an earlier lap differ from what is
//! expected, and since only words are ever stored in that place, no payload can look like one. There is no
//! shared tail: a short message is one line transfer.
//!
//! *Space.* The receiver tells how far it got only every quarter of the ring, in a line of its own, and the
//! sender looks there only when its last known limit is reached.
//!
//! *Data.* Where the data of a message lies follows from the lengths of the messages before it: both sides
//! compute the same cursor, no offset travels. A run never wraps; when it does not fit before the end of the
//! data, both sides skip to the start.
//!
//! *Trust.* The receiver checks kind and lengths of the word it has read. The sender masks the progress it
//! reads. Either side lying breaks their own messages only.

use mem::{PeerBytes, PeerSpace, Source};

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// Bytes of a line and of a block of data: one cache line.
pub const LINE_BYTES: usize = 64;
/// Header and payload bytes that fit in a line beside its word.
pub const BODY_BYTES: usize = LINE_BYTES - 8;
/// Header words that fit in a line.
const LINE_HEADER_WORDS: usize = BODY_BYTES / 8;

/// One line of the ring.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Line {
    word: AtomicU64,
    body: UnsafeCell<[u64; LINE_HEADER_WORDS]>,
}

/// One line of payload.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block(UnsafeCell<[u64; 8]>);

/// How far the receiver got: messages (low half) and blocks (high half), both modulo 2^32.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Progress(AtomicU64);

// SAFETY: the cells are written by the side that owns the line at the time and read by the other one, as
// ordered by the words; a peer that breaks the order makes raw bytes unspecified, which all readers allow for.
unsafe impl Sync for Line {}
// SAFETY: as for `Line`.
unsafe impl Sync for Block {}

/// The memory of one fastbox.
#[derive(Clone, Copy, Debug)]
pub struct Fastbox<'a> {
    /// A power of two of lines, at most 2^22.
    pub lines: &'a [Line],
    /// A power of two of blocks of data, at most 2^24.
    pub blocks: &'a [Block],
    /// The receiver's line.
    pub progress: &'a Progress,
}

/// No room at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

const VALID: u64 = 1 << 39;
const KIND: u32 = 36;
const WORDS: u32 = 32;
const SEQUENCE: u32 = 40;
const ONE: u64 = 1 << SEQUENCE;

/// Header and payload are in the line.
const SHORT: u64 = 0;
/// The payload is in the data; so is the header when it does not fit in the line.
const LONG: u64 = 1;
/// The line holds a note of the transport (a reference to a cell).
const NOTE: u64 = 2;

impl Fastbox<'_> {
    /// Blocks that a message with so much payload takes, without what is skipped at the end.
    fn blocks_for(words: usize, len: usize) -> usize {
        usize::from(words > LINE_HEADER_WORDS) + len.div_ceil(LINE_BYTES)
    }

    /// Most blocks one message may take. With a quarter of the ring not yet reported by the receiver and a
    /// skip of almost the same length, this still fits: an empty ring is never full.
    fn most_blocks(&self) -> usize {
        self.blocks.len() / 4
    }

    /// Largest payload that can be sent with a header of any length.
    pub fn largest(&self) -> usize {
        self.most_blocks().saturating_sub(1) * LINE_BYTES
    }

    /// Where a run of `count` blocks begins, and the cursor after it, when the cursor is at `at`.
    fn run(&self, at: u32, count: usize) -> (usize, u32) {
        let len = self.blocks.len();
        let place = at as usize & (len - 1);
        let skip = if place + count > len { len - place } else { 0 };
        ((place + skip) & (len - 1), at.wrapping_add((skip + count) as u32))
    }
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<'a> {
    ring: Fastbox<'a>,
    /// Sequence number and valid bit of the next message, in the places they have in a word.
    stamp: u64,
    /// The stamp at which the ring may be full.
    limit: u64,
    /// Block cursor, modulo 2^32.
    block: u32,
    /// Blocks the receiver is known to have given back.
    block_freed: u32,
}

impl<'a> Sender<'a> {
    /// The sending end of an unused fastbox (all zero).
    pub fn new(ring: Fastbox<'a>) -> Sender<'a> {
        check_shape(&ring);
        let limit = VALID | (ring.lines.len() as u64) << SEQUENCE;
        Sender { ring, stamp: VALID, limit, block: 0, block_freed: 0 }
    }

    /// Largest payload that [`Sender::send`] takes.
    pub fn largest(&self) -> usize {
        self.ring.largest()
    }

    /// Sends a message whose header and payload fit in a line ([`BODY_BYTES`]).
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    #[inline(always)]
    pub fn send_short<S: Source>(&mut self, header: &[u64], payload: &mut S) -> Result<(), Full> {
        let len = payload.remaining();
        assert!(header.len() * 8 + len <= BODY_BYTES, "a message longer than a line");
        let line = self.next_line()?;
        line.body.with_mut(|body| {
            // SAFETY: header and payload fit in the body by the check above, and the receiver does not look at
            // this line before the word is published.
            unsafe {
                put_header(body.cast(), header);
                payload.fill(PeerSpace::new(body.cast::<u8>().add(header.len() * 8), len));
            }
        });
        self.publish(line, SHORT, header.len(), len);
        Ok(())
    }

    /// Sends a message of at most [`Sender::largest`] bytes of payload.
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    pub fn send<S: Source>(&mut self, header: &[u64], payload: &mut S) -> Result<(), Full> {
        let len = payload.remaining();
        if header.len() * 8 + len <= BODY_BYTES {
            return self.send_short(header, payload);
        }
        let count = Fastbox::blocks_for(header.len(), len);
        assert!(count <= self.ring.most_blocks(), "a message longer than `largest`");
        let line = self.next_line()?;
        let (first, after) = self.ring.run(self.block, count);
        self.reserve_blocks(after)?;
        let data = writable(&self.ring.blocks[first..first + count]);
        let body = line.body.with_mut(|body| body.cast::<u64>());
        // SAFETY: line and blocks are ours until the word is published. A header goes to the line if it fits
        // and to the first block otherwise; `blocks_for` counted that block and those of the payload.
        unsafe {
            if header.len() > LINE_HEADER_WORDS {
                put_header(data.cast(), header);
                payload.fill(PeerSpace::new(data.add(LINE_BYTES), len));
            } else {
                put_header(body, header);
                payload.fill(PeerSpace::new(data, len));
            }
        }
        self.block = after;
        self.publish(line, LONG, header.len(), len);
        Ok(())
    }

    /// Sends a word that means something to the transport only.
    ///
    /// # Errors
    /// [`Full`]; nothing was sent.
    pub fn send_note(&mut self, note: u64) -> Result<(), Full> {
        let line = self.next_line()?;
        // SAFETY: the line is ours until it is published.
        line.body.with_mut(|body| unsafe { body.cast::<u64>().write(note) });
        self.publish(line, NOTE, 1, 0);
        Ok(())
    }

    /// Whether a message that needs no data would be [`Full`].
    pub fn is_full(&mut self) -> bool {
        self.next_line().is_err()
    }

    #[inline(always)]
    fn next_line(&mut self) -> Result<&'a Line, Full> {
        if self.stamp == self.limit {
            self.look_at_progress();
            if self.stamp == self.limit {
                return Err(Full);
            }
        }
        Ok(line_at(&self.ring, self.stamp))
    }

    #[inline(always)]
    fn publish(&mut self, line: &Line, kind: u64, words: usize, len: usize) {
        let word = self.stamp | kind << KIND | (words as u64) << WORDS | len as u64;
        // Pairs with the Acquire in `Receiver::look`.
        line.word.store(word, Ordering::Release);
        self.stamp = self.stamp.wrapping_add(ONE);
    }

    fn reserve_blocks(&mut self, after: u32) -> Result<(), Full> {
        let fits = |freed: u32| after.wrapping_sub(freed) as usize <= self.ring.blocks.len();
        if !fits(self.block_freed) {
            self.look_at_progress();
            if !fits(self.block_freed) {
                return Err(Full);
            }
        }
        Ok(())
    }

    #[cold]
    fn look_at_progress(&mut self) {
        // Pairs with the Release in `Receiver::report`.
        let progress = self.ring.progress.0.load(Ordering::Acquire);
        let messages = progress & u64::from(u32::MAX);
        self.limit = VALID | (messages + self.ring.lines.len() as u64) << SEQUENCE;
        self.block_freed = (progress >> 32) as u32;
    }
}

/// What the receiver finds in a line.
#[derive(Debug)]
pub enum Item<'a> {
    /// A message; the views are valid until [`Receiver::advance`].
    Message { header: PeerBytes<'a>, payload: PeerBytes<'a> },
    /// What [`Sender::send_note`] was given.
    Note(u64),
    /// The sender wrote what no sender writes.
    Corrupt,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<'a> {
    ring: Fastbox<'a>,
    /// The stamp that the next message will have.
    stamp: u64,
    /// Messages consumed and not yet reported.
    unreported: u32,
    /// Blocks of messages before the current one.
    block: u32,
    /// Cursor after the blocks of the current message.
    block_after: u32,
    /// Cursor that was last reported.
    block_reported: u32,
}

impl<'a> Receiver<'a> {
    /// The receiving end of a fastbox from which nothing was received yet.
    pub fn new(ring: Fastbox<'a>) -> Receiver<'a> {
        check_shape(&ring);
        Receiver { ring, stamp: VALID, unreported: 0, block: 0, block_after: 0, block_reported: 0 }
    }

    /// The next message, if it has arrived. The same one until [`Receiver::advance`] is called.
    #[inline(always)]
    pub fn look(&mut self) -> Option<Item<'a>> {
        let line = line_at(&self.ring, self.stamp);
        // Pairs with the Release in `Sender::publish`.
        let word = line.word.load(Ordering::Acquire) ^ self.stamp;
        if word >> 39 != 0 {
            return None;
        }
        let words = (word >> WORDS & 15) as usize;
        let len = (word & u64::from(u32::MAX)) as usize;
        if word >> KIND != SHORT {
            return Some(self.look_long(line, word >> KIND, words, len));
        }
        if words * 8 + len > BODY_BYTES {
            return Some(Item::Corrupt);
        }
        let body = line.body.with(|body| body.cast::<u8>());
        // SAFETY: header and payload lie within the body by the check above.
        unsafe {
            let header = PeerBytes::new(body, words * 8);
            let payload = PeerBytes::new(body.add(words * 8), len);
            Some(Item::Message { header, payload })
        }
    }

    #[inline(never)]
    fn look_long(&mut self, line: &'a Line, kind: u64, words: usize, len: usize) -> Item<'a> {
        let body = line.body.with(|body| body.cast::<u8>());
        if kind == NOTE {
            // SAFETY: the body holds a word.
            return Item::Note(unsafe { PeerBytes::new(body, 8) }.word(0));
        }
        let count = Fastbox::blocks_for(words, len);
        if kind != LONG || words > 8 || count == 0 || count > self.ring.most_blocks() {
            return Item::Corrupt;
        }
        let (first, after) = self.ring.run(self.block, count);
        self.block_after = after;
        let data = readable(&self.ring.blocks[first..first + count]);
        // SAFETY: the `count` blocks hold header (one block, unless it is in the line) and payload, as counted.
        unsafe {
            if words > LINE_HEADER_WORDS {
                let header = PeerBytes::new(data, words * 8);
                Item::Message { header, payload: PeerBytes::new(data.add(LINE_BYTES), len) }
            } else {
                Item::Message { header: PeerBytes::new(body, words * 8), payload: PeerBytes::new(data, len) }
            }
        }
    }

    /// Gives the current message's memory back. To be called once for each item that is not corrupt.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.stamp = self.stamp.wrapping_add(ONE);
        self.unreported += 1;
        self.block = self.block_after;
        let blocks = self.block.wrapping_sub(self.block_reported) as usize;
        if self.unreported as usize >= self.ring.lines.len() / 4 || blocks > self.ring.blocks.len() / 4 {
            self.report();
        }
    }

    #[inline(never)]
    fn report(&mut self) {
        self.unreported = 0;
        self.block_reported = self.block;
        let messages = self.stamp >> SEQUENCE;
        // Pairs with the Acquire in `Sender::look_at_progress`: our reads of lines and blocks are over.
        self.ring.progress.0.store(u64::from(self.block) << 32 | messages, Ordering::Release);
    }
}

#[inline(always)]
fn line_at<'a>(ring: &Fastbox<'a>, stamp: u64) -> &'a Line {
    let index = (stamp >> SEQUENCE) as usize & (ring.lines.len() - 1);
    // SAFETY: the number of lines is a power of two (`check_shape`), so the masked index is below it.
    unsafe { ring.lines.get_unchecked(index) }
}

/// The bytes of a run of blocks, to be read.
fn readable(run: &[Block]) -> *const u8 {
    #[cfg(loom)]
    return run[0].0.with(|block| block.cast()); // loom's cells are apart: its tests use single blocks
    #[cfg(not(loom))]
    run.as_ptr().cast()
}

/// The bytes of a run of blocks, to be written.
fn writable(run: &[Block]) -> *mut u8 {
    #[cfg(loom)]
    return run[0].0.with_mut(|block| block.cast());
    #[cfg(not(loom))]
    run.as_ptr().cast_mut().cast()
}

/// # Safety
/// `to` must be writable for the header's bytes.
#[inline(always)]
unsafe fn put_header(to: *mut u64, header: &[u64]) {
    for (index, &word) in header.iter().enumerate() {
        // SAFETY: within the header's length, which the caller vouches for.
        unsafe { to.add(index).write(word) };
    }
}

fn check_shape(ring: &Fastbox<'_>) {
    let (lines, blocks) = (ring.lines.len(), ring.blocks.len());
    assert!(lines.is_power_of_two() && lines <= 1 << 22, "a fastbox has a power of two of lines");
    assert!(blocks.is_power_of_two() && blocks <= 1 << 24, "a fastbox has a power of two of blocks");
}
