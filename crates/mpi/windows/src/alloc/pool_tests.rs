//! Parts are apart, aligned and usable; blocks come from the source, and everything goes back to it.

use mem::{PeerBytes, UserMem};
use platform::private_block::{HUGE_PAGE, HugePages, PrivateBlock};
use proptest::prelude::*;

use super::{Pool, Source};

/// What a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stats {
    /// Blocks.
    blocks: usize,
    /// Bytes of all blocks.
    bytes: usize,
    /// Bytes given out.
    used: usize,
}

impl<B> Pool<B> {
    /// What the pool holds now.
    fn stats(&self) -> Stats {
        Stats { blocks: self.blocks.len(), bytes: self.bytes, used: self.parts.values().sum() }
    }
}

/// Makes blocks as long as asked for, of at least `least` bytes, and checks what it gets back.
struct Ledger {
    least: usize,
    next: u32,
    live: Vec<(u32, PrivateBlock)>,
}

impl Ledger {
    fn new(least: usize) -> Ledger {
        Ledger { least, next: 0, live: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.live.iter().map(|(_, block)| block.memory().len()).sum()
    }

    /// A part of one of the live blocks.
    fn part(&self, address: usize, len: usize) -> UserMem {
        let holds =
            |block: &UserMem| block.address() <= address && address + len <= block.address() + block.len();
        let block = self.live.iter().map(|(_, block)| block.memory()).find(holds).expect("a live block");
        block.part(address - block.address(), len)
    }

    fn write(&self, address: usize, len: usize, byte: u8) {
        self.part(address, len).write(PeerBytes::of(&vec![byte; len]));
    }

    fn holds(&self, address: usize, len: usize, byte: u8) -> bool {
        self.part(address, len).as_bytes().to_vec().iter().all(|&seen| seen == byte)
    }
}

impl Source for Ledger {
    type Block = u32;

    fn make(&mut self, len: usize, has: usize) -> Option<(u32, UserMem)> {
        assert_eq!(has, self.bytes());
        let block = PrivateBlock::map(len.max(self.least), HugePages::Transparent)?;
        let memory = block.memory();
        self.next += 1;
        self.live.push((self.next, block));
        Some((self.next, memory))
    }

    fn give_back(&mut self, block: u32) {
        let at =
            self.live.iter().position(|&(live, _)| live == block).expect("made, and not given back before");
        self.live.swap_remove(at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn parts_are_apart_and_come_back(
        steps in prop::collection::vec((any::<bool>(), 0..3_000_000usize, 0..24u32, any::<usize>()), 1..60)
    ) {
        let (mut pool, mut ledger) = (Pool::default(), Ledger::new(2 * HUGE_PAGE));
        let mut parts: Vec<(usize, usize, u8)> = Vec::new();
        for (number, (take, len, shift, pick)) in steps.into_iter().enumerate() {
            if take || parts.is_empty() {
                // Mostly small ones.
                let len = if pick % 4 == 0 { len } else { len % 5000 };
                let address = pool.alloc(&mut ledger, len, 1 << shift).expect("memory");
                prop_assert!(address.is_multiple_of(1 << shift));
                ledger.write(address, len, number as u8);
                let (&block, range) = pool.block_of(address, len).expect("a block that holds the part");
                let (_, made) = ledger.live.iter().find(|(live, _)| *live == block).expect("a live block");
                prop_assert_eq!(made.memory().address()..made.memory().address() + made.memory().len(), range);
                parts.push((address, len, number as u8));
            } else {
                let (address, len, byte) = parts.swap_remove(pick % parts.len());
                prop_assert!(ledger.holds(address, len, byte), "another part reaches into this one");
                prop_assert!(pool.free(&mut ledger, address));
                prop_assert!(!pool.free(&mut ledger, address), "given back twice");
            }
            let stats = pool.stats();
            prop_assert_eq!((stats.blocks, stats.bytes), (ledger.live.len(), ledger.bytes()));
            prop_assert_eq!(stats.used, parts.iter().map(|part| part.1.max(1)).sum::<usize>());
        }
        for (address, len, byte) in parts {
            prop_assert!(ledger.holds(address, len, byte));
            pool.free(&mut ledger, address);
        }
        prop_assert!(pool.stats().blocks <= 1 && pool.stats().used == 0);
    }
}

#[test]
fn many_parts_share_one_block() {
    let (mut pool, mut ledger) = (Pool::default(), Ledger::new(2 * HUGE_PAGE));
    let parts: Vec<usize> = (0..1000).map(|_| pool.alloc(&mut ledger, 4000, 64).expect("memory")).collect();
    let [(_, block)] = &ledger.live[..] else { panic!("one block") };
    let block = block.memory();
    let within = |&part: &usize| block.address() <= part && part + 4000 <= block.address() + block.len();
    assert!(parts.iter().all(within), "each part lies in the block");
    assert!(block.address().is_multiple_of(HUGE_PAGE));
    assert!(pool.block_of(block.address() + block.len() - 10, 11).is_none(), "beyond the block");
    assert!(pool.block_of(4096, 1).is_none() && pool.block_of(parts[0], usize::MAX).is_none());
}

#[test]
fn a_hundred_thousand_parts_come_and_go_in_any_order() {
    let (mut pool, mut ledger) = (Pool::default(), Ledger::new(8 * HUGE_PAGE));
    let mut parts: Vec<usize> =
        (0..100_000).map(|_| pool.alloc(&mut ledger, 64, 64).expect("memory")).collect();
    let blocks = pool.stats();
    // Every other one first, so that as many parts are free as can be.
    for turn in 0..3 {
        let (mut kept, mut freed) = (Vec::new(), 0);
        for (number, part) in parts.drain(..).enumerate() {
            if number % 2 == turn % 2 {
                assert!(pool.free(&mut ledger, part));
                freed += 1;
            } else {
                kept.push(part);
            }
        }
        kept.extend((0..freed).map(|_| pool.alloc(&mut ledger, 64, 64).expect("memory")));
        parts = kept;
        assert_eq!(pool.stats(), blocks, "what was given back is given out again");
    }
}

#[test]
fn what_comes_and_goes_again_and_again_needs_one_block() {
    let (mut pool, mut ledger) = (Pool::default(), Ledger::new(1));
    for len in [100, 3 << 20, 100, 1 << 20, 3 << 20] {
        let address = pool.alloc(&mut ledger, len, 64).expect("memory");
        assert!(pool.free(&mut ledger, address));
    }
    assert_eq!(ledger.next, 2, "a short block, and a longer one that serves all that follow");
    assert_eq!(ledger.live.len(), 1);
}

#[test]
fn a_long_block_is_not_kept() {
    let (mut pool, mut ledger) = (Pool::default(), Ledger::new(0));
    let address = pool.alloc(&mut ledger, 5 << 20, 1 << 22).expect("memory");
    assert!(address.is_multiple_of(1 << 22));
    ledger.write(address, 5 << 20, 1);
    assert!(pool.free(&mut ledger, address));
    assert!(ledger.live.is_empty());
    assert!(!pool.free(&mut ledger, 4096));
}

#[test]
fn reserved_pages_are_a_wish() {
    assert!(PrivateBlock::map(5 << 20, HugePages::Reserved).is_some());
}

#[test]
fn impossible_sizes_are_refused() {
    let (mut pool, mut ledger) = (Pool::default(), Ledger::new(0));
    assert_eq!(pool.alloc(&mut ledger, usize::MAX, 64), None);
    assert_eq!(pool.alloc(&mut ledger, usize::MAX / 2, 1 << 62), None);
    assert_eq!(pool.stats().blocks, 0);
}
