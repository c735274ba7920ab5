//! Hierarchical reductions.

use super::Nodes;
use crate::algorithms::node::{Area, slots};
use crate::algorithms::{
    allreduce as flat_allreduce, bcast, reduce as flat_reduce, reduce_scatter as flat_scatter,
    scan as flat_scan,
};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Reduce up a tree over the leaders with trees below, pipelined over the segments. Operations that do not
/// commute take the flat binomial tree.
///
/// ```text
///  a* → a0 ┐
///  b* → b0 ┴→ root
/// ```
pub fn reduce(p: &Params) -> Schedule {
    if !p.commutative {
        return flat_reduce::binomial(p);
    }
    let root = p.root_rank();
    let node = Nodes::new(p, Some(root)).tree(p, root);
    let mut b = Builder::new();
    let io = flat_reduce::Io::open(&mut b, p, root, false);
    flat_reduce::emit_tree(&mut b, Group::own(p), &node, &io, p.segments, true);
    b.finish()
}

/// Nodes reduce at their leaders, the leaders allreduce by recursive doubling, nodes broadcast.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*, then a0 → a*, b0 → b*
/// ```
pub fn allreduce(p: &Params) -> Schedule {
    through_leaders(p, |b, leaders| {
        flat_allreduce::emit_recursive_doubling(b, leaders, Buf::Recv, p.commutative);
    })
}

/// As [`allreduce`], the leaders by Rabenseifner's algorithm: for longer vectors. Operations that do not commute take
/// recursive doubling.
pub fn allreduce_rabenseifner(p: &Params) -> Schedule {
    if !p.commutative {
        return allreduce(p);
    }
    through_leaders(p, |b, leaders| flat_allreduce::emit_rabenseifner(b, leaders, Buf::Recv))
}

/// `among`: how the leaders combine their nodes' results, which are in the receive buffers.
fn through_leaders(p: &Params, among: impl FnOnce(&mut Builder, Group)) -> Schedule {
    let nodes = Nodes::new(p, None);
    let Some(g) = nodes.node_group(p).filter(|_| p.commutative || nodes.in_order()) else {
        return flat_allreduce::recursive_doubling(p);
    };
    let mut b = Builder::new();
    let node = tree::knomial(g.me, g.size, 0, 2);
    let io = flat_reduce::Io::open(&mut b, p, nodes.leader(), !p.commutative);
    flat_reduce::emit_tree(&mut b, g, &node, &io, 1, p.commutative);
    if let Some(leaders) = nodes.leader_group(p) {
        among(&mut b, leaders);
    }
    bcast::emit_tree(&mut b, g, &node, |_| Ref::all(Buf::Recv), 1);
    b.finish()
}

/// As [`allreduce`] for at most [`crate::shared::PAYLOAD`] bytes, with the slots of the nodes' shared areas.
///
/// ```text
///  slots of a* → a0 ⇄ b0 ← slots of b*, then slot of a0 → a*, of b0 → b*
/// ```
pub fn allreduce_lines(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let Some(g) = nodes.node_group(p).filter(|_| p.commutative || nodes.in_order()) else {
        return flat_allreduce::recursive_doubling(p);
    };
    let mut b = Builder::new();
    let mut area = Area { me: g.me, size: g.size, round: 0 };
    let result = Ref::all(Buf::Recv);
    slots::emit_flat_reduce(&mut b, &mut area, 0, Ref::all(flat_allreduce::mine(p)), result);
    if let Some(leaders) = nodes.leader_group(p) {
        flat_allreduce::emit_recursive_doubling(&mut b, leaders, Buf::Recv, p.commutative);
    }
    slots::emit_flat_bcast(&mut b, &mut area, 0, result);
    area.retire(&mut b);
    b.finish()
}

/// Nodes reduce the whole vector at their leaders; each leader gets its node's blocks from all others and
/// combines them; nodes scatter. Needs nodes of consecutive ranks, otherwise the flat butterfly is taken.
///
/// ```text
///  a* → a0: sum of A          a0 ─ blocks of B ─→ b0          a0 → a*: a block each
///  b* → b0: sum of B          b0 ─ blocks of A ─→ a0          b0 → b*
/// ```
pub fn reduce_scatter(p: &Params) -> Schedule {
    reduce_and_scatter(p, flat_scatter::BY_COUNTS)
}

/// As [`reduce_scatter`], with equal blocks.
pub fn reduce_scatter_block(p: &Params) -> Schedule {
    reduce_and_scatter(p, flat_scatter::EQUAL)
}

