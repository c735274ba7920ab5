//! Registered buffers of E1, of both sides.
#![allow(unsafe_code)]

use btl::{Peer, RemoteKey};
use mem::UserMem;

/// A get fetches whole words of this many bytes.
pub(crate) const WORD: usize = 4;

/// Buffers of one length, made when they are first needed. They stay where they are.
pub(crate) struct Staging {
    memory: Vec<Box<[u64]>>,
    free: Vec<u32>,
    bytes: usize,
    most: usize,
}

/// A message in a buffer of its sender.
#[derive(Clone, Copy)]
pub(crate) struct Staged {
    pub peer: Peer,
    pub buffer: u32,
    pub key: RemoteKey,
    pub len: usize,
}

/// A message on its way into a buffer of its receiver.
#[derive(Clone, Copy)]
pub(crate) struct Fetch {
    pub peer: Peer,
    pub seq: u32,
    /// The sender's name of it.
    pub staged: u32,
    pub key: RemoteKey,
    pub len: usize,
    pub buffer: Option<u32>,
    /// Bytes that are not here yet.
    pub left: usize,
    /// Its sender is gone: it ends with its get.
    pub dead: bool,
}

impl Staging {
    pub fn new(bytes: usize, most: usize) -> Staging {
        Staging { memory: Vec::new(), free: Vec::new(), bytes, most }
    }

    /// A buffer; `None`: all are in use. The `urgent` get one all the same.
    pub fn take(&mut self, urgent: bool) -> Option<u32> {
        if let Some(buffer) = self.free.pop() {
            return Some(buffer);
        }
        if self.memory.len() >= self.most && !urgent {
            return None;
        }
        self.memory.push(vec![0; self.bytes.div_ceil(size_of::<u64>())].into());
        Some(self.memory.len() as u32 - 1)
    }

    pub fn give(&mut self, buffer: u32) {
        self.free.push(buffer);
    }

    /// The first `len` bytes of a buffer.
    pub fn memory(&mut self, buffer: u32, len: usize) -> UserMem {
        let words = &mut self.memory[buffer as usize];
        let whole = size_of_val(&**words);
        // SAFETY: the words are plain bytes, stay where they are as long as the layer, and have no other reference.
        unsafe { UserMem::new(words.as_mut_ptr() as usize, whole) }.part(0, len)
    }
}
