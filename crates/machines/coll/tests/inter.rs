//! Inter-communicators: every operation, both directions, groups of 1 to 20 ranks.

mod common;

use coll::algorithms::inter;
use coll::executor::{Block, Buffer, Call, Memory, Type, VirtualRanks};
use coll::{Params, Root};
use common::*;

/// Two groups; world indices of the second follow those of the first.
#[derive(Clone, Copy, Debug)]
struct Groups {
    sizes: [usize; 2],
    /// Group and rank of the root.
    root: (usize, usize),
}

impl Groups {
    fn random(random: &mut Rng) -> Groups {
        let sizes = [1 + random.below(20) as usize, 1 + random.below(20) as usize];
        let group = random.below(2) as usize;
        Groups { sizes, root: (group, random.below(sizes[group] as u64) as usize) }
    }

    fn total(&self) -> usize {
        self.sizes[0] + self.sizes[1]
    }

    /// Group and rank of a world index.
    fn place(&self, i: usize) -> (usize, usize) {
        if i < self.sizes[0] { (0, i) } else { (1, i - self.sizes[0]) }
    }

    /// World indices of a group.
    fn members(&self, group: usize) -> std::ops::Range<usize> {
        if group == 0 { 0..self.sizes[0] } else { self.sizes[0]..self.total() }
    }

    fn params(&self, case: &Case, i: usize) -> Params<'static> {
        let (group, rank) = self.place(i);
        let root = match (group == self.root.0, rank == self.root.1) {
            (true, true) => Root::Me,
            (true, false) => Root::Elsewhere,
            (false, _) => Root::Rank(self.root.1 as u32),
        };
        Params {
            remote: Some(self.sizes[1 - group] as u32),
            root,
            commutative: case.commutative,
            contiguous: case.contiguous(),
            ..Params::new(rank as u32, self.sizes[group] as u32)
        }
    }

    fn is_root(&self, i: usize) -> bool {
        self.place(i) == self.root
    }
}

fn run_both(case: &Case, groups: &Groups, calls: Vec<Call>) -> Vec<Memory> {
    let world =
        VirtualRanks::new(calls, groups.sizes[0], &[], op_of(case.commutative), case.user_op, case.seed);
    world.expect("the call binds").run().unwrap_or_else(|e| panic!("{groups:?} {case:?}\n{e}"))
}

fn cases(seed: u64) -> impl Iterator<Item = (Case, Groups)> {
    let mut random = Rng::new(seed);
    (0..150).map(move |_| {
        let groups = Groups::random(&mut random);
        let mut case = Case::random(groups.total(), &mut random);
        case.count = case.count.min(20);
        (case, groups)
    })
}

#[test]
fn barrier() {
    for (case, groups) in cases(0xD1) {
        let missing = case.root;
        let calls = |all: bool| {
            let schedule = |i: usize| {
                if !all && i == missing {
                    Default::default()
                } else {
                    inter::barrier(&groups.params(&case, i))
                }
            };
            let one = |i| call(schedule(i), case.ty, 0, 0, 0, memory(case.ty, None, None));
            (0..groups.total()).map(one).collect::<Vec<_>>()
        };
        run_both(&case, &groups, calls(true));
        let world =
            VirtualRanks::new(calls(false), groups.sizes[0], &[], op_of(true), false, case.seed).unwrap();
        let stuck = world.run().expect_err("all ranks wait");
        assert_eq!(stuck.lines().filter(|l| l.starts_with("rank ")).count(), groups.total() - 1, "{stuck}");
    }
}

