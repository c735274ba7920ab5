//! A fastbox: the ring from one sender to one receiver in which a short message costs one cache line.
//!
//! ```text
//!            128-byte slots, each a message of its own           blocks of data, 64 bytes each
//!          +------+------------------------------------+       +------+------+------+------+---
//!  slot 0  | word | header words, then payload          |       |  payload of slot 1  | of slot 2 ...
//!          +------+------------------------------------+       +------+------+------+------+---
//!  slot 1  | word | header words   (payload in data) ---+-------^
//!          +------+------------------------------------+
//!          | ...                                        |
//!
//!  word:  63 ...... 40   39     38 .. 36   35 .... 32        31 ...... 0
//!         sequence       valid  kind       header words      payload bytes
//! ```
//!
//! *Publishing.* The sender writes everything else, then the word (Release). The receiver polls the word of the
//! one slot it expects next (Acquire). The sequence number makes the word of an earlier lap differ from what is
//! expected, and since only words are ever stored in that place, no payload can look like one. There is no
//! shared tail: a message that fits in the first half of a slot is one line transfer.
//!
//! *Shape.* A slot is two lines, although most messages use one, because processors fetch lines in pairs: with
//! slots of one line the receiver's look at the next one disturbs the sender. And the slots of both directions
//! must stay in the first-level cache. On a Zen 4 server, half a round trip: one fixed line 47 ns; 64 slots of two
//! lines 47 to 51; 16 to 256 slots of one line 55 to 65; more than 96 slots of two lines 60 to 67.
//!
//! *Space.* The receiver tells how far it got in a line of its own, after half of the ring, or when it is idle
//! after a quarter; the sender looks there only when its last known limit is reached.
//!
//! *Data.* Where the data of a message lies follows from the lengths of the messages before it: both sides
//! compute the same cursor, no offset travels. A run never wraps; when it does not fit before the end of the
//! data, both sides skip to the start.
//!
//! *Trust.* The receiver checks kind and lengths of the word it has read. The sender masks the progress it
//! reads. Either side lying breaks their own messages only.

mod short;

use mem::{PeerBytes, PeerSpace, Source};

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

/// Bytes of a slot: two cache lines.
pub const SLOT_BYTES: usize = 128;
/// Bytes of a block of data: one cache line.
pub const BLOCK_BYTES: usize = 64;
/// Header and payload bytes that fit in a slot beside its word.
pub const BODY_BYTES: usize = SLOT_BYTES - 8;
/// Longest header, in words.
const MAX_WORDS: usize = 8;

/// One slot of the ring.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Slot {
    word: AtomicU64,
    body: UnsafeCell<[u64; BODY_BYTES / 8]>,
}

/// One line of payload.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block(UnsafeCell<[u64; BLOCK_BYTES / 8]>);

/// How far the receiver got: messages (low half) and blocks (high half), both modulo 2^32.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Progress(AtomicU64);

impl Default for Slot {
    fn default() -> Slot {
        Slot { word: AtomicU64::new(0), body: UnsafeCell::new([0; BODY_BYTES / 8]) }
    }
}

impl Default for Block {
    fn default() -> Block {
        Block(UnsafeCell::new([0; BLOCK_BYTES / 8]))
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress(AtomicU64::new(0))
    }
}

// SAFETY: the cells are written by the side that owns the slot at the time and read by the other one, as
// ordered by the words; a peer that breaks the order makes raw bytes unspecified, which all readers allow for.
unsafe impl Sync for Slot {}
// SAFETY: as for `Slot`.
unsafe impl Sync for Block {}

/// The memory of one fastbox.
#[derive(Clone, Copy, Debug)]
pub struct Fastbox<'a> {
    /// A power of two of slots, at most 2^22.
    pub slots: &'a [Slot],
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

/// Header and payload are in the slot.
const SHORT: u64 = 0;
/// The header is in the slot and the payload in the data.
const LONG: u64 = 1;
/// The slot holds a note of the transport (a reference to a cell).
const NOTE: u64 = 2;

