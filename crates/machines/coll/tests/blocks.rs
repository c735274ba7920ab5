//! The v and w variants and the neighbourhood collectives: every block has its own count, place and type.

mod common;

use coll::algorithms::hierarchical::movement;
use coll::algorithms::node::{blocks, direct, parts};
use coll::algorithms::{allgather, alltoall, gather, neighbour, scatter};
use coll::executor::{Block, Buffer, Call, Memory, Type};
use coll::{Neighbours, Params, Shape, Topology};
use common::*;
use std::sync::Arc;

/// A side of a call with blocks: places them one after the other with gaps, in a shuffled order.
struct Blocks {
    buffer: Buffer,
    blocks: Vec<Block>,
}

impl Blocks {
    /// Blocks of the given types, each holding the packed data.
    fn new(contents: &[(Type, Vec<u8>)], random: &mut Rng) -> Blocks {
        let mut order: Vec<usize> = (0..contents.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        let mut blocks = vec![Block { offset: 0, count: 0, ty: Type::contiguous(1) }; contents.len()];
        let mut end = 64i64;
        for i in order {
            let (ty, data) = &contents[i];
            let count = data.len() / ty.size;
            blocks[i] = Block { offset: end - ty.lb.min(0), count, ty: *ty };
            end += ty.extent * count as i64 + ty.lb.abs() + random.below(9) as i64;
        }
        let mut buffer = Buffer { bytes: vec![FILL; end as usize + 64], origin: 0 };
        for (block, (ty, data)) in blocks.iter().zip(contents) {
            buffer.set(*ty, block.offset, data);
        }
        Blocks { buffer, blocks }
    }

    fn none() -> Blocks {
        Blocks { buffer: Buffer::default(), blocks: vec![] }
    }

    fn is_contiguous(&self) -> bool {
        self.blocks.iter().all(|block| block.ty == Type::contiguous(block.ty.size))
    }

    fn largest(&self) -> u64 {
        self.blocks.iter().map(|b| b.bytes() as u64).max().unwrap_or(0)
    }
}

/// A type that holds `len` bytes in whole elements.
fn type_for(len: usize, random: &mut Rng) -> Type {
    match random.below(4) {
        0 if len.is_multiple_of(8) => Type { size: 8, lb: 4, extent: 16 },
        1 if len.is_multiple_of(4) => Type { size: 4, lb: -4, extent: 6 },
        2 => Type { size: 1, lb: 0, extent: 3 },
        _ => Type::contiguous(1),
    }
}

/// Bytes of blocks that travel between a pair of `size` ranks: 0 often, and sometimes more than fits a slot with blocks
/// for all of them; of few ranks, more than fits a slot at all, or two.
fn len_between(from: usize, to: usize, size: usize, seed: u64) -> usize {
    let [long, longer] = if size <= 8 { [40_000, 70_000] } else { [600, 601] };
    let mut random = Rng::new(seed ^ (from * 131 + to) as u64);
    random.pick(&[0, 0, 1, 4, 8, 24, 40, long, longer])
}

/// Ranks of which even the long blocks fit slots.
const SLOTS: usize = 70;

fn data_between(from: usize, to: usize, size: usize, seed: u64) -> Vec<u8> {
    bytes(from, 5000 + to, len_between(from, to, size, seed))
}

fn side(contents: impl Iterator<Item = Vec<u8>>, random: &mut Rng) -> Blocks {
    let dense = random.coin();
    let mut of = |data: &[u8]| if dense { Type::contiguous(1) } else { type_for(data.len(), random) };
    let typed: Vec<(Type, Vec<u8>)> = contents.map(|d| (of(&d), d)).collect();
    Blocks::new(&typed, random)
}

fn blanks(lens: impl Iterator<Item = usize>, random: &mut Rng) -> Blocks {
    side(lens.map(|len| vec![FILL; len]), random)
}

fn call_with(schedule: coll::Schedule, send: Blocks, recv: Blocks) -> Call {
    let byte = Type::contiguous(1);
    let shape = Shape { packed: recv.largest(), ..Shape::default() };
    let mut memory = Memory::new(send.buffer, byte, recv.buffer, byte);
    (memory.send_blocks, memory.recv_blocks) = (send.blocks, recv.blocks);
    Call { schedule: Arc::new(schedule), shape, irregular: vec![], memory }
}

/// Block `i` of the receive side.
fn block(memory: &Memory, i: usize) -> Vec<u8> {
    let b = memory.recv_blocks[i];
    memory.recv.get(b.ty, b.offset, b.count)
}

fn check_alltoall(name: &str, build: Build) {
    let mut random = Rng::new(0xC1);
    for size in all_sizes() {
        let mut case = Case::random(size, &mut random);
        let seed = random.next();
        // In place both directions of a pair have the same size.
        let seed_of = |a: usize, b: usize| if case.in_place && a > b { (b, a) } else { (a, b) };
        let len = |from: usize, to: usize| {
            let (a, b) = seed_of(from, to);
            len_between(a, b, size, seed)
        };
        let data = |from: usize, to: usize| bytes(from, 5000 + to, len(from, to));
        case.contiguous();
        let calls = (0..size).map(|r| {
            let schedule = build(&case.params(r));
            if case.in_place {
                let recv = side((0..size).map(|to| data(r, to)), &mut random);
                return call_with(schedule, Blocks::none(), recv);
            }
            let send = side((0..size).map(|to| data(r, to)), &mut random);
            call_with(schedule, send, blanks((0..size).map(|from| len(from, r)), &mut random))
        });
        let calls = calls.collect();
        case.commutative = true;
        for (r, m) in run(&case, &[], calls).iter().enumerate() {
            for from in 0..size {
                assert!(block(m, from) == data(from, r), "{name}: {from} to {r} {case:?}");
            }
        }
    }
}

#[test]
fn alltoall_v_and_w() {
    check_alltoall("linear_v", alltoall::linear_v);
    check_alltoall("scattered_v", alltoall::scattered_v);
    check_alltoall("pairwise_v", alltoall::pairwise_v);
    check_alltoall("slots", parts::alltoall_all);
    check_alltoall("flag", parts::alltoall_flag);
}

/// A call whose send side is one regular buffer of bytes.
fn call_sending(schedule: coll::Schedule, data: &[u8], recv: Blocks) -> Call {
    let ty = Type::contiguous(1);
    let mut call = call_with(schedule, Blocks::none(), recv);
    call.memory.send = Buffer::with_elements(ty, data, FILL);
    call.shape.send = ty.layout(data.len() as u64);
    call
}

fn check_allgather(name: &str, nodes: bool, fits_lines: bool, build: Build) {
    let mut random = Rng::new(0xC2);
    for size in all_sizes() {
        let case = Case::random(size, &mut random);
        let ranks = if fits_lines { SLOTS } else { size };
        let data = |r: usize| data_between(r, 0, ranks, case.seed);
        let node_of = if nodes { place(size, &mut random) } else { vec![0; size] };
        let topology = Some(Topology::new(&node_of));
        let calls = (0..size).map(|r| {
            let initial = |i: usize| {
                if case.in_place && i == r { data(r) } else { vec![FILL; data(i).len()] }
            };
            let recv = side((0..size).map(initial), &mut random);
            let contiguous = recv.is_contiguous();
            let schedule = build(&Params { topology, contiguous, segments: 3, ..case.params(r) });
            call_sending(schedule, &if case.in_place { vec![] } else { data(r) }, recv)
        });
        let calls = calls.collect();
        for (r, m) in run(&case, &node_of, calls).iter().enumerate() {
            for i in 0..size {
                assert!(block(m, i) == data(i), "{name}: block {i} at {r} {case:?}");
            }
        }
    }
}

#[test]
fn allgather_v() {
    check_allgather("ring_v", true, false, allgather::ring_v);
    check_allgather("linear_v", true, false, allgather::linear_v);
    check_allgather("hierarchical", true, false, movement::allgather_v);
    check_allgather("neighbour_exchange_v", true, false, allgather::neighbour_exchange_v);
}

#[test]
fn allgather_v_on_a_node() {
    check_allgather("slots", false, true, blocks::allgather_all_v);
    check_allgather("flag", false, true, blocks::allgather_flag_v);
    check_allgather("direct", false, false, direct::allgather_v);
    check_allgather("pieces", false, false, parts::allgather);
}

fn check_gather(name: &str, build: Build) {
    let mut random = Rng::new(0xC3);
    for size in all_sizes() {
        let case = Case::random(size, &mut random);
        let data = |r: usize| data_between(r, 0, size, case.seed);
        let calls = (0..size).map(|r| {
            let in_place = case.in_place && r == case.root;
            let initial = |i: usize| if in_place && i == r { data(r) } else { vec![FILL; data(i).len()] };
            let recv =
                if r == case.root { side((0..size).map(initial), &mut random) } else { Blocks::none() };
            let schedule = build(&Params { in_place, ..case.params(r) });
            call_sending(schedule, &if in_place { vec![] } else { data(r) }, recv)
        });
        let calls = calls.collect();
        let root = &run(&case, &[], calls)[case.root];
        (0..size).for_each(|i| assert!(block(root, i) == data(i), "{name}: block {i} {case:?}"));
    }
}

fn check_scatter(name: &str, build: Build) {
    let mut random = Rng::new(0xC5);
    for size in all_sizes() {
        let case = Case::random(size, &mut random);
        let data = |r: usize| data_between(r, 0, size, case.seed);
        let in_place = |r: usize| case.in_place && r == case.root;
        let calls = (0..size).map(|r| {
            let send = if r == case.root { side((0..size).map(data), &mut random) } else { Blocks::none() };
            let schedule = build(&Params { in_place: in_place(r), ..case.params(r) });
            let mut call = call_with(schedule, send, Blocks::none());
            let ty = Type::contiguous(1);
            let len = if in_place(r) { 0 } else { data(r).len() };
            call.memory.recv = Buffer::new(ty, len, FILL);
            call.shape.recv = ty.layout(len as u64);
            call
        });
        let calls = calls.collect();
        for (r, m) in run(&case, &[], calls).iter().enumerate() {
            assert!(in_place(r) || m.recv.bytes == data(r), "{name}: rank {r} {case:?}");
        }
    }
}

#[test]
fn gather_v_and_scatter_v() {
    check_gather("linear_v", gather::linear_v);
    check_gather("slots", parts::gather_flat);
    check_scatter("linear_v", scatter::linear_v);
    check_scatter("slots", parts::scatter_flat);
}

/// Neighbours: for each rank its sources and destinations.
type Lists = Vec<(Vec<Option<u32>>, Vec<Option<u32>>)>;

/// A Cartesian grid's neighbours: for each dimension the one below and the one above, wrapping around where
/// periodic.
fn grid(dims: &[usize], periodic: &[bool]) -> Lists {
    let size: usize = dims.iter().product();
    let shifted = |rank: usize, dim: usize, by: isize| {
        let stride: usize = dims[dim + 1..].iter().product();
        let at = (rank / stride % dims[dim]) as isize + by;
        let wrapped = at.rem_euclid(dims[dim] as isize);
        let inside = periodic[dim] || at == wrapped;
        let coordinate = rank as isize / stride as isize % dims[dim] as isize;
        inside.then(|| (rank as isize + (wrapped - coordinate) * stride as isize) as u32)
    };
    let list = |rank: usize| -> Vec<Option<u32>> {
        (0..dims.len()).flat_map(|d| [shifted(rank, d, -1), shifted(rank, d, 1)]).collect()
    };
    (0..size).map(|r| (list(r), list(r))).collect()
}

/// A random graph with repeated edges; the lists agree in order for every pair.
fn graph(size: usize, random: &mut Rng) -> Lists {
    let mut lists: Lists = vec![(vec![], vec![]); size];
    for _ in 0..size * 3 {
        let (a, b) = (random.below(size as u64) as u32, random.below(size as u64) as u32);
        lists[a as usize].1.push(Some(b));
        lists[b as usize].0.push(Some(a));
    }
    lists
}

/// Data on the way from `rank` along its destination `i`.
fn along(rank: usize, i: usize) -> Vec<u8> {
    bytes(rank, 9000 + i, len_between(rank, i, SLOTS, 77))
}

/// The destination index under which the sender of source `j` of `rank` knows that edge.
fn edge(lists: &Lists, cartesian: bool, rank: usize, j: usize) -> (usize, usize) {
    let source = lists[rank].0[j].unwrap() as usize;
    if cartesian {
        return (source, j ^ 1);
    }
    let earlier = lists[rank].0[..j].iter().filter(|&&s| s == Some(source as u32)).count();
    let mine = lists[source].1.iter().enumerate().filter(|(_, d)| **d == Some(rank as u32));
    (source, mine.map(|(i, _)| i).nth(earlier).unwrap())
}

fn check_neighbours(lists: &Lists, cartesian: bool, random: &mut Rng) {
    let size = lists.len();
    let case = Case::random(size, random);
    let calls = (0..size).map(|r| {
        let (sources, destinations) = &lists[r];
        let p = Params { neighbours: Neighbours { sources, destinations, cartesian }, ..case.params(r) };
        let send = side((0..destinations.len()).map(|i| along(r, i)), random);
        let incoming = (0..sources.len()).map(|j| match sources[j] {
            Some(_) => {
                let (source, i) = edge(lists, cartesian, r, j);
                along(source, i).len()
            }
            None => 3,
        });
        call_with(neighbour::alltoall_v(&p), send, blanks(incoming, random))
    });
    let calls = calls.collect();
    for (r, m) in run(&case, &[], calls).iter().enumerate() {
        for (j, source) in lists[r].0.iter().enumerate() {
            let expected = match source {
                Some(_) => {
                    let (source, i) = edge(lists, cartesian, r, j);
                    along(source, i)
                }
                None => vec![FILL; 3],
            };
            assert!(block(m, j) == expected, "rank {r} source {j} of {lists:?} {case:?}");
        }
    }
}

#[test]
fn neighbourhoods() {
    let mut random = Rng::new(0xC4);
    for dims in [&[1][..], &[2], &[3], &[2, 2], &[1, 4], &[3, 4], &[2, 3, 2]] {
        for bits in 0..1 << dims.len() {
            let periodic: Vec<bool> = (0..dims.len()).map(|d| bits >> d & 1 == 1).collect();
            check_neighbours(&grid(dims, &periodic), true, &mut random);
        }
    }
    for size in sizes() {
        check_neighbours(&graph(size, &mut random), false, &mut random);
    }
}