#[test]
fn rooted_movement() {
    for (case, groups) in cases(0xD2) {
        let (from_root, block) = (1 - groups.root.0, case.count * ELEMENT);
        let others: Vec<Vec<u8>> = groups.members(from_root).map(|i| bytes(i, 0, block)).collect();
        let all = others.concat();
        let whole = case.count * groups.sizes[from_root];

        let bcast = (0..groups.total()).map(|i| {
            let initial = if groups.is_root(i) { others[0].clone() } else { blank(case.count) };
            let m = memory(case.ty, None, Some(&initial));
            call(inter::bcast(&groups.params(&case, i)), case.ty, 0, case.count, block, m)
        });
        let memories = run_both(&case, &groups, bcast.collect());
        for (i, m) in memories.iter().enumerate() {
            let gets = groups.place(i).0 == from_root || groups.is_root(i);
            let expected = if gets { others[0].clone() } else { blank(case.count) };
            assert!(received(m, case.count) == expected, "bcast {i} {groups:?} {case:?}");
        }

        let gather = (0..groups.total()).map(|i| {
            let root = groups.is_root(i);
            let own = bytes(i, 0, block);
            let recv = blank(whole);
            let sends = groups.place(i).0 == from_root;
            let m = memory(case.ty, sends.then_some(&own[..]), root.then_some(&recv[..]));
            let counts = if root { (0, case.count) } else { (case.count, 0) };
            call(inter::gather(&groups.params(&case, i)), case.ty, counts.0, counts.1, block, m)
        });
        let memories = run_both(&case, &groups, gather.collect());
        let root = groups.members(groups.root.0).start + groups.root.1;
        assert!(received(&memories[root], whole) == all, "gather {groups:?} {case:?}");

        let scatter = (0..groups.total()).map(|i| {
            let root = groups.is_root(i);
            let recv = blank(case.count);
            let m = memory(case.ty, root.then_some(&all[..]), Some(&recv));
            let counts = if root { (case.count, 0) } else { (0, case.count) };
            call(inter::scatter(&groups.params(&case, i)), case.ty, counts.0, counts.1, block, m)
        });
        let memories = run_both(&case, &groups, scatter.collect());
        for (i, own) in groups.members(from_root).zip(&others) {
            assert!(received(&memories[i], case.count) == *own, "scatter {i} {groups:?} {case:?}");
        }
    }
}

#[test]
fn everyone_to_everyone() {
    for (case, groups) in cases(0xD3) {
        let block = case.count * ELEMENT;
        let remote = |i: usize| 1 - groups.place(i).0;
        let allgather = (0..groups.total()).map(|i| {
            let recv = blank(case.count * groups.sizes[remote(i)]);
            let m = memory(case.ty, Some(&bytes(i, 0, block)), Some(&recv));
            call(inter::allgather(&groups.params(&case, i)), case.ty, case.count, case.count, block, m)
        });
        let memories = run_both(&case, &groups, allgather.collect());
        for (i, m) in memories.iter().enumerate() {
            let expected: Vec<u8> = groups.members(remote(i)).flat_map(|j| bytes(j, 0, block)).collect();
            let count = case.count * groups.sizes[remote(i)];
            assert!(received(m, count) == expected, "allgather {i} {groups:?} {case:?}");
        }

        let between = |from: usize, to: usize| bytes(from, 100 + to, block);
        let alltoall = (0..groups.total()).map(|i| {
            let out: Vec<u8> = groups.members(remote(i)).flat_map(|to| between(i, to)).collect();
            let recv = blank(case.count * groups.sizes[remote(i)]);
            let m = memory(case.ty, Some(&out), Some(&recv));
            call(inter::alltoall(&groups.params(&case, i)), case.ty, case.count, case.count, block, m)
        });
        let memories = run_both(&case, &groups, alltoall.collect());
        for (i, m) in memories.iter().enumerate() {
            let expected: Vec<u8> = groups.members(remote(i)).flat_map(|from| between(from, i)).collect();
            let count = case.count * groups.sizes[remote(i)];
            assert!(received(m, count) == expected, "alltoall {i} {groups:?} {case:?}");
        }
    }
}

/// Blocks one after the other, one byte per element.
fn laid_out(lens: &[usize]) -> Vec<Block> {
    let mut offset = 0;
    lens.iter()
        .map(|&count| {
            let block = Block { offset, count, ty: Type::contiguous(1) };
            offset += count as i64;
            block
        })
        .collect()
}

