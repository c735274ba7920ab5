//! Data with holes, for tests of message layers.

use mem::{PeerBytes, PeerSpace, Sink, Source, UserMem};
use pml::{Data, Stream};

/// Blocks of `block` bytes with gaps of the same length between them.
#[derive(Debug)]
pub struct Strided {
    memory: UserMem,
    block: usize,
    total: usize,
    at: usize,
}

impl Strided {
    /// The memory that `total` bytes take.
    pub fn extent(total: usize, block: usize) -> usize {
        total.div_ceil(block) * 2 * block
    }

    /// `total` bytes in `memory`, which is as long as that takes.
    pub fn data(memory: UserMem, block: usize, total: usize) -> Data {
        assert!(memory.len() >= Self::extent(total, block));
        Data::Typed(Box::new(Strided { memory, block, total, at: 0 }))
    }

    /// Memory that holds `bytes` in that layout.
    pub fn laid_out(bytes: &[u8], block: usize) -> Vec<u8> {
        let mut memory = vec![0xEE; Self::extent(bytes.len(), block)];
        for (n, run) in bytes.chunks(block).enumerate() {
            memory[n * 2 * block..][..run.len()].copy_from_slice(run);
        }
        memory
    }

    /// The first `len` bytes of what lies in `memory`.
    pub fn packed(memory: &[u8], block: usize, len: usize) -> Vec<u8> {
        memory.chunks(2 * block).flat_map(|pair| &pair[..block.min(pair.len())]).copied().take(len).collect()
    }

    /// The rest of the present block, at most `most` bytes; moves on.
    fn run(&mut self, most: usize) -> UserMem {
        let within = self.at % self.block;
        let len = (self.block - within).min(most);
        let run = self.memory.part(self.at / self.block * 2 * self.block + within, len);
        self.at += len;
        run
    }
}

impl Source for Strided {
    fn remaining(&self) -> usize {
        self.total - self.at
    }

    fn fill(&mut self, space: PeerSpace<'_>) {
        let mut packed = vec![0; space.len()];
        let mut done = 0;
        while done < packed.len() {
            let run = self.run(packed.len() - done);
            done += run.as_bytes().copy_to(&mut packed[done..]);
        }
        space.write(PeerBytes::of(&packed));
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }
}

impl Sink for Strided {
    fn remaining(&self) -> usize {
        self.total - self.at
    }

    fn drain(&mut self, bytes: PeerBytes<'_>) {
        let mut done = 0;
        while done < bytes.len() {
            let run = self.run(bytes.len() - done);
            run.write(bytes.part(done, run.len()));
            done += run.len();
        }
    }
}

impl Stream for Strided {
    fn seek(&mut self, byte: u64) {
        self.at = byte as usize;
    }

    fn total(&self) -> u64 {
        self.total as u64
    }
}
