//! `MPI_Reduce` (MPI-5.0 section 6.9.1): `send` on every rank (`recv` on a root in place), `recv` on the
//! root.
//!
//! The operands are combined in rank order wherever the operation does not commute.

use super::fold::{Fold, Role};
use super::halving::{self, Vector};
use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree::{self, InOrder, Node};

/// Binomial tree. An operation that does not commute climbs to rank 0, whose subtrees are runs of ranks,
/// and goes on to the root from there.
///
/// ```text
///  round 1   1 → 0    3 → 2   5 → 4    7 → 6
///  round 2   2 ─────→ 0       6 ─────→ 4
///  round 3   4 ─────────────→ 0
/// ```
pub fn binomial(p: &Params) -> Schedule {
    knomial_tree(p, 2)
}

/// k-nomial tree with radix `fanout` (4 if unset).
///
/// ```text
///  k = 4   1 2 3 → 0   5 6 7 → 4   9 10 11 → 8   13 14 15 → 12, then  4 8 12 → 0
/// ```
pub fn knomial(p: &Params) -> Schedule {
    knomial_tree(p, p.fanout_or(4, 2))
}

fn knomial_tree(p: &Params, k: u32) -> Schedule {
    let (root, shape) = (p.root_rank(), |top| tree::knomial(p.rank, p.size, top, k));
    if p.commutative || root == 0 { climb(p, root, &shape(root)) } else { climb(p, 0, &shape(0)) }
}

/// `fanout` chains (1, the pipeline, if unset), pipelined over the segments.
///
/// ```text
///  3 → 2 → 1 → 0      each adds its part to what passes through
/// ```
pub fn chain(p: &Params) -> Schedule {
    let top = if p.commutative { p.root_rank() } else { 0 };
    climb(p, top, &tree::chain(p.rank, p.size, top, p.fanout_or(1, 1)))
}

/// k-ary tree with `fanout` children (2, the binary tree, if unset), pipelined over the segments.
/// Operations that do not commute take the in-order binary tree.
pub fn binary(p: &Params) -> Schedule {
    if !p.commutative {
        return in_order_binary(p);
    }
    let root = p.root_rank();
    climb(p, root, &tree::kary(p.rank, p.size, root, p.fanout_or(2, 2)))
}

/// The binary tree whose in-order walk is the rank order, rooted at the root: ordered, pipelined, and
/// *canonical*: the association depends only on the number of ranks and the root.
///
/// ```text
///         3           result = (left subtree) op own op (right subtree)
///      ↗     ↖
///     1       5
///    ↗ ↖     ↗ ↖
///   0   2   4   6
/// ```
pub fn in_order_binary(p: &Params) -> Schedule {
    let root = p.root_rank();
    let node = tree::in_order(p.rank, p.size, root);
    let mut b = Builder::new();
    let io = Io::open(&mut b, p, root, true);
    emit_in_order(&mut b, Group::own(p), &node, &io, p.segments);
    b.finish()
}

/// Every rank sends to the root, which combines in rank order.
///
/// ```text
///  n-1 → root, … 1 → root, 0 → root
/// ```
pub fn linear(p: &Params) -> Schedule {
    let root = p.root_rank();
    let mut b = Builder::new();
    let io = Io::open(&mut b, p, root, true);
    emit_linear(&mut b, Group::own(p), root, &io);
    b.finish()
}

/// Rabenseifner (2004): reduce-scatter by recursive halving, then the pieces are gathered at the root. For
/// long vectors and operations that commute; others take the in-order binary tree.
///
/// ```text
///  halving    0 ↔ 2, 1 ↔ 3 half the vector; 0 ↔ 1, 2 ↔ 3 a quarter: each rank has one complete quarter
///  gather     1 → 0, 3 → 2 a quarter; 2 → 0 half
/// ```
pub fn rabenseifner(p: &Params) -> Schedule {
    if !p.commutative {
        return in_order_binary(p);
    }
    let (g, root) = (Group::own(p), p.root_rank());
    let mut b = Builder::new();
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    emit_rabenseifner(&mut b, g, root, mine);
    b.finish()
}

