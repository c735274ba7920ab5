//! `MPI_Allreduce` (MPI-5.0 section 6.9.6): `send` (or `recv` in place) in, `recv` out, on every rank.

use super::fold::{Fold, Role};
use super::halving::{self, Vector};
use super::{bcast, reduce};
use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Recursive doubling: log2(n) exchanges of the whole vector with partners that differ in one bit. Ordered;
/// every rank computes the same association, so all results agree to the last bit.
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

/// Reduce up a tree, broadcast down the same one: `fanout` children (2, the paper's binary tree, if unset),
/// pipelined over the segments. Operations that do not commute climb the in-order binary tree.
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
    let segment = |s| Ref::part(Buf::Recv, s, s + 1, p.segments);
    bcast::emit_tree(&mut b, g, &down, segment, p.segments);
    b.finish()
}

/// [`tree`] with the in-order binary tree for every operation: the association of [`reduce::canonical`].
pub fn canonical(p: &Params) -> Schedule {
    tree(&Params { commutative: false, fanout: 2, ..*p })
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
    bcast::emit_tree(&mut b, g, &tree::linear(p.rank, p.size, 0), |_| Ref::all(Buf::Recv), 1);
    b.finish()
}

/// Ring: the vector is cut into n blocks; n-1 steps add up one block each on its way around, n-1 more pass
/// the sums on. With `segments` above 1 each block travels in that many pieces, the next one under way
/// while the last is added.
///
/// ```text
///  step s of phase 1   r sends block r-s, receives block r-s-1 and adds its own part
///  step s of phase 2   r sends block r+1-s, receives block r-s
/// ```
pub fn ring(p: &Params) -> Schedule {
    let mut b = Builder::new();
    emit_ring(&mut b, Group::own(p), mine(p), p.segments);
    b.finish()
}

pub(crate) fn emit_ring(b: &mut Builder, g: Group, mine: Buf, segments: u32) {
    let n = g.size;
    if n == 1 {
        return b.copy(Ref::all(Buf::Recv), Ref::all(mine));
    }
    let piece = |buf, block: u32, s: u32| {
        Ref::part(buf, block * segments + s, block * segments + s + 1, n * segments)
    };
    let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
    let arrivals = [b.typed(), b.typed()];
    let total = (n - 1) * segments;
    // Piece `i` of phase 1: which block and segment come in, and where they land meanwhile.
    let coming_in = |i: u32| piece(Buf::Recv, g.before(i / segments + 1), i % segments);
    let landing = |i: u32| coming_in(i).at_start_of(arrivals[i as usize % 2]);
    let (mut posted, mut coming, mut going) = (0, Window::new(2), Window::new(2));
    for i in 0..total {
        while posted < total.min(i + 2) {
            let req = b.recv(left, landing(posted));
            coming.push(b, req);
            posted += 1;
        }
        let source = if i < segments { mine } else { Buf::Recv };
        let req = b.send(right, piece(source, g.before(i / segments), i % segments));
        going.push(b, req);
        coming.wait_oldest(b);
        b.reduce(coming_in(i), landing(i), coming_in(i).within(mine));
    }
    going.finish(b);
    // Block r+1 is complete here.
    let block = |by: u32| (g.after(1) + n - by) % n;
    for step in 0..n - 1 {
        let reqs: Vec<_> =
            (0..segments).map(|s| b.recv(left, piece(Buf::Recv, block(step + 1), s))).collect();
        let sends: Vec<_> = (0..segments).map(|s| b.send(right, piece(Buf::Recv, block(step), s))).collect();
        b.wait_all(reqs);
        b.wait_all(sends);
    }
}

/// Rabenseifner (2004): reduce-scatter by recursive halving, allgather by recursive doubling; each rank
/// computes and moves about two vectors whatever n is. Sizes that are no power of two are folded.
///
/// ```text
///  halving    0 ↔ 2, 1 ↔ 3 half the vector; 0 ↔ 1, 2 ↔ 3 a quarter: each rank has one complete quarter
///  doubling   0 ↔ 1, 2 ↔ 3 a quarter; 0 ↔ 2, 1 ↔ 3 half
/// ```
pub fn rabenseifner(p: &Params) -> Schedule {
    let mut b = Builder::new();
    emit_rabenseifner(&mut b, Group::own(p), mine(p));
    b.finish()
}

pub(crate) fn emit_rabenseifner(b: &mut Builder, g: Group, mine: Buf) {
    let result = Ref::all(Buf::Recv);
    let fold = Fold::new(g.size);
    let (index, extra) = match fold.role(g.me) {
        Role::Extra { partner } => {
            b.send_now(g.peer(partner), Ref::all(mine));
            return b.recv_now(g.peer(partner), result);
        }
        Role::Core { index, extra } => (index, extra),
    };
    let mut have = mine;
    if let Some(extra) = extra {
        let arrival = b.typed();
        b.recv_now(g.peer(extra), Ref::all(arrival));
        b.reduce(result, Ref::all(arrival), Ref::all(have));
        have = Buf::Recv;
    }
    let vector = Vector { runs: &|buf, lo, hi| Ref::part(buf, lo, hi, fold.power) };
    halving::emit(b, g, fold, index, &vector, have, Buf::Recv);
    halving::emit_allgather(b, g, fold, index, &vector, Buf::Recv);
    if let Some(extra) = extra {
        b.send_now(g.peer(extra), result);
    }
}