impl Fastbox<'_> {
    /// Most blocks one message may take. With half of the ring not yet reported by the receiver and a skip of
    /// almost the same length, this still fits: an empty ring is never full.
    fn most_blocks(&self) -> usize {
        self.blocks.len() / 4
    }

    /// Largest payload that can be sent.
    pub fn largest(&self) -> usize {
        self.most_blocks() * BLOCK_BYTES
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
        let limit = VALID | (ring.slots.len() as u64) << SEQUENCE;
        Sender { ring, stamp: VALID, limit, block: 0, block_freed: 0 }
    }

    /// Largest payload that [`Sender::send`] takes.
    pub fn largest(&self) -> usize {
        self.ring.largest()
    }

    /// Sends a message whose header and payload fit in a slot ([`BODY_BYTES`]).
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    #[inline(always)]
    pub fn send_short<S: Source>(&mut self, header: &[u64], payload: &mut S) -> Result<(), Full> {
        let len = payload.remaining();
        assert!(header.len() * 8 + len <= BODY_BYTES, "a message longer than a slot");
        let slot = self.next_slot()?;
        slot.body.with_mut(|body| {
            // SAFETY: header and payload fit in the body by the check above, and the receiver does not look at
            // this slot before the word is published.
            unsafe {
                put_header(body.cast(), header);
                payload.fill(PeerSpace::new(body.cast::<u8>().add(header.len() * 8), len));
            }
        });
        self.publish(slot, SHORT, header.len(), len);
        Ok(())
    }

    /// Sends a message of at most eight header words and [`Sender::largest`] bytes of payload.
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    pub fn send<S: Source>(&mut self, header: &[u64], payload: &mut S) -> Result<(), Full> {
        let len = payload.remaining();
        if header.len() * 8 + len <= BODY_BYTES {
            return self.send_short(header, payload);
        }
        let count = len.div_ceil(BLOCK_BYTES);
        assert!(count <= self.ring.most_blocks() && header.len() <= MAX_WORDS, "a message too long");
        let slot = self.next_slot()?;
        let (first, after) = self.ring.run(self.block, count);
        self.reserve_blocks(after)?;
        let data = writable(&self.ring.blocks[first..first + count]);
        // SAFETY: slot and blocks are ours until the word is published; the header fits in the slot and the
        // payload in its blocks by the checks above.
        unsafe {
            slot.body.with_mut(|body| put_header(body.cast(), header));
            payload.fill(PeerSpace::new(data, len));
        }
        self.block = after;
        self.publish(slot, LONG, header.len(), len);
        Ok(())
    }

    /// Sends a word that means something to the transport only.
    ///
    /// # Errors
    /// [`Full`]; nothing was sent.
    pub fn send_note(&mut self, note: u64) -> Result<(), Full> {
        let slot = self.next_slot()?;
        // SAFETY: the slot is ours until it is published.
        slot.body.with_mut(|body| unsafe { body.cast::<u64>().write(note) });
        self.publish(slot, NOTE, 1, 0);
        Ok(())
    }

    /// Whether a message that needs no data would be [`Full`].
    pub fn is_full(&mut self) -> bool {
        self.next_slot().is_err()
    }

    #[inline(always)]
    fn next_slot(&mut self) -> Result<&'a Slot, Full> {
        if self.stamp == self.limit {
            self.look_at_progress();
            if self.stamp == self.limit {
                return Err(Full);
            }
        }
        Ok(slot_at(&self.ring, self.stamp))
    }

    #[inline(always)]
    fn publish(&mut self, slot: &Slot, kind: u64, words: usize, len: usize) {
        let word = self.stamp | kind << KIND | (words as u64) << WORDS | len as u64;
        // Pairs with the Acquire in `Receiver::look`.
        slot.word.store(word, Ordering::Release);
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
        self.limit = VALID | (messages + self.ring.slots.len() as u64) << SEQUENCE;
        self.block_freed = (progress >> 32) as u32;
    }
}

/// What the receiver finds in a slot.
#[derive(Debug)]
pub enum Item<'a> {
    /// A message; the views are valid until [`Receiver::advance`].
    Message(Views<'a>),
    /// What [`Sender::send_note`] was given.
    Note(u64),
    /// The sender wrote what no sender writes.
    Corrupt,
}

/// Header and payload of a message.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a> {
    /// The header, whole words.
    pub header: PeerBytes<'a>,
    /// The payload.
    pub payload: PeerBytes<'a>,
}

