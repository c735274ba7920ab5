//! Hierarchical data movement and barriers.

use super::{Nodes, runs};
use crate::algorithms::bcast::{Stream, emit_tree};
use crate::algorithms::node::{Area, slots};
use crate::algorithms::{allgather as flat_allgather, barrier as flat_barrier};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Reports within the nodes, dissemination among the leaders (of radix `fanout`, 2 if unset), release within the nodes.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*, then a0 → a*, b0 → b*
/// ```
pub fn barrier(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let mut b = Builder::new();
    if let Some(g) = nodes.node_group(p) {
        let node = tree::knomial(g.me, g.size, 0, 2);
        flat_barrier::emit_report(&mut b, g, &node);
        emit_leaders_barrier(&mut b, p, &nodes);
        flat_barrier::emit_release(&mut b, g, &node);
    }
    b.finish()
}

/// As [`barrier`], with the slots of the nodes' shared areas.
pub fn barrier_lines(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let mut b = Builder::new();
    if let Some(g) = nodes.node_group(p) {
        let mut area = Area { me: g.me, size: g.size, round: 0 };
        slots::emit_flat_barrier(&mut b, &mut area, |b| emit_leaders_barrier(b, p, &nodes));
        area.retire(&mut b);
    }
    b.finish()
}

fn emit_leaders_barrier(b: &mut Builder, p: &Params, nodes: &Nodes) {
    if let Some(leaders) = nodes.leader_group(p) {
        flat_barrier::emit_dissemination(b, leaders, p.fanout_or(2, 2));
    }
}

/// A tree over the leaders with trees below, pipelined over the segments.
///
/// ```text
///  root ═→ a0, b0, …; each → its node
/// ```
pub fn bcast(p: &Params) -> Schedule {
    let root = p.root_rank();
    let node = Nodes::new(p, Some(root)).tree(p, root);
    let mut b = Builder::new();
    let stream = Stream::open(&mut b, p, p.segments > 1, p.rank == root);
    emit_tree(&mut b, Group::own(p), &node, |s| stream.part(s, p.segments), p.segments);
    stream.close(&mut b, p.rank == root);
    b.finish()
}

/// As [`bcast`] for at most [`crate::shared::PAYLOAD`] bytes, with the slots of the nodes' shared areas.
pub fn bcast_lines(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, Some(p.root_rank()));
    let mut b = Builder::new();
    let data = Ref::all(Buf::Recv);
    if let Some(leaders) = nodes.leader_group(p) {
        let top = nodes.leaders.iter().position(|&r| r == p.root_rank()).unwrap_or(0) as u32;
        emit_tree(&mut b, leaders, &tree::knomial(leaders.me, leaders.size, top, 2), |_| data, 1);
    }
    if let Some(g) = nodes.node_group(p) {
        let mut area = Area { me: g.me, size: g.size, round: 0 };
        let leader = nodes.mates().iter().position(|&r| r == nodes.leader()).unwrap_or(0) as u32;
        slots::emit_flat_bcast(&mut b, &mut area, leader, data);
        area.retire(&mut b);
    }
    b.finish()
}

