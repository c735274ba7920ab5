//! `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI-5.0 section 6.10): the whole vector in `send`
//! (in place: in `recv`), the own block of the result at the start of `recv`. Irregular blocks are bounded
//! by the call's receive counts.

use super::fold::{Fold, Role};
use super::halving::{self, Vector};
use super::reduce;
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, IRREGULAR, Ref, Schedule};
use crate::tree;

/// How the vector is cut: into equal blocks, or by counts.
#[derive(Clone, Copy)]
pub(crate) struct Cut(u32);

/// Blocks of one size.
pub(crate) const EQUAL: Cut = Cut(1);
/// Blocks of given sizes.
pub(crate) const BY_COUNTS: Cut = Cut(IRREGULAR);

impl Cut {
    /// Blocks `lo..hi`.
    pub(crate) fn run(self, buf: Buf, lo: u32, hi: u32) -> Ref {
        Ref::part(buf, lo, hi, self.0)
    }

    /// As `Ref::den` counts them.
    pub(crate) fn parts(self) -> u32 {
        self.0
    }
}

/// Where the whole contribution is, and the steps that bring the own block home.
struct Io {
    source: Buf,
    in_place: bool,
    own: Ref,
}

impl Io {
    fn new(p: &Params, cut: Cut) -> Io {
        let source = if p.in_place { Buf::Recv } else { Buf::Send };
        Io { source, in_place: p.in_place, own: cut.run(source, p.rank, p.rank + 1) }
    }

    /// The place of the result.
    fn result(&self) -> Ref {
        self.own.at_start_of(Buf::Recv)
    }

    /// Where the last reduction may write while the contribution is still read: not into a buffer in place.
    fn safe(&self, scratch: Ref) -> Ref {
        if self.in_place { scratch } else { self.result() }
    }
}

/// Ring (operations that commute): block `b` starts at rank `b + 1` and is complete when it has come around
/// to rank `b`.
///
/// ```text
///  step s   r sends the partial block r-1-s, receives the partial block r-2-s and adds its own part
/// ```
pub fn ring(p: &Params) -> Schedule {
    emit_ring(p, BY_COUNTS)
}

/// [`ring`] for `MPI_Reduce_scatter_block`.
pub fn ring_block(p: &Params) -> Schedule {
    emit_ring(p, EQUAL)
}

fn emit_ring(p: &Params, cut: Cut) -> Schedule {
    let (g, io) = (Group::own(p), Io::new(p, cut));
    let mut b = Builder::new();
    let partial = [b.typed(), b.typed()];
    let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
    let block = |i: u32| cut.run(io.source, i, i + 1);
    let mut have = block(g.before(1));
    for step in 1..g.size {
        let own = block(g.before(step + 1));
        let arrival = own.at_start_of(partial[step as usize % 2]);
        b.exchange(right, have, left, arrival);
        let into = if step == g.size - 1 { io.safe(arrival) } else { arrival };
        b.reduce(into, arrival, own);
        have = into;
    }
    b.copy(io.result(), if g.size == 1 { io.own } else { have });
    b.finish()
}

/// Recursive halving (operations that commute): log2(n) rounds, each sends half of what is left.
///
/// ```text
///  mask 2    0 ↔ 2: 0 keeps blocks 0 1, 2 keeps 2 3     1 ↔ 3 alike
///  mask 1    0 ↔ 1: 0 keeps block 0, 1 keeps 1          2 ↔ 3 alike     (other sizes are folded)
/// ```
pub fn recursive_halving(p: &Params) -> Schedule {
    emit_halving(p, BY_COUNTS)
}

/// [`recursive_halving`] for `MPI_Reduce_scatter_block`.
pub fn recursive_halving_block(p: &Params) -> Schedule {
    emit_halving(p, EQUAL)
}

fn emit_halving(p: &Params, cut: Cut) -> Schedule {
    let (g, io) = (Group::own(p), Io::new(p, cut));
    let mut b = Builder::new();
    let Some(mut folded) = Folded::enter(&mut b, g, &io, cut) else { return b.finish() };
    let fold = folded.fold;
    let vector = Vector { runs: &|buf, lo, hi| cut.run(buf, fold.first(lo), fold.first(hi)) };
    halving::emit(&mut b, g, fold, folded.index, &vector, folded.have, folded.work);
    folded.have = folded.work;
    folded.leave(&mut b, g, &io);
    b.finish()
}

/// Butterfly with mirrored blocks (Träff, 2005): neighbours combine first, so the order is kept; what each
/// core ends up with belongs to the core with the mirrored index, and is sent there.
///
/// ```text
///  mask 1    0 ↔ 1: 0 keeps blocks 0 1, 1 keeps 2 3     2 ↔ 3 alike
///  mask 2    0 ↔ 2: 0 keeps 0, 2 keeps 1                1 ↔ 3: 1 keeps 2, 3 keeps 3
///  mirror    01 ↔ 10: ranks 1 and 2 swap
/// ```
pub fn butterfly(p: &Params) -> Schedule {
    emit_butterfly(p, BY_COUNTS)
}

/// [`butterfly`] for `MPI_Reduce_scatter_block`.
pub fn butterfly_block(p: &Params) -> Schedule {
    emit_butterfly(p, EQUAL)
}

