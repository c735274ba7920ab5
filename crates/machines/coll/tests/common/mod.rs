//! Sets up a collective call on every virtual rank, runs it, and compares with the definition of the
//! operation.
#![allow(dead_code)] // each test program uses its share

pub use chance::Rng;
use coll::executor::{Buffer, Call, Memory, OpFn, Type, VirtualRanks};
use coll::{Layout, Params, Schedule, Shape};
use std::sync::Arc;

pub type Build = fn(&Params) -> Schedule;

/// Bytes of an element in reductions: a pair of `u32`.
pub const ELEMENT: usize = 8;
/// What surrounds the data in every buffer; must survive.
pub const FILL: u8 = 0x5C;

/// Element `i` of rank `r`'s data: `x -> a·x + b` as (a, b), `a` odd so that products never vanish.
pub fn element(r: usize, i: usize) -> [u8; ELEMENT] {
    let mut random = Rng::new(((r as u64 + 1) << 32) | (i as u64 + 1));
    let (a, b) = (random.next() as u32 | 1, random.next() as u32);
    let mut bytes = [0; ELEMENT];
    bytes[..4].copy_from_slice(&a.to_le_bytes());
    bytes[4..].copy_from_slice(&b.to_le_bytes());
    bytes
}

/// `count` packed elements of rank `r`, from index `first`.
pub fn elements(r: usize, first: usize, count: usize) -> Vec<u8> {
    (first..first + count).flat_map(|i| element(r, i)).collect()
}

/// Any bytes, for data that is only moved.
pub fn bytes(r: usize, salt: usize, len: usize) -> Vec<u8> {
    let mut random = Rng::new(((r as u64 + 3) << 20) ^ salt as u64);
    (0..len).map(|_| random.next() as u8).collect()
}

fn words(x: &[u8]) -> (u32, u32) {
    let word = |at: usize| u32::from_le_bytes(x[at..at + 4].try_into().unwrap());
    (word(0), word(4))
}

/// First the left map, then the right one: associative, not commutative.
pub fn compose(left: &[u8], right: &mut [u8]) {
    let ((a, b), (c, d)) = (words(left), words(right));
    right[..4].copy_from_slice(&a.wrapping_mul(c).to_le_bytes());
    right[4..].copy_from_slice(&c.wrapping_mul(b).wrapping_add(d).to_le_bytes());
}

/// Wrapping sum: commutative.
pub fn sum(left: &[u8], right: &mut [u8]) {
    let ((a, b), (c, d)) = (words(left), words(right));
    right[..4].copy_from_slice(&a.wrapping_add(c).to_le_bytes());
    right[4..].copy_from_slice(&b.wrapping_add(d).to_le_bytes());
}

pub fn op_of(commutative: bool) -> &'static OpFn {
    if commutative { &sum } else { &compose }
}

/// Packed elements of ranks `ranks` combined in that order.
pub fn reduced(
    ranks: impl IntoIterator<Item = usize>,
    first: usize,
    count: usize,
    commutative: bool,
) -> Vec<u8> {
    let op = op_of(commutative);
    let mut ranks = ranks.into_iter();
    let mut acc = elements(ranks.next().expect("one rank at least"), first, count);
    for r in ranks {
        let mut right = elements(r, first, count);
        for (l, x) in acc.chunks(ELEMENT).zip(right.chunks_mut(ELEMENT)) {
            op(l, x);
        }
        acc = right;
    }
    acc
}

/// What a test of one algorithm varies.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub size: usize,
    pub root: usize,
    pub count: usize,
    pub in_place: bool,
    pub commutative: bool,
    pub user_op: bool,
    pub segments: u32,
    pub blocks: u32,
    pub fanout: u32,
    pub ty: Type,
    pub seed: u64,
}

impl Case {
    pub fn random(size: usize, random: &mut Rng) -> Case {
        let types = [
            Type::contiguous(ELEMENT),
            Type { size: ELEMENT, lb: 0, extent: 12 },
            Type { size: ELEMENT, lb: 4, extent: 16 },
            Type { size: ELEMENT, lb: -24, extent: 16 },
            Type { size: ELEMENT, lb: 0, extent: -8 },
        ];
        Case {
            size,
            root: random.below(size as u64) as usize,
            count: random.pick(&[0, 1, 2, 3, 7, 13, 64, 101, 200]),
            in_place: random.coin(),
            commutative: random.coin(),
            user_op: random.coin(),
            segments: random.pick(&[1, 1, 2, 3, 5, 8]),
            blocks: random.pick(&[1, 2, 5, 64, u32::MAX]),
            fanout: random.pick(&[0, 0, 1, 2, 3, 4, 7]),
            ty: if random.coin() { types[0] } else { random.pick(&types) },
            seed: random.next(),
        }
    }