/// Nodes gather at their leaders, which send their nodes' blocks to the root.
///
/// ```text
///  a* → a0 ┐
///  b* → b0 ┴═→ root
/// ```
pub fn gather(p: &Params) -> Schedule {
    let root = p.root_rank();
    let nodes = Nodes::new(p, Some(root));
    let g = Group::own(p);
    let mut b = Builder::new();
    let own = Ref::all(Buf::Send);
    if p.rank != nodes.leader() {
        b.send_now(g.peer(nodes.leader()), own);
    } else if p.rank != root {
        let packed = b.packed();
        let slot = |i: usize| Ref::blocks(packed, i as u32, i as u32 + 1);
        let mates = nodes.mates().iter().enumerate();
        let reqs: Vec<_> =
            mates.filter(|(_, r)| **r != p.rank).map(|(i, &r)| b.recv(g.peer(r), slot(i))).collect();
        let me = nodes.mates().iter().position(|&r| r == p.rank).unwrap_or(0);
        b.copy(slot(me), own);
        b.wait_all(reqs);
        b.send_now(g.peer(root), Ref::blocks(packed, 0, nodes.mates().len() as u32));
    } else {
        let block = |r: u32| Ref::blocks(Buf::Recv, r, r + 1);
        let mates = nodes.mates().iter().filter(|&&r| r != root);
        let mut reqs: Vec<_> = mates.map(|&r| b.recv(g.peer(r), block(r))).collect();
        let (mut scattered, mut packed) = (vec![], None);
        let mut at = 0;
        for (_, ranks) in others(&nodes) {
            let len = ranks.len() as u32;
            let place = if runs(ranks).nth(1).is_none() {
                Ref::blocks(Buf::Recv, ranks[0], ranks[0] + len)
            } else {
                let buf = *packed.get_or_insert_with(|| b.packed());
                scattered.push((ranks, buf, at));
                at += len;
                Ref::blocks(buf, at - len, at)
            };
            reqs.push(b.recv(g.peer(leader_of(&nodes, ranks)), place));
        }
        if !p.in_place {
            b.copy(block(root), own);
        }
        b.wait_all(reqs);
        for (ranks, buf, at) in scattered {
            copy_runs(&mut b, ranks, Buf::Recv, buf, at, true);
        }
    }
    b.finish()
}

/// The root sends each node's blocks to its leader, which hands them out.
///
/// ```text
///  root ═→ a0 → a*
///       ═→ b0 → b*
/// ```
pub fn scatter(p: &Params) -> Schedule {
    let root = p.root_rank();
    let nodes = Nodes::new(p, Some(root));
    let g = Group::own(p);
    let mut b = Builder::new();
    let own = Ref::all(Buf::Recv);
    if p.rank != nodes.leader() {
        b.recv_now(g.peer(nodes.leader()), own);
    } else if p.rank != root {
        let packed = b.packed();
        let slot = |i: usize| Ref::blocks(packed, i as u32, i as u32 + 1);
        b.recv_now(g.peer(root), Ref::blocks(packed, 0, nodes.mates().len() as u32));
        let mates = nodes.mates().iter().enumerate();
        let reqs: Vec<_> =
            mates.filter(|(_, r)| **r != p.rank).map(|(i, &r)| b.send(g.peer(r), slot(i))).collect();
        let me = nodes.mates().iter().position(|&r| r == p.rank).unwrap_or(0);
        b.copy(own, slot(me));
        b.wait_all(reqs);
    } else {
        let block = |r: u32| Ref::blocks(Buf::Send, r, r + 1);
        let (mut reqs, mut packed, mut at) = (vec![], None, 0);
        for (_, ranks) in others(&nodes) {
            let len = ranks.len() as u32;
            let run = if runs(ranks).nth(1).is_none() {
                Ref::blocks(Buf::Send, ranks[0], ranks[0] + len)
            } else {
                let buf = *packed.get_or_insert_with(|| b.packed());
                copy_runs(&mut b, ranks, Buf::Send, buf, at, false);
                at += len;
                Ref::blocks(buf, at - len, at)
            };
            reqs.push(b.send(g.peer(leader_of(&nodes, ranks)), run));
        }
        let mates = nodes.mates().iter().filter(|&&r| r != root);
        reqs.extend(mates.map(|&r| b.send(g.peer(r), block(r))));
        if !p.in_place {
            b.copy(own, block(root));
        }
        b.wait_all(reqs);
    }
    b.finish()
}

/// All nodes but the own one.
fn others<'a>(nodes: &'a Nodes<'_>) -> impl Iterator<Item = (usize, &'a Vec<u32>)> {
    nodes.members.iter().enumerate().filter(|(i, _)| *i != nodes.own)
}

/// The leader of another node, which is its lowest rank.
fn leader_of(nodes: &Nodes, ranks: &[u32]) -> u32 {
    debug_assert!(nodes.leaders.contains(&ranks[0]));
    ranks[0]
}

