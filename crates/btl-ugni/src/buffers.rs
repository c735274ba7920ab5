//! Registered buffers for Eager GET, and the one place where views of the NIC's memory are made.
#![allow(unsafe_code, reason = "views of registered memory")]

use crate::memory::Room;
use crate::quota::Use;
use gni::{Gni, MemFlags, MemHandle, Result};
use mem::{PeerBytes, PeerSpace, Source, UserMem};

/// Room for a message's header before the payload of a receive buffer.
pub(crate) const HEADER_ROOM: usize = 64;

/// A pool of equal buffers that grows by registered blocks.
#[derive(Debug)]
pub(crate) struct BufferPool {
    all: Vec<Buffer>,
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
pub(crate) struct Buffer {
    pub(crate) number: u32,
    memory: UserMem,
    pub(crate) handle: MemHandle,
}

impl BufferPool {
    /// A pool of buffers with `payload` bytes (a multiple of 64) each; none is made yet.
    pub(crate) fn new(payload: usize, [first, increment, most]: [i64; 3]) -> BufferPool {
        let [first, increment, most] = [first, increment, most].map(|count| count as usize);
        BufferPool { all: Vec::new(), free: Vec::new(), size: HEADER_ROOM + payload, first, increment, most }
    }

    /// Bytes of the first block.
    pub(crate) fn first_block(&self) -> usize {
        self.size * self.first.min(self.most)
    }

    /// Takes a buffer; `None` when all are in use and no more can be made now.
    pub(crate) fn take<N: Gni>(&mut self, room: &mut Room<'_, N>) -> Option<Buffer> {
        if self.free.is_empty() {
            let extra = !self.all.is_empty();
            if extra && !room.quota.take(Use::Growth) {
                return None;
            }
            if self.grow(room).is_err() {
                if extra {
                    room.quota.give(Use::Growth);
                }
                return None;
            }
        }
        let number = self.free.pop()?;
        Some(self.buffer(number))
    }

    fn grow<N: Gni>(&mut self, room: &mut Room<'_, N>) -> Result<()> {
        let made = self.all.len();
        let wish = if made == 0 { self.first } else { self.increment };
        let count = wish.min(self.most - made.min(self.most));
        if count == 0 {
            return Err(gni::Error::Resource);
        }
        let (memory, handle) = room.block(self.size * count, None, MemFlags::RELAXED_PI_ORDERING)?;
        for index in 0..count {
            let number = (made + index) as u32;
            self.all.push(Buffer { number, memory: memory.part(index * self.size, self.size), handle });
            self.free.push(number);
        }
        Ok(())
    }

    /// The buffer `number`, which is in use.
    pub(crate) fn buffer(&self, number: u32) -> Buffer {
        self.all[number as usize]
    }

    pub(crate) fn give(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl Buffer {
    /// The payload part, `len` bytes of it.
    pub(crate) fn payload(&self, len: usize) -> UserMem {
        self.memory.part(HEADER_ROOM, len)
    }

    /// Copies all that remains in `source` into the payload part; the caller has checked that it fits.
    pub(crate) fn fill<S: Source>(&self, source: &mut S) {
        let payload = self.payload(source.remaining());
        // SAFETY: the NIC keeps the memory valid as long as it lives, and a buffer in use is nobody else's.
        source.fill(unsafe { PeerSpace::new(payload.address() as *mut u8, payload.len()) });
    }

    /// Keeps a message's header words before the payload.
    pub(crate) fn keep_header(&self, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            self.memory.part(index * 8, 8).write(PeerBytes::of(&word.to_ne_bytes()));
        }
    }

    /// Header and payload, until the buffer is given back.
    pub(crate) fn views(&self, words: u8, len: usize) -> (PeerBytes<'static>, PeerBytes<'static>) {
        let header = self.memory.part(0, usize::from(words) * 8);
        (lasting(header), lasting(self.payload(len)))
    }
}

/// A view without the borrow.
fn lasting(memory: UserMem) -> PeerBytes<'static> {
    // SAFETY: the NIC keeps the memory valid as long as it lives, and arrivals are released before that by the
    // contract of `btl`.
    unsafe { PeerBytes::new(memory.address() as *const u8, memory.len()) }
}

/// A view of bytes that stay in place until the arrival that shows them is released.
pub(crate) fn lasting_bytes(bytes: &[u8]) -> PeerBytes<'static> {
    // SAFETY: the caller keeps the bytes in a box of the transport and replaces them only when the arrival has
    // been released, which the contract of `btl` demands before the next is asked for.
    unsafe { PeerBytes::new(bytes.as_ptr(), bytes.len()) }
}