/// A word that has arrived, read once.
#[derive(Clone, Copy, Debug)]
pub struct Arrived(u64);

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

    /// The word of the next message, if it has arrived. The same one until [`Receiver::advance`] is called.
    #[inline(always)]
    pub fn look(&self) -> Option<Arrived> {
        // Pairs with the Release in `Sender::publish`.
        let word = slot_at(&self.ring, self.stamp).word.load(Ordering::Acquire) ^ self.stamp;
        if word >> 39 != 0 { None } else { Some(Arrived(word)) }
    }

    /// The message, if all of it is in its slot; [`Receiver::open`] says what it is otherwise.
    #[inline(always)]
    pub fn open_short(&self, word: Arrived) -> Option<Views<'a>> {
        if word.kind() != SHORT || word.words() * 8 + word.len() > BODY_BYTES {
            return None;
        }
        let body = slot_at(&self.ring, self.stamp).body.with(|body| body.cast::<u8>());
        // SAFETY: header and payload lie within the body by the check above.
        unsafe {
            let header = PeerBytes::new(body, word.words() * 8);
            Some(Views { header, payload: PeerBytes::new(body.add(word.words() * 8), word.len()) })
        }
    }

    /// Whatever the word announces.
    pub fn open(&mut self, word: Arrived) -> Item<'a> {
        if let Some(views) = self.open_short(word) {
            return Item::Message(views);
        }
        let body = slot_at(&self.ring, self.stamp).body.with(|body| body.cast::<u8>());
        if word.kind() == NOTE {
            // SAFETY: the body holds a word.
            return Item::Note(unsafe { PeerBytes::new(body, 8) }.word(0));
        }
        let count = word.len().div_ceil(BLOCK_BYTES);
        if word.kind() != LONG || word.words() > MAX_WORDS || count == 0 || count > self.ring.most_blocks() {
            return Item::Corrupt;
        }
        let (first, after) = self.ring.run(self.block, count);
        self.block_after = after;
        let data = readable(&self.ring.blocks[first..first + count]);
        // SAFETY: the header lies in the slot and the payload in its blocks by the checks above.
        unsafe {
            let header = PeerBytes::new(body, word.words() * 8);
            Item::Message(Views { header, payload: PeerBytes::new(data, word.len()) })
        }
    }

    /// Gives the current message's memory back. To be called once for each item that is not corrupt. `true`: the
    /// sender, who may wait for room, can see that there is some.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        self.stamp = self.stamp.wrapping_add(ONE);
        self.unreported += 1;
        self.block = self.block_after;
        self.tell(2)
    }

    /// To be called when there is nothing to do, the time to report early, since the store cannot delay a message
    /// sent back. The result is that of [`Receiver::advance`].
    #[inline(always)]
    pub fn idle(&mut self) -> bool {
        self.tell(4)
    }

    /// Reports if one part in `parts` of the ring was consumed and not reported; whether it did.
    #[inline(always)]
    fn tell(&mut self, parts: usize) -> bool {
        let blocks = self.block.wrapping_sub(self.block_reported) as usize;
        let due = self.unreported as usize >= self.ring.slots.len() / parts
            || blocks > self.ring.blocks.len() / parts;
        if due {
            self.report();
        }
        due
    }

    #[inline(never)]
    fn report(&mut self) {
        self.unreported = 0;
        self.block_reported = self.block;
        let messages = self.stamp >> SEQUENCE;
        // Pairs with the Acquire in `Sender::look_at_progress`: our reads of slots and blocks are over.
        self.ring.progress.0.store(u64::from(self.block) << 32 | messages, Ordering::Release);
    }
}

impl Arrived {
    #[inline(always)]
    fn kind(self) -> u64 {
        self.0 >> KIND
    }

    #[inline(always)]
    fn words(self) -> usize {
        (self.0 >> WORDS & 15) as usize
    }

    #[inline(always)]
    fn len(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }
}

#[inline(always)]
fn slot_at<'a>(ring: &Fastbox<'a>, stamp: u64) -> &'a Slot {
    let index = (stamp >> SEQUENCE) as usize & (ring.slots.len() - 1);
    // SAFETY: the number of slots is a power of two (`check_shape`), so the masked index is below it.
    unsafe { ring.slots.get_unchecked(index) }
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
    let (slots, blocks) = (ring.slots.len(), ring.blocks.len());
    assert!(slots.is_power_of_two() && slots <= 1 << 22, "a fastbox has a power of two of slots");
    assert!(blocks.is_power_of_two() && blocks <= 1 << 24, "a fastbox has a power of two of blocks");
}
