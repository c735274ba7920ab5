//! Registered buffers, and the one place where views of their memory are made.
#![allow(unsafe_code, reason = "views of registered memory")]

use mem::{PeerBytes, PeerSpace, Source, UserMem};

/// Room for a message's header before the payload of a receive buffer.
pub(crate) const HEADER_ROOM: usize = 64;

/// Where pools get registered memory.
///
/// # Safety
/// What [`Blocks::block`] gives out has no other user, and stays valid as long as the transport that owns the pool.
pub unsafe trait Blocks {
    /// What the transport knows a registration by.
    type Handle: Copy;

    /// A registered block of `bytes` bytes; `extra`: not the pool's first. `None`: there is no room now.
    fn block(&mut self, bytes: usize, extra: bool) -> Option<(UserMem, Self::Handle)>;
}

/// A pool of equal buffers that grows by registered blocks.
#[derive(Debug)]
pub struct BufferPool<H> {
    all: Vec<Buffer<H>>,
    free: Vec<u32>,
    /// Bytes of one buffer, header room included.
    size: usize,
    /// Buffers of the first block.
    first: usize,
    /// Buffers of each later block.
    increment: usize,
    most: usize,
}

/// One buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer<H> {
    /// Its place in the pool.
    pub number: u32,
    memory: UserMem,
    /// The registration of its block.
    pub handle: H,
}

impl<H: Copy> BufferPool<H> {
    /// A pool of buffers with `payload` bytes (a multiple of 64) each; none is made yet.
    pub fn new(payload: usize, [first, increment, most]: [i64; 3]) -> BufferPool<H> {
        let [first, increment, most] = [first, increment, most].map(|count| count as usize);
        BufferPool { all: Vec::new(), free: Vec::new(), size: HEADER_ROOM + payload, first, increment, most }
    }

    /// Bytes of the first block.
    pub fn first_block(&self) -> usize {
        self.size * self.first.min(self.most)
    }

    /// Whether there are buffers, used or not.
    pub fn is_made(&self) -> bool {
        !self.all.is_empty()
    }

    /// Takes a buffer; `None` when all are in use and no more can be made now.
    pub fn take(&mut self, blocks: &mut impl Blocks<Handle = H>) -> Option<Buffer<H>> {
        if self.free.is_empty() {
            self.grow(blocks)?;
        }
        let number = self.free.pop()?;
        Some(self.buffer(number))
    }

    fn grow(&mut self, blocks: &mut impl Blocks<Handle = H>) -> Option<()> {
        let made = self.all.len();
        let wish = if made == 0 { self.first } else { self.increment };
        let count = wish.min(self.most - made.min(self.most));
        if count == 0 {
            return None;
        }
        let (memory, handle) = blocks.block(self.size * count, made > 0)?;
        for index in 0..count {
            let number = (made + index) as u32;
            self.all.push(Buffer { number, memory: memory.part(index * self.size, self.size), handle });
            self.free.push(number);
        }
        Some(())
    }

    /// The buffer `number`, which is in use.
    pub fn buffer(&self, number: u32) -> Buffer<H> {
        self.all[number as usize]
    }

    /// Gives a buffer back.
    pub fn give(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<H> Buffer<H> {
    /// The payload part, `len` bytes of it.
    pub fn payload(&self, len: usize) -> UserMem {
        self.memory.part(HEADER_ROOM, len)
    }

    /// Copies all that remains in `source` into the payload part; the caller has checked that it fits.
    pub fn fill<S: Source>(&self, source: &mut S) {
        let payload = self.payload(source.remaining());
        // SAFETY: `Blocks` keeps the memory valid as long as the transport lives, and a buffer has one user.
        source.fill(unsafe { PeerSpace::new(payload.address() as *mut u8, payload.len()) });
    }

    /// Keeps a message's header words before the payload.
    pub(crate) fn keep_header(&self, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            self.memory.part(index * 8, 8).write(PeerBytes::of(&word.to_ne_bytes()));
        }
    }

    /// The first `len` bytes of the payload part, until the buffer is given back.
    pub fn view(&self, len: usize) -> PeerBytes<'static> {
        lasting(self.payload(len))
    }

    /// Header and payload, until the buffer is given back.
    pub fn views(&self, words: u8, len: usize) -> (PeerBytes<'static>, PeerBytes<'static>) {
        let header = self.memory.part(0, usize::from(words) * 8);
        (lasting(header), lasting(self.payload(len)))
    }
}

/// A view without the borrow.
fn lasting(memory: UserMem) -> PeerBytes<'static> {
    // SAFETY: `Blocks` keeps the memory valid as long as the transport lives, and arrivals are released before that by
    // the contract of `btl`.
    unsafe { PeerBytes::new(memory.address() as *const u8, memory.len()) }
}
