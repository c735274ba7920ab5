//! Parts are apart, aligned and usable; registrations follow the blocks; everything comes back.

use mem::UserMem;
use mpool::{HugePages, Keep, Pool};
use proptest::prelude::*;

/// Registers up to `room` ranges and checks what it is asked for.
struct Ledger {
    room: usize,
    next: u32,
    live: Vec<(u32, UserMem)>,
}

impl Ledger {
    fn new(room: usize) -> Ledger {
        Ledger { room, next: 0, live: Vec::new() }
    }
}

impl Keep for Ledger {
    type Handle = u32;

    fn keep(&mut self, memory: UserMem) -> Option<u32> {
        if self.live.len() == self.room {
            return None;
        }
        self.next += 1;
        self.live.push((self.next, memory));
        Some(self.next)
    }

    fn forget(&mut self, handle: u32) {
        let at = self.live.iter().position(|&(live, _)| live == handle).expect("registered");
        self.live.swap_remove(at);
    }
}

fn write(address: usize, len: usize, byte: u8) {
    // SAFETY: the pool has given this part to the test.
    unsafe { core::ptr::write_bytes(address as *mut u8, byte, len) };
}

fn holds(address: usize, len: usize, byte: u8) -> bool {
    // SAFETY: as above.
    unsafe { core::slice::from_raw_parts(address as *const u8, len) }.iter().all(|&seen| seen == byte)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn parts_are_apart_and_come_back(
        steps in prop::collection::vec((any::<bool>(), 0..3_000_000usize, 0..24u32, any::<usize>()), 1..60)
    ) {
        let (mut pool, mut ledger) = (Pool::new(HugePages::Transparent), Ledger::new(3));
        let mut parts: Vec<(usize, usize, u8)> = Vec::new();
        for (number, (take, len, shift, pick)) in steps.into_iter().enumerate() {
            if take || parts.is_empty() {
                // Mostly small ones.
                let len = if pick % 4 == 0 { len } else { len % 5000 };
                let address = pool.alloc(&mut ledger, len, 1 << shift).expect("memory");
                prop_assert!(address.is_multiple_of(1 << shift));
                write(address, len, number as u8);
                parts.push((address, len, number as u8));
            } else {
                let (address, len, byte) = parts.swap_remove(pick % parts.len());
                prop_assert!(holds(address, len, byte), "another part reaches into this one");
                prop_assert!(pool.free(&mut ledger, address));
                prop_assert!(!pool.free(&mut ledger, address), "given back twice");
            }
            let stats = pool.stats();
            prop_assert_eq!(stats.registered, ledger.live.len());
            prop_assert_eq!(stats.used, parts.iter().map(|part| part.1.max(1)).sum::<usize>());
        }
        for (address, len, byte) in parts {
            prop_assert!(holds(address, len, byte));
            pool.free(&mut ledger, address);
        }
        prop_assert!(pool.stats().blocks <= 1 && pool.stats().used == 0);
    }
}

#[test]
fn many_parts_share_one_registration() {
    let (mut pool, mut ledger) = (Pool::new(HugePages::Never), Ledger::new(10));
    let parts: Vec<usize> = (0..1000).map(|_| pool.alloc(&mut ledger, 4000, 64).expect("memory")).collect();
    assert_eq!(ledger.live.len(), 1);
    let (_, block) = ledger.live[0];
    let within = |&part: &usize| block.address() <= part && part + 4000 <= block.address() + block.len();
    assert!(parts.iter().all(within), "each part lies in the registered block");
    assert!(block.address().is_multiple_of(2 << 20));
}

#[test]
fn reserved_pages_are_a_wish() {
    let (mut pool, mut ledger) = (Pool::new(HugePages::Reserved), Ledger::new(10));
    let address = pool.alloc(&mut ledger, 5 << 20, 1 << 22).expect("memory");
    assert!(address.is_multiple_of(1 << 22));
    write(address, 5 << 20, 1);
    assert!(pool.free(&mut ledger, address));
    assert!(ledger.live.is_empty(), "a large block is not kept");
    assert!(!pool.free(&mut ledger, 4096));
}

#[test]
fn impossible_sizes_are_refused() {
    let (mut pool, mut ledger) = (Pool::new(HugePages::Transparent), Ledger::new(10));
    assert_eq!(pool.alloc(&mut ledger, usize::MAX, 64), None);
    assert_eq!(pool.alloc(&mut ledger, usize::MAX / 2, 1 << 62), None);
    assert_eq!(pool.stats().blocks, 0);
}
