//! `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0 section 6.7): `send` (or the own block of `recv` in place) in, all blocks of
//! `recv` out.

use super::fold::{Fold, Role};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};

/// Where block `i` is.
type Blocks = fn(u32) -> Ref;

const REGULAR: Blocks = |i| Ref::blocks(Buf::Recv, i, i + 1);
const IRREGULAR: Blocks = |i| Ref::block(Buf::RecvBlock, i);

/// Ring: n-1 steps, each passes on the block that came in last. Neighbours only; all links busy.
///
/// ```text
///  step 1   0 ─b0→ 1 ─b1→ 2 ─b2→ 0
///  step 2   0 ─b2→ 1 ─b0→ 2 ─b1→ 0
/// ```
pub fn ring(p: &Params) -> Schedule {
    let mut b = Builder::new();
    own_block(&mut b, p, REGULAR);
    emit_ring(&mut b, Group::own(p), REGULAR);
    b.finish()
}

/// [`ring`] for blocks of different sizes.
pub fn ring_v(p: &Params) -> Schedule {
    let mut b = Builder::new();
    own_block(&mut b, p, IRREGULAR);
    emit_ring(&mut b, Group::own(p), IRREGULAR);
    b.finish()
}

fn own_block(b: &mut Builder, p: &Params, block: Blocks) {
    if !p.in_place {
        b.copy(block(p.rank), Ref::all(Buf::Send));
    }
}

/// The ring over blocks that are in place on their owners.
pub(crate) fn emit_ring(b: &mut Builder, g: Group, block: impl Fn(u32) -> Ref) {
    let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
    for step in 1..g.size {
        b.exchange(right, block(g.before(step - 1)), left, block(g.before(step)));
    }
}

/// Recursive doubling: runs of blocks double in each of log2(n) rounds; other sizes are folded, so that each partner's
/// blocks still form one run.
///
/// ```text
///  round 1   0 ↔ 1   2 ↔ 3      one block
///  round 2   0 ↔ 2   1 ↔ 3      two blocks
/// ```
pub fn recursive_doubling(p: &Params) -> Schedule {
    let g = Group::own(p);
    let fold = Fold::new(g.size);
    let run = |lo: u32, hi: u32| Ref::blocks(Buf::Recv, fold.first(lo), fold.first(hi));
    let mut b = Builder::new();
    own_block(&mut b, p, REGULAR);
    match fold.role(g.me) {
        Role::Extra { partner } => {
            b.send_now(g.peer(partner), REGULAR(g.me));
            b.recv_now(g.peer(partner), Ref::blocks(Buf::Recv, 0, g.size));
        }
        Role::Core { index, extra } => {
            if let Some(extra) = extra {
                b.recv_now(g.peer(extra), REGULAR(extra));
            }
            for mask in fold.masks() {
                let (own, theirs) = (index & !(mask - 1), (index ^ mask) & !(mask - 1));
                let peer = g.peer(fold.rank(index ^ mask));
                b.exchange(peer, run(own, own + mask), peer, run(theirs, theirs + mask));
            }
            if let Some(extra) = extra {
                b.send_now(g.peer(extra), Ref::blocks(Buf::Recv, 0, g.size));
            }
        }
    }
    b.finish()
}

/// Bruck (Bruck et al., 1997): ⌈log2 n⌉ rounds for every n; blocks are collected in an order rotated by the rank.
///
/// ```text
///  scratch of rank r:  b(r) | b(r+1) | b(r+2) b(r+3) | …      round k: 2^k blocks to r-2^k, from r+2^k
///  at the end:         rotated into place
/// ```
pub fn bruck(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let packed = b.packed();
    let own = if p.in_place { REGULAR(p.rank) } else { Ref::all(Buf::Send) };
    b.copy(Ref::blocks(packed, 0, 1), own);
    let mut have = 1;
    while have < g.size {
        let more = have.min(g.size - have);
        let (to, from) = (g.peer(g.before(have)), g.peer(g.after(have)));
        b.exchange(to, Ref::blocks(packed, 0, more), from, Ref::blocks(packed, have, have + more));
        have += more;
    }
    let tail = g.size - p.rank;
    b.copy(Ref::blocks(Buf::Recv, p.rank, g.size), Ref::blocks(packed, 0, tail));
    if p.rank > 0 {
        b.copy(Ref::blocks(Buf::Recv, 0, p.rank), Ref::blocks(packed, tail, g.size));
    }
    b.finish()
}

/// Everybody sends its block to everybody, starting with the right neighbour.
pub fn linear(p: &Params) -> Schedule {
    each_to_each(p, REGULAR)
}

/// [`linear`] for blocks of different sizes.
pub fn linear_v(p: &Params) -> Schedule {
    each_to_each(p, IRREGULAR)
}

fn each_to_each(p: &Params, block: Blocks) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    own_block(&mut b, p, block);
    let mut reqs: Vec<_> =
        (1..g.size).map(|d| g.before(d)).map(|from| b.recv(g.peer(from), block(from))).collect();
    reqs.extend((1..g.size).map(|d| b.send(g.peer(g.after(d)), block(g.me))));
    b.wait_all(reqs);
    b.finish()
}