/// Copies the blocks of `ranks` between their places in `buf` and a packed run that begins at block `at`.
fn copy_runs(b: &mut Builder, ranks: &[u32], buf: Buf, packed: Buf, mut at: u32, unpack: bool) {
    for run in runs(ranks) {
        let len = run.end - run.start;
        let (place, aside) = (Ref::blocks(buf, run.start, run.end), Ref::blocks(packed, at, at + len));
        if unpack {
            b.copy(place, aside)
        } else {
            b.copy(aside, place)
        }
        at += len;
    }
}

/// Nodes gather at their leaders, the leaders pass whole nodes around a ring, nodes broadcast.
///
/// ```text
///  a* → a0 ═→ b0 ═→ c0 ═→ a0, then a0 → a*, b0 → b*, c0 → c*
/// ```
pub fn allgather(p: &Params) -> Schedule {
    gather_and_share(p, block, emit_ring_of_runs, &[Ref::blocks(Buf::Recv, 0, p.size)])
}

/// As [`allgather`], with recursive doubling among the leaders: few messages, which pays for short blocks. Needs nodes of
/// consecutive ranks, otherwise the ring is taken.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*     c* → c0 ⇄ d0 ← d*
///       a0 ⇄ c0          b0 ⇄ d0             then a0 → a*, …
/// ```
pub fn allgather_doubling(p: &Params) -> Schedule {
    let exchange = |b: &mut Builder, nodes: &Nodes, leaders: Group| {
        if !nodes.in_order() {
            return emit_ring_of_runs(b, nodes, leaders);
        }
        let first = |node: u32| nodes.members.get(node as usize).map_or(p.size, |ranks| ranks[0]);
        flat_allgather::emit_recursive_doubling(b, leaders, |lo, hi| {
            Ref::blocks(Buf::Recv, first(lo), first(hi))
        });
    };
    gather_and_share(p, block, exchange, &[Ref::blocks(Buf::Recv, 0, p.size)])
}

fn block(rank: u32) -> Ref {
    Ref::blocks(Buf::Recv, rank, rank + 1)
}

fn emit_ring_of_runs(b: &mut Builder, nodes: &Nodes, leaders: Group) {
    emit_node_ring(b, nodes, leaders, |ranks| {
        runs(ranks).map(|run| Ref::blocks(Buf::Recv, run.start, run.end)).collect()
    });
}

/// [`allgather`] for blocks of different sizes, which travel one by one: each goes down its node's tree while the next
/// one arrives.
pub fn allgather_v(p: &Params) -> Schedule {
    let block = |r| Ref::block(Buf::RecvBlock, r);
    let exchange = |b: &mut Builder, nodes: &Nodes, leaders: Group| {
        emit_node_ring(b, nodes, leaders, |ranks| ranks.iter().map(|&r| block(r)).collect());
    };
    gather_and_share(p, block, exchange, &(0..p.size).map(block).collect::<Vec<_>>())
}

/// The leaders pass nodes around; `of_node`: the messages that carry the blocks of these ranks.
fn emit_node_ring(b: &mut Builder, nodes: &Nodes, leaders: Group, of_node: impl Fn(&[u32]) -> Vec<Ref>) {
    let (right, left) = (leaders.peer(leaders.after(1)), leaders.peer(leaders.before(1)));
    let parts = |node: u32| of_node(&nodes.members[node as usize]).into_iter();
    for step in 1..leaders.size {
        let mut reqs: Vec<_> = parts(leaders.before(step)).map(|r| b.recv(left, r)).collect();
        reqs.extend(parts(leaders.before(step - 1)).map(|r| b.send(right, r)));
        b.wait_all(reqs);
    }
}

/// `exchange`: how the leaders give each other their nodes' blocks; `all`: the messages that carry the result.
fn gather_and_share(
    p: &Params,
    block: impl Fn(u32) -> Ref,
    exchange: impl FnOnce(&mut Builder, &Nodes, Group),
    all: &[Ref],
) -> Schedule {
    let nodes = Nodes::new(p, None);
    let g = Group::own(p);
    let mut b = Builder::new();
    let own = if p.in_place { block(p.rank) } else { Ref::all(Buf::Send) };
    match nodes.leader_group(p) {
        None => b.send_now(g.peer(nodes.leader()), own),
        Some(leaders) => {
            b.copy(block(p.rank), own);
            let mates = nodes.mates().iter().filter(|&&r| r != p.rank);
            let reqs: Vec<_> = mates.map(|&r| b.recv(g.peer(r), block(r))).collect();
            b.wait_all(reqs);
            exchange(&mut b, &nodes, leaders);
        }
    }
    if let Some(node) = nodes.node_group(p) {
        let tree = tree::knomial(node.me, node.size, 0, 2);
        emit_tree(&mut b, node, &tree, |s| all[s as usize], all.len() as u32);
    }
    b.finish()
}

