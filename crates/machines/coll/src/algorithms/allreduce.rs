//! `MPI_Allreduce` (MPI-5.0 section 6.9.6): `send` (or `recv` in place) in, `recv` out, on every rank.

use super::fold::{Fold, Role};
use super::halving::{self, Vector};
use super::{bcast, reduce};
use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Peer, Ref, Schedule};
use crate::tree;
use std::collections::VecDeque;

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

/// Every rank sends to rank 0, which combines in rank order and sends the result to all.
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
///
/// A vector of fewer than n elements is cut into `blocks` < n blocks: the same steps without those of the
/// blocks that are missing. So one element travels around the ring twice, and each rank has a handful of
/// steps however many ranks there are.
pub fn ring(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let g = Group::own(p);
    let ring = Ring { g, mine: mine(p), blocks: p.blocks.clamp(1, g.size), segments: p.segments };
    if g.size == 1 {
        b.copy(Ref::all(Buf::Recv), Ref::all(ring.mine));
    } else {
        ring.emit_sums(&mut b);
        ring.emit_results(&mut b);
    }
    b.finish()
}

/// A ring of at least two, seen from one rank.
struct Ring<'a> {
    g: Group<'a>,
    mine: Buf,
    blocks: u32,
    segments: u32,
}

impl Ring<'_> {
    /// The pieces of a block.
    fn pieces(&self, buf: Buf, block: u32) -> impl Iterator<Item = Ref> {
        let (first, den) = (block * self.segments, self.blocks * self.segments);
        (first..first + self.segments).map(move |at| Ref::part(buf, at, at + 1, den))
    }

    /// Blocks in the order in which they come past: from `first` downwards, around to the one after it.
    fn coming_past(&self, first: u32) -> impl Iterator<Item = u32> {
        (0..self.blocks.min(first + 1)).rev().chain((first + 1..self.blocks).rev())
    }

    /// Phase 1: block r+1 is complete at rank r, if there is one. Two pieces are awaited ahead.
    fn emit_sums(&self, b: &mut Builder) {
        let g = &self.g;
        let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
        let arrivals = [b.typed(), b.typed()];
        let own = if g.me < self.blocks { Some(g.me) } else { None };
        let arriving = self.coming_past(g.before(1)).filter(|&block| block != g.me);
        let coming_in: Vec<(u32, Ref)> = arriving
            .flat_map(|block| self.pieces(Buf::Recv, block).map(move |piece| (block, piece)))
            .collect();
        let landing = |i: usize| coming_in[i].1.at_start_of(arrivals[i % 2]);
        // What may go on to the right.
        let mut ready: VecDeque<Ref> =
            own.into_iter().flat_map(|block| self.pieces(self.mine, block)).collect();
        let (mut posted, mut coming, mut going) = (0, Window::new(2), Window::new(2));
        for (i, &(block, sum)) in coming_in.iter().enumerate() {
            while posted < coming_in.len().min(i + 2) {
                let req = b.recv(left, landing(posted));
                coming.push(b, req);
                posted += 1;
            }
            if let Some(piece) = ready.pop_front() {
                let req = b.send(right, piece);
                going.push(b, req);
            }
            coming.wait_oldest(b);
            b.reduce(sum, landing(i), sum.within(self.mine));
            if block != g.after(1) {
                ready.push_back(sum);
            }
        }
        for piece in ready {
            let req = b.send(right, piece);
            going.push(b, req);
        }
        going.finish(b);
    }

    /// Phase 2: each block goes on from where it is complete, to the rank before that.
    fn emit_results(&self, b: &mut Builder) {
        let g = &self.g;
        let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
        let (complete, last) = (g.after(1), g.after(2));
        let mut held = if complete < self.blocks { Some(complete) } else { None };
        for block in self.coming_past(g.me).filter(|&block| block != complete) {
            let recvs: Vec<_> = self.pieces(Buf::Recv, block).map(|piece| b.recv(left, piece)).collect();
            self.pass_on(b, right, held);
            b.wait_all(recvs);
            held = if block == last { None } else { Some(block) };
        }
        self.pass_on(b, right, held);
    }

    fn pass_on(&self, b: &mut Builder, right: Peer, block: Option<u32>) {
        let pieces = block.into_iter().flat_map(|block| self.pieces(Buf::Recv, block));
        let sends: Vec<_> = pieces.map(|piece| b.send(right, piece)).collect();
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
