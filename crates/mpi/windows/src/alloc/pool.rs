//! Pooled memory: large blocks, each made once, and given out in parts. What `MPI_Alloc_mem` hands out.
//!
//! ```text
//!   block (what its source has made)
//!   ├─ part ─┬─ free ───┬─ part ────┬─ free ─────────────┤
//!            └ best fit, neighbours joined when given back
//! ```

use super::free_list::FreeList;
use mem::UserMem;
use std::collections::BTreeMap;
use std::ops::Range;

/// Makes the blocks of a pool, and takes them back.
pub trait Source {
    /// What a block is made of.
    type Block;

    /// Makes a block of at least `len` bytes, mapped until [`Source::give_back`]; `has`: the bytes of all blocks that
    /// the pool has. `None`: the system has no such memory.
    fn make(&mut self, len: usize, has: usize) -> Option<(Self::Block, UserMem)>;

    /// Takes back a block that is not used any more.
    fn give_back(&mut self, block: Self::Block);
}

#[derive(Debug)]
struct Pooled<B> {
    block: B,
    len: usize,
    free: FreeList,
}

impl<B> Pooled<B> {
    fn is_empty(&self) -> bool {
        self.free.bytes() == self.len
    }
}

/// Memory in blocks.
#[derive(Debug)]
pub struct Pool<B> {
    /// Blocks by address.
    blocks: BTreeMap<usize, Pooled<B>>,
    /// Bytes of all of them.
    bytes: usize,
    /// Parts given out: length by address.
    parts: BTreeMap<usize, usize>,
}

/// Alignment of each block in bytes, at least: a page.
const PAGE: usize = 4096;

/// Longest block that stays for the next time when it is empty, in bytes.
const KEPT: usize = 4 << 20;

impl<B> Default for Pool<B> {
    fn default() -> Pool<B> {
        Pool::new()
    }
}

impl<B> Pool<B> {
    /// A pool without blocks.
    pub const fn new() -> Pool<B> {
        Pool { blocks: BTreeMap::new(), bytes: 0, parts: BTreeMap::new() }
    }

    /// `len` bytes (at least one) at a multiple of `align`, a power of two. `None`: the system has no such memory.
    pub fn alloc(&mut self, source: &mut impl Source<Block = B>, len: usize, align: usize) -> Option<usize> {
        let len = len.max(1);
        let address = match self.blocks.values_mut().find_map(|pooled| pooled.free.take(len, align)) {
            Some(address) => address,
            None => self.grow(source, len, align)?,
        };
        self.parts.insert(address, len);
        Some(address)
    }

    /// Gives back what [`Pool::alloc`] gave; `false`: it did not. One empty block stays for the next time: the longest
    /// but those that are too long.
    pub fn free(&mut self, source: &mut impl Source<Block = B>, address: usize) -> bool {
        let Some(len) = self.parts.remove(&address) else { return false };
        let Some((&start, pooled)) = self.blocks.range_mut(..=address).next_back() else { return false };
        pooled.free.give(address, len);
        if !pooled.is_empty() {
            return true;
        }
        let len = pooled.len;
        let other = self.blocks.iter().find(|&(&other, pooled)| other != start && pooled.is_empty());
        match other {
            _ if len > KEPT => self.drop_block(source, start),
            Some((&other, pooled)) => self.drop_block(source, if pooled.len < len { other } else { start }),
            None => {}
        }
        true
    }

    /// The block that holds all of `len` bytes at `address`, and where it is.
    pub fn block_of(&self, address: usize, len: usize) -> Option<(&B, Range<usize>)> {
        let (&start, pooled) = self.blocks.range(..=address).next_back()?;
        let end = start + pooled.len;
        (address.checked_add(len)? <= end).then_some((&pooled.block, start..end))
    }

    fn grow(&mut self, source: &mut impl Source<Block = B>, len: usize, align: usize) -> Option<usize> {
        let wish = if align > PAGE { len.checked_add(align)? } else { len };
        // No memory of a size beyond that can be described.
        isize::try_from(wish).ok()?;
        let (block, memory) = source.make(wish, self.bytes)?;
        let mut free = FreeList::new(memory.address(), memory.len());
        let Some(address) = free.take(len, align) else {
            source.give_back(block);
            return None;
        };
        self.bytes += memory.len();
        self.blocks.insert(memory.address(), Pooled { block, len: memory.len(), free });
        Some(address)
    }

    fn drop_block(&mut self, source: &mut impl Source<Block = B>, start: usize) {
        let Some(pooled) = self.blocks.remove(&start) else { return };
        self.bytes -= pooled.len;
        source.give_back(pooled.block);
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