/// Nodes collect all their blocks at their leaders, the leaders exchange what concerns each other's nodes,
/// nodes hand out: few large messages between nodes instead of many small ones.
///
/// ```text
///  a* ─n blocks─→ a0 ═|A|·|B| blocks═ b0 ←─ b*, then a0 ─n blocks─→ a*
/// ```
pub fn alltoall(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let g = Group::own(p);
    let n = p.size;
    let mut b = Builder::new();
    let source = Ref::blocks(if p.in_place { Buf::Recv } else { Buf::Send }, 0, n);
    let result = Ref::blocks(Buf::Recv, 0, n);
    let Some(leaders) = nodes.leader_group(p) else {
        b.send_now(g.peer(nodes.leader()), source);
        b.recv_now(g.peer(nodes.leader()), result);
        return b.finish();
    };
    let mates = nodes.mates();
    let m = mates.len() as u32;
    let (collected, out, arrived, sorted) = (b.packed(), b.packed(), b.packed(), b.packed());
    let of_mate = |buf, i: usize| Ref::blocks(buf, i as u32 * n, (i as u32 + 1) * n);
    let each = || mates.iter().enumerate();
    let reqs: Vec<_> = each()
        .filter(|(_, r)| **r != p.rank)
        .map(|(i, &r)| b.recv(g.peer(r), of_mate(collected, i)))
        .collect();
    let me = mates.iter().position(|&r| r == p.rank).unwrap_or(0);
    b.copy(of_mate(collected, me), source);
    b.wait_all(reqs);
    let (reqs, at) = emit_node_exchange(&mut b, &nodes, leaders, [collected, out, arrived], n);
    b.wait_all(reqs);
    // From (node, its rank, own mate) to (own mate, rank).
    for (ranks, first) in nodes.members.iter().zip(at) {
        for (s, &rank) in ranks.iter().enumerate() {
            for d in 0..m {
                let from = first + s as u32 * m + d;
                let into = d * n + rank;
                b.copy(Ref::blocks(sorted, into, into + 1), Ref::blocks(arrived, from, from + 1));
            }
        }
    }
    let reqs: Vec<_> =
        each().filter(|(_, r)| **r != p.rank).map(|(i, &r)| b.send(g.peer(r), of_mate(sorted, i))).collect();
    b.copy(result, of_mate(sorted, me));
    b.wait_all(reqs);
    b.finish()
}

/// Sends to each leader what the own node has for its node, in the order (own mate, its rank), and receives
/// the like; returns where each node's blocks arrive.
fn emit_node_exchange(
    b: &mut Builder,
    nodes: &Nodes,
    leaders: Group,
    [collected, out, arrived]: [Buf; 3],
    n: u32,
) -> (Vec<crate::builder::Req>, Vec<u32>) {
    let m = nodes.mates().len() as u32;
    let (mut reqs, mut starts, mut first) = (vec![], vec![], 0);
    for (j, ranks) in nodes.members.iter().enumerate() {
        let mut at = first;
        for i in 0..m {
            for run in runs(ranks) {
                let len = run.end - run.start;
                let from = Ref::blocks(collected, i * n + run.start, i * n + run.end);
                b.copy(Ref::blocks(out, at, at + len), from);
                at += len;
            }
        }
        let (sent, place) = (Ref::blocks(out, first, at), Ref::blocks(arrived, first, at));
        if j == nodes.own {
            b.copy(place, sent);
        } else {
            reqs.push(b.recv(leaders.peer(j as u32), place));
            reqs.push(b.send(leaders.peer(j as u32), sent));
        }
        starts.push(first);
        first = at;
    }
    (reqs, starts)
}