fn reduce_and_scatter(p: &Params, cut: flat_scatter::Cut) -> Schedule {
    let nodes = Nodes::new(p, None);
    let Some(g) = nodes.node_group(p).filter(|_| nodes.in_order()) else {
        return flat_scatter::emit_butterfly(p, cut);
    };
    let mut b = Builder::new();
    let source = flat_allreduce::mine(p);
    let result = |rank: u32| cut.run(Buf::Recv, rank, rank + 1).at_start_of(Buf::Recv);
    let sum = (g.me == 0).then(|| b.typed());
    let io = flat_reduce::Io { mine: cut.run(source, 0, p.size), result: sum };
    flat_reduce::emit_tree(&mut b, g, &tree::knomial(g.me, g.size, 0, 2), &io, 1, p.commutative);
    let (Some(sum), Some(leaders)) = (sum, nodes.leader_group(p)) else {
        b.recv_now(g.peer(0), result(p.rank));
        return b.finish();
    };
    let run = |buf, node: usize| {
        let ranks = &nodes.members[node];
        cut.run(buf, ranks[0], ranks[ranks.len() - 1] + 1)
    };
    let own = run(sum, nodes.own);
    let (acc, arrival) = (own.at_start_of(b.typed()), own.at_start_of(b.typed()));
    let sends: Vec<_> = (1..leaders.size)
        .map(|d| leaders.after(d))
        .map(|to| b.send(leaders.peer(to), run(sum, to as usize)))
        .collect();
    for node in (0..leaders.size).rev() {
        let last = node + 1 == leaders.size;
        match (node == leaders.me, last) {
            (true, true) => b.copy(acc, own),
            (true, false) => b.reduce(acc, own, acc),
            (false, true) => b.recv_now(leaders.peer(node), acc),
            (false, false) => {
                b.recv_now(leaders.peer(node), arrival);
                b.reduce(acc, arrival, acc);
            }
        }
    }
    b.wait_all(sends);
    // The accumulator begins with the leader's own block.
    let block = |rank: u32| Ref { org: p.rank, ..cut.run(acc.buf, rank, rank + 1) };
    let scatter: Vec<_> = (1..g.size).map(|i| b.send(g.peer(i), block(g.rank(i)))).collect();
    b.copy(result(p.rank), block(p.rank));
    b.wait_all(scatter);
    b.finish()
}

/// Scan within the nodes, exclusive scan of the nodes' totals over their last ranks, whose results come
/// before all of a node's. Needs nodes of consecutive ranks, otherwise the flat recursive doubling is
/// taken.
///
/// ```text
///  A: a0 a0a1 a0a1a2 ─total A─→ B: b0 b0b1 b0b1b2 ─total A op total B─→ C: …
///                               then total A op each of B
/// ```
pub fn scan(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let Some(g) = nodes.node_group(p).filter(|_| nodes.in_order()) else {
        return flat_scan::recursive_doubling(p);
    };
    let mut b = Builder::new();
    let result = Ref::all(Buf::Recv);
    flat_scan::emit_doubling(&mut b, g, Ref::all(flat_allreduce::mine(p)), result, true);
    if let Some(before) = emit_before_node(&mut b, p, &nodes, g, result) {
        b.reduce(result, before, result);
    }
    b.finish()
}

/// [`scan`] for `MPI_Exscan`: inclusive results move one rank on within the node.
pub fn exscan(p: &Params) -> Schedule {
    let nodes = Nodes::new(p, None);
    let Some(g) = nodes.node_group(p).filter(|_| nodes.in_order()) else {
        return flat_scan::recursive_doubling_exclusive(p);
    };
    let mut b = Builder::new();
    let (own, result) = (Ref::all(flat_allreduce::mine(p)), Ref::all(Buf::Recv));
    let inclusive = Ref::all(b.typed());
    flat_scan::emit_doubling(&mut b, g, own, inclusive, true);
    let recv = (g.me > 0).then(|| b.recv(g.peer(g.me - 1), result));
    let send = (g.me + 1 < g.size).then(|| b.send(g.peer(g.me + 1), inclusive));
    b.wait_all(recv.into_iter().chain(send));
    if let Some(before) = emit_before_node(&mut b, p, &nodes, g, inclusive) {
        if g.me > 0 { b.reduce(result, before, result) } else { b.copy(result, before) }
    }
    b.finish()
}

/// Brings the combination of all nodes before the own one to every rank, from the inclusive results of the
/// nodes' last ranks.
fn emit_before_node(b: &mut Builder, p: &Params, nodes: &Nodes, g: Group, inclusive: Ref) -> Option<Ref> {
    let before = inclusive.at_start_of(b.typed());
    let last_ranks: Vec<u32> = nodes.members.iter().map(|node| node[node.len() - 1]).collect();
    if let Some(last) = Group::of_ranks(p, &last_ranks) {
        flat_scan::emit_doubling(b, last, inclusive, before, false);
    }
    if nodes.own == 0 {
        return None;
    }
    let down = tree::knomial(g.me, g.size, g.size - 1, 2);
    bcast::emit_tree(b, g, &down, |_| before, 1);
    Some(before)
}
