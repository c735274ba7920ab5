//! The pool: blocks, their registrations, and who has which part.

use crate::block::{Block, HUGE_PAGE, HugePages};
use crate::free::FreeList;
use mem::UserMem;
use std::collections::{BTreeMap, HashMap};

/// Bytes of the first block, and of each later one that holds parts no larger.
const BLOCK: usize = 2 * HUGE_PAGE;

/// Wants memory registered.
pub trait Keep {
    /// Names a registration.
    type Handle;

    /// Registers memory that stays mapped until [`Keep::forget`]. `None`: there is no room; the memory is used all
    /// the same.
    fn keep(&mut self, memory: UserMem) -> Option<Self::Handle>;

    /// Ends that.
    fn forget(&mut self, handle: Self::Handle);
}

/// What a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Blocks.
    pub blocks: usize,
    /// Blocks that are registered.
    pub registered: usize,
    /// Bytes of all blocks.
    pub bytes: usize,
    /// Bytes given out.
    pub used: usize,
}

#[derive(Debug)]
struct Pooled<H> {
    block: Block,
    free: FreeList,
    handle: Option<H>,
}

/// Memory in registered blocks; `H` names a registration.
#[derive(Debug)]
pub struct Pool<H> {
    pages: HugePages,
    /// By address.
    blocks: BTreeMap<usize, Pooled<H>>,
    /// Parts given out: length by address.
    parts: HashMap<usize, usize>,
}

impl<H> Pool<H> {
    /// A pool without blocks.
    pub fn new(pages: HugePages) -> Pool<H> {
        Pool { pages, blocks: BTreeMap::new(), parts: HashMap::new() }
    }

    /// What the pool holds now.
    pub fn stats(&self) -> Stats {
        let blocks = self.blocks.values();
        Stats {
            blocks: self.blocks.len(),
            registered: blocks.clone().filter(|pooled| pooled.handle.is_some()).count(),
            bytes: blocks.map(|pooled| pooled.block.len()).sum(),
            used: self.parts.values().sum(),
        }
    }

    /// `len` bytes (at least one) at a multiple of `align`, a power of two. `None`: the system has no such memory.
    pub fn alloc(&mut self, keeper: &mut impl Keep<Handle = H>, len: usize, align: usize) -> Option<usize> {
        let len = len.max(1);
        let address = match self.blocks.values_mut().find_map(|pooled| pooled.free.take(len, align)) {
            Some(address) => address,
            None => self.grow(keeper, len, align)?,
        };
        self.parts.insert(address, len);
        Some(address)
    }

    /// Gives back what [`Pool::alloc`] gave; `false`: it did not. The last empty block stays for the next time.
    pub fn free(&mut self, keeper: &mut impl Keep<Handle = H>, address: usize) -> bool {
        let Some(len) = self.parts.remove(&address) else { return false };
        let Some((&start, pooled)) = self.blocks.range_mut(..=address).next_back() else { return false };
        pooled.free.give(address, len);
        if is_empty(pooled) {
            let others = self.blocks.iter().any(|(&other, pooled)| other != start && is_empty(pooled));
            if others || self.blocks[&start].block.len() > BLOCK {
                self.drop_block(keeper, start);
            }
        }
        true
    }

    fn grow(&mut self, keeper: &mut impl Keep<Handle = H>, len: usize, align: usize) -> Option<usize> {
        // A block begins at a huge page; a larger alignment may cost as much again.
        let wish = if align > HUGE_PAGE { len.checked_add(align)? } else { len };
        let block = Block::map(wish.checked_next_multiple_of(HUGE_PAGE)?.max(BLOCK), self.pages)?;
        let mut free = FreeList::new(block.address(), block.len());
        let address = free.take(len, align)?;
        let handle = keeper.keep(block.memory());
        self.blocks.insert(block.address(), Pooled { block, free, handle });
        Some(address)
    }

    fn drop_block(&mut self, keeper: &mut impl Keep<Handle = H>, start: usize) {
        let Some(Pooled { block, handle, .. }) = self.blocks.remove(&start) else { return };
        if let Some(handle) = handle {
            keeper.forget(handle);
        }
        drop(block);
    }
}

fn is_empty<H>(pooled: &Pooled<H>) -> bool {
    pooled.free.bytes() == pooled.block.len()
}
