//! Payload of messages that arrived before their receive, in buffers that are used again.

use mem::PeerBytes;

/// Payload that this process keeps.
#[derive(Clone)]
pub(crate) struct Payload {
    len: u32,
    store: Store,
}

#[derive(Clone)]
enum Store {
    /// Short payload, without a buffer of its own.
    Inline([u8; INLINE]),
    Heap(Box<[u8]>),
}

const INLINE: usize = 24;

/// Least memory that a kept message is counted with: its payload's share of the record.
const LEAST: u64 = 64;

impl Payload {
    pub const EMPTY: Payload = Payload { len: 0, store: Store::Inline([0; INLINE]) };

    pub fn bytes(&self) -> PeerBytes<'_> {
        let store = match &self.store {
            Store::Inline(bytes) => &bytes[..],
            Store::Heap(bytes) => bytes,
        };
        PeerBytes::of(store).part(0, self.len as usize)
    }

    /// Memory in bytes that this takes out of the limit on unexpected payload.
    pub fn footprint(&self) -> u64 {
        match &self.store {
            Store::Inline(_) => LEAST,
            Store::Heap(bytes) => bytes.len() as u64,
        }
    }
}

/// Free buffers by size: powers of two from 64 bytes to 64 KiB. Longer ones come from the allocator each time.
#[derive(Default)]
pub(crate) struct Buffers {
    free: [Vec<Box<[u8]>>; CLASSES],
    kept: usize,
}

const SMALLEST: u32 = 6;
const CLASSES: usize = 11;
/// Bytes of free buffers that are kept for the next message.
const KEEP: usize = 1 << 20;

impl Buffers {
    /// Copies `bytes` into memory that is ours.
    pub fn keep(&mut self, bytes: PeerBytes<'_>) -> Payload {
        let len = bytes.len();
        if len <= INLINE {
            let mut store = [0; INLINE];
            bytes.copy_to(&mut store);
            return Payload { len: len as u32, store: Store::Inline(store) };
        }
        let size = len.next_power_of_two().max(1 << SMALLEST);
        let reused = Self::class(size).and_then(|class| self.free[class].pop());
        let mut store = match reused {
            Some(buffer) => {
                self.kept -= size;
                buffer
            }
            None if Self::class(size).is_some() => vec![0; size].into_boxed_slice(),
            None => vec![0; len].into_boxed_slice(),
        };
        bytes.copy_to(&mut store);
        Payload { len: len as u32, store: Store::Heap(store) }
    }

    /// Takes the buffer back.
    pub fn give_back(&mut self, payload: Payload) {
        let Store::Heap(buffer) = payload.store else { return };
        if let Some(class) = Self::class(buffer.len())
            && self.kept + buffer.len() <= KEEP
        {
            self.kept += buffer.len();
            self.free[class].push(buffer);
        }
    }

    fn class(size: usize) -> Option<usize> {
        let class = (size.trailing_zeros() - SMALLEST.min(size.trailing_zeros())) as usize;
        (size.is_power_of_two() && size >= 1 << SMALLEST && class < CLASSES).then_some(class)
    }
}