pub(crate) fn emit_rabenseifner(b: &mut Builder, g: Group, root: u32, mine: Buf) {
    let fold = Fold::new(g.size);
    // The core that collects the result: the root, or its partner if the root is folded away.
    let (top, extra_root) = match fold.role(root) {
        Role::Extra { partner } => (fold.index_of(partner), Some(g.peer(root))),
        Role::Core { index, .. } => (index, None),
    };
    let (index, extra) = match fold.role(g.me) {
        Role::Extra { partner } => {
            b.send_now(g.peer(partner), Ref::all(mine));
            if g.me == root {
                b.recv_now(g.peer(partner), Ref::all(Buf::Recv));
            }
            return;
        }
        Role::Core { index, extra } => (index, extra),
    };
    let work = if g.me == root { Buf::Recv } else { b.typed() };
    let mut have = mine;
    if let Some(extra) = extra {
        let arrival = b.typed();
        b.recv_now(g.peer(extra), Ref::all(arrival));
        b.reduce(Ref::all(work), Ref::all(arrival), Ref::all(have));
        have = work;
    }
    let vector = Vector { runs: &|buf, lo, hi| Ref::part(buf, lo, hi, fold.power) };
    halving::emit(b, g, fold, index, &vector, have, work);
    halving::emit_gather(b, g, fold, index, top, &vector, work);
    if let Some(peer) = extra_root.filter(|_| index == top) {
        b.send_now(peer, Ref::all(work));
    }
}

/// Reduces over a tree rooted at `top` and passes the result on to the root if that is another rank.
fn climb(p: &Params, top: u32, node: &Node) -> Schedule {
    by_way_of(p, top, !p.commutative, |b, io| {
        emit_tree(b, Group::own(p), node, io, p.segments, p.commutative);
    })
}

/// The in-order binary tree rooted at rank 0, whatever the root: how operands are associated depends on the
/// number of ranks alone, not on root, count, segments or placement. For reproducible results of operations
/// that round.
///
/// ```text
///  0 ← (1 … n-1, halved again and again), then 0 → root
/// ```
pub fn canonical(p: &Params) -> Schedule {
    let node = tree::in_order(p.rank, p.size, 0);
    by_way_of(p, 0, true, |b, io| emit_in_order(b, Group::own(p), &node, io, p.segments))
}

/// Lets `emit` reduce to `top`; `apart` as in [`Io::open`].
fn by_way_of(p: &Params, top: u32, apart: bool, emit: impl FnOnce(&mut Builder, &Io)) -> Schedule {
    let (g, root) = (Group::own(p), p.root_rank());
    let mut b = Builder::new();
    let mut io = Io::open(&mut b, p, top, apart);
    if top != root && p.rank == top {
        io.result = Some(b.typed());
    }
    emit(&mut b, &io);
    if top != root {
        if p.rank == top {
            b.send_now(g.peer(root), Ref::all(io.result.unwrap_or(io.mine.buf)));
        } else if p.rank == root {
            b.recv_now(g.peer(top), Ref::all(Buf::Recv));
        }
    }
    b.finish()
}

/// Where a rank's contribution is and where the result goes.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    /// The own contribution; never written. Only one of the whole count can be cut into segments.
    pub(crate) mine: Ref,
    /// The result, on the rank that gets it.
    pub(crate) result: Option<Buf>,
}

impl Io {
    /// The buffers of `MPI_Reduce` when `top` is the tree's root. `apart`: the algorithm writes the result
    /// before it has read the contribution, so a contribution in place is set aside.
    pub(crate) fn open(b: &mut Builder, p: &Params, top: u32, apart: bool) -> Io {
        let result = (p.rank == top).then_some(Buf::Recv);
        let mut mine = if p.in_place { Buf::Recv } else { Buf::Send };
        if apart && result == Some(mine) {
            mine = b.typed();
            b.copy(Ref::all(mine), Ref::all(Buf::Recv));
        }
        Io { mine: Ref::all(mine), result }
    }

    /// Where the partial result of a segment is kept: in its place in the result, or in scratch.
    fn accumulator(&self, segment: Ref, buf: Buf) -> Ref {
        if self.result.is_some() { segment.within(buf) } else { segment.at_start_of(buf) }
    }

    fn segment(&self, s: u32, segments: u32) -> Ref {
        if segments == 1 { self.mine } else { Ref::part(self.mine.buf, s, s + 1, segments) }
    }
}

