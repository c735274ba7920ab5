//! `MPI_Allreduce` (MPI-5.0 section 6.9.6): `send` (or `recv` in place) in, `recv` out, on every rank.

use super::fold::{Fold, Role};
use super::{bcast, reduce};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Recursive doubling: log2(n) exchanges of the whole vector with partners that differ in one bit. Ordered; every rank
/// computes the same association, so all results agree to the last bit.
///
/// ```text
///  round 1   0 ↔ 1   2 ↔ 3   4 ↔ 5   6 ↔ 7
///  round 2   0 ↔ 2   1 ↔ 3   4 ↔ 6   5 ↔ 7
///  round 3   0 ↔ 4   1 ↔ 5   2 ↔ 6   3 ↔ 7     (other sizes are folded first)
/// ```
pub fn recursive_doubling(p: &Params) -> Schedule {
    let mut b = Builder::new();
    emit_recursive_doubling(&mut b, Group::own(p), mine(p), p.commutative);
    b.finish()
}

/// The own contribution.
pub(crate) fn mine(p: &Params) -> Buf {
    if p.in_place { Buf::Recv } else { Buf::Send }
}

/// Leaves the result in the receive buffer of every member; `mine` may be that buffer.
pub(crate) fn emit_recursive_doubling(b: &mut Builder, g: Group, mine: Buf, commutative: bool) {
    let result = Ref::all(Buf::Recv);
    let fold = Fold::new(g.size);
    let (index, extra) = match fold.role(g.me) {
        Role::Extra { partner } => {
            b.send_now(g.peer(partner), Ref::all(mine));
            return b.recv_now(g.peer(partner), result);
        }
        Role::Core { index, extra } => (index, extra),
    };
    if g.size == 1 {
        return b.copy(result, Ref::all(mine));
    }
    let spare = b.typed();
    let (mut arrival, mut spare) = (Ref::all(spare), Ref::all(if commutative { spare } else { b.typed() }));
    let mut have = Ref::all(mine);
    if let Some(extra) = extra {
        b.recv_now(g.peer(extra), arrival);
        b.reduce(result, arrival, have);
        have = result;
    }
    for mask in fold.masks() {
        let partner = fold.rank(index ^ mask);
        b.exchange(g.peer(partner), have, g.peer(partner), arrival);
        if partner < g.me {
            let into = if have == spare { have } else { result };
            b.reduce(into, arrival, have);
            have = into;
        } else if commutative || have != result {
            b.reduce(result, have, arrival);
            have = result;
        } else {
            // The result buffer is the left operand: the new value stays where the right one arrived.
            b.reduce(arrival, have, arrival);
            have = arrival;
            std::mem::swap(&mut arrival, &mut spare);
        }
    }
    b.copy(result, have);
    if let Some(extra) = extra {
        b.send_now(g.peer(extra), result);
    }
}

/// Reduce up a tree, broadcast down the same one: `fanout` children (2, the paper's binary tree, if unset), pipelined over the
/// segments. Operations that do not commute climb the in-order binary tree.
///
/// ```text
///         0              ↑ partial sums        ↓ the result
///       1   2
///      3 4 5 6
/// ```
pub fn tree(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let io = reduce::Io::open(&mut b, p, 0, !p.commutative);
    let down = if p.commutative {
        let node = tree::kary(p.rank, p.size, 0, p.fanout_or(2, 2));
        reduce::emit_tree(&mut b, g, &node, &io, p.segments, true);
        node
    } else {
        reduce::emit_in_order(&mut b, g, &tree::in_order(p.rank, p.size, 0), &io, p.segments);
        tree::kary(p.rank, p.size, 0, p.fanout_or(2, 2))
    };
    bcast::emit_tree(&mut b, g, &down, Buf::Recv, p.segments);
    b.finish()
}

/// Everybody sends to rank 0, which combines in rank order and sends the result to everybody.
///
/// ```text
///  n-1 → 0, … 1 → 0, then 0 → 1, … 0 → n-1
/// ```
pub fn linear(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let io = reduce::Io::open(&mut b, p, 0, true);
    reduce::emit_linear(&mut b, g, 0, &io);
    bcast::emit_tree(&mut b, g, &tree::linear(p.rank, p.size, 0), Buf::Recv, 1);
    b.finish()
}