pub(crate) fn emit_butterfly(p: &Params, cut: Cut) -> Schedule {
    let (g, io) = (Group::own(p), Io::new(p, cut));
    let mut b = Builder::new();
    let Some(mut folded) = Folded::enter(&mut b, g, &io, cut) else { return b.finish() };
    let (fold, index, work) = (folded.fold, folded.index, folded.work);
    let runs = |buf: Buf, lo: u32, hi: u32| cut.run(buf, fold.first(lo), fold.first(hi));
    let arrival = b.typed();
    let (mut lo, mut hi) = (0, fold.power);
    for mask in fold.masks() {
        let middle = lo + (hi - lo) / 2;
        let (keep, give) =
            if index & mask == 0 { ((lo, middle), (middle, hi)) } else { ((middle, hi), (lo, middle)) };
        let partner = fold.rank(index ^ mask);
        let kept = runs(work, keep.0, keep.1);
        let new = kept.at_start_of(arrival);
        b.exchange(g.peer(partner), runs(folded.have, give.0, give.1), g.peer(partner), new);
        if folded.have == work {
            b.merge(kept, new, partner < g.me, p.commutative);
        } else {
            let own = kept.within(folded.have);
            if partner < g.me { b.reduce(kept, new, own) } else { b.reduce(kept, own, new) }
        }
        (lo, hi) = keep;
        folded.have = work;
    }
    // Core `lo` owns what this one has computed; core `lo` in turn computed what is owned here.
    if lo != index {
        let peer = g.peer(fold.rank(lo));
        let (out, home) = (runs(folded.have, lo, hi), runs(work, index, index + 1));
        b.exchange(peer, out, peer, home);
    }
    folded.leave(&mut b, g, &io);
    b.finish()
}

/// Every rank sends every block to its owner, which combines them in rank order.
///
/// ```text
///  r → 0, 1, … n-1 (block i to rank i); rank i: b(0) op b(1) op … op b(n-1)
/// ```
pub fn linear(p: &Params) -> Schedule {
    emit_linear(p, BY_COUNTS)
}

/// [`linear`] for `MPI_Reduce_scatter_block`.
pub fn linear_block(p: &Params) -> Schedule {
    emit_linear(p, EQUAL)
}

fn emit_linear(p: &Params, cut: Cut) -> Schedule {
    let (g, io) = (Group::own(p), Io::new(p, cut));
    let mut b = Builder::new();
    let (acc, arrival) = (io.own.at_start_of(b.typed()), io.own.at_start_of(b.typed()));
    let sends: Vec<_> = (1..g.size)
        .map(|d| g.after(d))
        .map(|to| b.send(g.peer(to), cut.run(io.source, to, to + 1)))
        .collect();
    for rank in (0..g.size).rev() {
        let first = rank == g.size - 1;
        if rank == g.me {
            if first { b.copy(acc, io.own) } else { b.reduce(acc, io.own, acc) }
        } else {
            let place = if first { acc } else { arrival };
            b.recv_now(g.peer(rank), place);
            if !first {
                b.reduce(acc, arrival, acc);
            }
        }
    }
    b.wait_all(sends);
    b.copy(io.result(), acc);
    b.finish()
}

/// The association of [`super::reduce::canonical`]: the whole vector is reduced at rank 0, which scatters
/// the blocks.
///
/// ```text
///  in-order tree → 0, then 0 → 1, … 0 → n-1
/// ```
pub fn canonical(p: &Params) -> Schedule {
    emit_canonical(p, BY_COUNTS)
}

/// [`canonical`] for `MPI_Reduce_scatter_block`.
pub fn canonical_block(p: &Params) -> Schedule {
    emit_canonical(p, EQUAL)
}

fn emit_canonical(p: &Params, cut: Cut) -> Schedule {
    let (g, io) = (Group::own(p), Io::new(p, cut));
    let mut b = Builder::new();
    let sum = (g.me == 0).then(|| b.typed());
    let whole = reduce::Io { mine: cut.run(io.source, 0, g.size), result: sum };
    reduce::emit_in_order(&mut b, g, &tree::in_order(g.me, g.size, 0), &whole, 1);
    match sum {
        None => b.recv_now(g.peer(0), io.result()),
        Some(sum) => {
            let block = |i: u32| cut.run(sum, i, i + 1);
            let sends: Vec<_> = (1..g.size).map(|i| b.send(g.peer(i), block(i))).collect();
            b.copy(io.result(), block(0));
            b.wait_all(sends);
        }
    }
    b.finish()
}

/// A core of the fold with its vector in hand.
struct Folded {
    fold: Fold,
    index: u32,
    extra: Option<u32>,
    /// Where the vector is now.
    have: Buf,
    /// Scratch for partial results, of the whole vector.
    work: Buf,
    cut: Cut,
}

impl Folded {
    /// Extras hand their vector over and receive their block of the result: `None`. Cores take it in.
    fn enter(b: &mut Builder, g: Group, io: &Io, cut: Cut) -> Option<Folded> {
        let fold = Fold::new(g.size);
        let whole = |buf| cut.run(buf, 0, g.size);
        let (index, extra) = match fold.role(g.me) {
            Role::Extra { partner } => {
                b.send_now(g.peer(partner), whole(io.source));
                b.recv_now(g.peer(partner), io.result());
                return None;
            }
            Role::Core { index, extra } => (index, extra),
        };
        let work = b.typed();
        let mut have = io.source;
        if let Some(extra) = extra {
            let arrival = b.typed();
            b.recv_now(g.peer(extra), whole(arrival));
            b.reduce(whole(work), whole(arrival), whole(have));
            have = work;
        }
        Some(Folded { fold, index, extra, have, work, cut })
    }

    /// The blocks of this core are complete: one goes to the extra, one home.
    fn leave(self, b: &mut Builder, g: Group, io: &Io) {
        let block = |rank: u32| self.cut.run(self.have, rank, rank + 1);
        if let Some(extra) = self.extra {
            b.send_now(g.peer(extra), block(extra));
        }
        b.copy(io.result(), block(g.me));
    }
}