    pub fn contiguous(&self) -> bool {
        self.ty == Type::contiguous(ELEMENT)
    }

    pub fn params(&self, rank: usize) -> Params<'static> {
        Params {
            root: coll::Root::Rank(self.root as u32),
            in_place: self.in_place,
            commutative: self.commutative,
            contiguous: self.contiguous(),
            segments: self.segments,
            blocks: self.blocks,
            fanout: self.fanout,
            ..Params::new(rank as u32, self.size as u32)
        }
    }
}

/// One rank's buffers: `send` packed (or no send buffer), `recv` packed initial content.
pub fn memory(ty: Type, send: Option<&[u8]>, recv: Option<&[u8]>) -> Memory {
    let buffer =
        |data: Option<&[u8]>| data.map_or_else(Buffer::default, |d| Buffer::with_elements(ty, d, FILL));
    Memory::new(buffer(send), ty, buffer(recv), ty)
}

/// A receive buffer's initial content where none is given.
pub fn blank(count: usize) -> Vec<u8> {
    vec![FILL; count * ELEMENT]
}

/// A regular call: `send` and `recv` counts in elements of `ty`.
pub fn call(
    schedule: Schedule,
    ty: Type,
    send_count: usize,
    recv_count: usize,
    packed: usize,
    memory: Memory,
) -> Call {
    let shape = Shape {
        send: ty.layout(send_count as u64),
        recv: ty.layout(recv_count as u64),
        packed: packed as u64,
    };
    Call { schedule: Arc::new(schedule), shape, irregular: vec![], memory }
}

/// Runs an intra-communicator call.
pub fn run(case: &Case, node_of: &[u32], calls: Vec<Call>) -> Vec<Memory> {
    let n = calls.len();
    let world = VirtualRanks::new(calls, n, node_of, op_of(case.commutative), case.user_op, case.seed);
    world.expect("the call binds").run().unwrap_or_else(|e| panic!("{case:?}\n{e}"))
}

/// The packed content of a receive buffer.
pub fn received(memory: &Memory, count: usize) -> Vec<u8> {
    memory.recv.get(memory.recv_type, 0, count)
}

/// Bytes that belong to no element still hold the filling.
pub fn check_holes(case: &Case, memory: &Memory, count: usize) {
    let mut copy = memory.recv.clone();
    copy.set(memory.recv_type, 0, &blank(count));
    assert!(copy.bytes.iter().all(|&b| b == FILL), "{case:?}: bytes between elements were written");
}

/// Sizes to try: every one up to 20, then a few odd ones up to 70.
pub fn sizes() -> impl Iterator<Item = usize> {
    (1..=20).chain([23, 31, 32, 33, 37, 47, 48, 63, 64, 65, 70])
}

/// Every size from 1 to 70.
pub fn all_sizes() -> impl Iterator<Item = usize> {
    1..=70
}

/// A layout that is not significant.
pub const NONE: Layout = Layout { count: 0, size: 0, extent: 0, true_lb: 0, true_extent: 0 };

/// The node of each rank: node by node, round-robin, or at random; numbered from 0 without gaps.
pub fn place(size: usize, random: &mut Rng) -> Vec<u32> {
    let nodes = 1 + random.below(size.min(6) as u64) as usize;
    match random.below(3) {
        0 => (0..size).map(|r| (r * nodes / size) as u32).collect(),
        1 => (0..size).map(|r| (r % nodes) as u32).collect(),
        _ => {
            let mut seen: Vec<u64> = vec![];
            let mut number = |n: u64| {
                seen.iter().position(|&s| s == n).unwrap_or_else(|| {
                    seen.push(n);
                    seen.len() - 1
                }) as u32
            };
            (0..size).map(|_| number(random.below(nodes as u64))).collect()
        }
    }
}