/// Combines up a tree whose subtrees are runs of indices, each behind its elder's and all behind their
/// parent.
///
/// With `any_order` the small subtrees are taken first, which arrive first, and `io.result` may be
/// `io.mine`; else the last run comes first, so that each step is `accumulated = new op accumulated`.
pub(crate) fn emit_tree(b: &mut Builder, g: Group, node: &Node, io: &Io, segments: u32, any_order: bool) {
    if node.children.is_empty() {
        return emit_leaf(b, g, node.parent, io, segments);
    }
    let accumulators = match io.result {
        Some(result) => [result; 2],
        None => [b.typed(), if segments > 1 { b.typed() } else { Buf::Signal }],
    };
    let arrivals = [b.typed(), b.typed()];
    let mut going = Window::new(1);
    let children: Vec<u32> =
        if any_order { node.children.iter().rev().copied().collect() } else { node.children.clone() };
    let total = segments as usize * children.len();
    let (mut posted, mut coming) = (0, Window::new(2));
    for s in 0..segments {
        let mine = io.segment(s, segments);
        let acc = io.accumulator(mine, accumulators[s as usize % 2]);
        for (i, _) in children.iter().enumerate() {
            let at = s as usize * children.len() + i;
            while posted < total.min(at + 2) {
                let from = children[posted % children.len()];
                let piece = io.segment((posted / children.len()) as u32, segments);
                let req = b.recv(g.peer(from), piece.at_start_of(arrivals[posted % 2]));
                coming.push(b, req);
                posted += 1;
            }
            coming.wait_oldest(b);
            let new = mine.at_start_of(arrivals[at % 2]);
            match (any_order, i) {
                (true, 0) => b.reduce(acc, new, mine),
                (false, 0) => b.copy(acc, new),
                _ => b.reduce(acc, new, acc),
            }
        }
        if !any_order {
            b.reduce(acc, mine, acc);
        }
        if let Some(parent) = node.parent {
            let req = b.send(g.peer(parent), acc);
            going.push(b, req);
        }
    }
    going.finish(b);
}

/// A rank without children sends its segments up; alone in the group, it copies.
fn emit_leaf(b: &mut Builder, g: Group, parent: Option<u32>, io: &Io, segments: u32) {
    if let Some(parent) = parent {
        let mut going = Window::new(4);
        for s in 0..segments {
            let req = b.send(g.peer(parent), io.segment(s, segments));
            going.push(b, req);
        }
        going.finish(b);
    } else if let Some(result) = io.result {
        b.copy(io.mine.within(result), io.mine);
    }
}

/// Combines up the in-order binary tree: right subtree, own part, left subtree, each put before what is
/// there.
pub(crate) fn emit_in_order(b: &mut Builder, g: Group, node: &InOrder, io: &Io, segments: u32) {
    if node.left.is_none() && node.right.is_none() {
        return emit_leaf(b, g, node.parent, io, segments);
    }
    let accumulators = match io.result {
        Some(result) => [result; 2],
        None => [b.typed(), if segments > 1 { b.typed() } else { Buf::Signal }],
    };
    let arrival = node.left.map(|_| b.typed());
    let mut going = Window::new(1);
    for s in 0..segments {
        let mine = io.segment(s, segments);
        let acc = io.accumulator(mine, accumulators[s as usize % 2]);
        let right = node.right.map(|right| b.recv(g.peer(right), acc));
        let left = node.left.zip(arrival).map(|(left, buf)| {
            let place = mine.at_start_of(buf);
            (b.recv(g.peer(left), place), place)
        });
        let has_right = right.is_some();
        b.wait_all(right);
        if has_right {
            b.reduce(acc, mine, acc);
        }
        if let Some((req, place)) = left {
            b.wait(req);
            b.reduce(acc, place, if has_right { acc } else { mine });
        }
        if let Some(parent) = node.parent {
            let req = b.send(g.peer(parent), acc);
            going.push(b, req);
        }
    }
    going.finish(b);
}

/// Combines at `root` in rank order, from the last rank down; two receives are under way at a time.
pub(crate) fn emit_linear(b: &mut Builder, g: Group, root: u32, io: &Io) {
    let mine = io.mine;
    let Some(result) = io.result.filter(|_| g.size > 1) else {
        return emit_leaf(b, g, (g.me != root).then_some(root), io, 1);
    };
    let acc = Ref::all(result);
    let arrivals = [b.typed(), b.typed()];
    let sources: Vec<u32> = (0..g.size).rev().filter(|&r| r != root).collect();
    let (mut posted, mut coming, mut at) = (0, Window::new(2), 0);
    for rank in (0..g.size).rev() {
        let operand = if rank == root {
            mine
        } else {
            while posted < sources.len().min(at + 2) {
                let req = b.recv(g.peer(sources[posted]), Ref::all(arrivals[posted % 2]));
                coming.push(b, req);
                posted += 1;
            }
            coming.wait_oldest(b);
            at += 1;
            Ref::all(arrivals[(at - 1) % 2])
        };
        if rank == g.size - 1 { b.copy(acc, operand) } else { b.reduce(acc, operand, acc) }
    }
}