#[test]
fn irregular_blocks() {
    let byte = Type::contiguous(1);
    for (case, groups) in cases(0xD4) {
        let data = |from: usize, to: usize| bytes(from, 200 + to, (from * 7 + to * 3) % 5);
        let remote = |i: usize| groups.members(1 - groups.place(i).0);
        let outgoing = |i: usize| -> Vec<Vec<u8>> { remote(i).map(|to| data(i, to)).collect() };
        let incoming = |i: usize| -> Vec<Vec<u8>> { remote(i).map(|from| data(from, i)).collect() };
        let lens = |blocks: &[Vec<u8>]| blocks.iter().map(Vec::len).collect::<Vec<_>>();
        let call_of = |schedule, send: &[Vec<u8>], recv: &[Vec<u8>]| {
            let send_buffer = Buffer::with_elements(byte, &send.concat(), FILL);
            let mut m = Memory::new(send_buffer, byte, Buffer::new(byte, recv.concat().len(), FILL), byte);
            (m.send_blocks, m.recv_blocks) = (laid_out(&lens(send)), laid_out(&lens(recv)));
            call(schedule, byte, send.concat().len(), recv.concat().len(), 0, m)
        };
        let alltoall = (0..groups.total())
            .map(|i| call_of(inter::alltoall_v(&groups.params(&case, i)), &outgoing(i), &incoming(i)));
        let memories = run_both(&case, &groups, alltoall.collect());
        (0..groups.total()).for_each(|i| assert!(memories[i].recv.bytes == incoming(i).concat()));

        let own = |i: usize| data(i, 0);
        let others = |i: usize| remote(i).map(own).collect::<Vec<_>>();
        let allgather = (0..groups.total())
            .map(|i| call_of(inter::allgather_v(&groups.params(&case, i)), &[own(i)], &others(i)));
        let memories = run_both(&case, &groups, allgather.collect());
        (0..groups.total()).for_each(|i| assert!(memories[i].recv.bytes == others(i).concat()));

        let gather = (0..groups.total()).map(|i| {
            let recv = if groups.is_root(i) { others(i) } else { vec![] };
            call_of(inter::gather_v(&groups.params(&case, i)), &[own(i)], &recv)
        });
        let memories = run_both(&case, &groups, gather.collect());
        let root = (0..groups.total()).find(|&i| groups.is_root(i)).unwrap();
        assert!(memories[root].recv.bytes == others(root).concat());

        let scatter = (0..groups.total()).map(|i| {
            let (send, recv) = if groups.is_root(i) { (others(i), vec![]) } else { (vec![], vec![own(i)]) };
            call_of(inter::scatter_v(&groups.params(&case, i)), &send, &recv)
        });
        let memories = run_both(&case, &groups, scatter.collect());
        remote(root).for_each(|i| assert!(memories[i].recv.bytes == own(i), "scatter {i} {groups:?}"));
    }
}

#[test]
fn reductions() {
    for (case, groups) in cases(0xD5) {
        let remote = |i: usize| groups.members(1 - groups.place(i).0);
        let own = |i: usize| elements(i, 0, case.count);
        let reduce = (0..groups.total()).map(|i| {
            let sends = groups.place(i).0 != groups.root.0;
            let recv = blank(case.count);
            let m = memory(case.ty, sends.then_some(&own(i)[..]), groups.is_root(i).then_some(&recv[..]));
            call(inter::reduce(&groups.params(&case, i)), case.ty, case.count, case.count, 0, m)
        });
        let memories = run_both(&case, &groups, reduce.collect());
        let root = (0..groups.total()).find(|&i| groups.is_root(i)).unwrap();
        let expected = reduced(remote(root), 0, case.count, case.commutative);
        assert!(received(&memories[root], case.count) == expected, "reduce {groups:?} {case:?}");

        let allreduce = (0..groups.total()).map(|i| {
            let m = memory(case.ty, Some(&own(i)), Some(&blank(case.count)));
            call(inter::allreduce(&groups.params(&case, i)), case.ty, case.count, case.count, 0, m)
        });
        let memories = run_both(&case, &groups, allreduce.collect());
        for (i, m) in memories.iter().enumerate() {
            let expected = reduced(remote(i), 0, case.count, case.commutative);
            assert!(received(m, case.count) == expected, "allreduce {i} {groups:?} {case:?}");
        }
    }
}

#[test]
fn reduce_scatter() {
    for (case, groups) in cases(0xD6) {
        // Both groups cut vectors of one length, each in its own way.
        let count = case.count % 4;
        let total = count * groups.sizes[0] * groups.sizes[1];
        for equal in [true, false] {
            let counts = |group: usize| -> Vec<usize> {
                let n = groups.sizes[group];
                let mut counts = vec![total / n; n];
                if !equal && n > 1 {
                    let moved = counts[0] / 2;
                    counts[0] -= moved;
                    counts[n - 1] += moved;
                }
                counts
            };
            let calls = (0..groups.total()).map(|i| {
                let (group, rank) = groups.place(i);
                let (p, counts) = (groups.params(&case, i), counts(group));
                let m = memory(case.ty, Some(&elements(i, 0, total)), Some(&blank(counts[rank])));
                let schedule =
                    if equal { inter::reduce_scatter_block(&p) } else { inter::reduce_scatter(&p) };
                let mut call = call(schedule, case.ty, counts[0], counts[0], 0, m);
                call.irregular = counts.iter().map(|&c| c as u64).collect();
                call
            });
            let memories = run_both(&case, &groups, calls.collect());
            for (i, m) in memories.iter().enumerate() {
                let (group, rank) = groups.place(i);
                let counts = counts(group);
                let first = counts[..rank].iter().sum();
                let expected = reduced(groups.members(1 - group), first, counts[rank], case.commutative);
                assert!(received(m, counts[rank]) == expected, "{i} {groups:?} {case:?}");
            }
        }
    }
}
