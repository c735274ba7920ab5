//! `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0 section 6.7): `send` (or the own block of `recv` in place)
//! in, all blocks of `recv` out.

use super::fold::{Fold, Role};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};

/// Where block `i` is.
type Blocks = fn(u32) -> Ref;

const REGULAR: Blocks = |i| Ref::blocks(Buf::Recv, i, i + 1);
const IRREGULAR: Blocks = |i| Ref::block(Buf::RecvBlock, i);

fn own_block(b: &mut Builder, p: &Params, block: Blocks) {
    if !p.in_place {
        b.copy(block(p.rank), Ref::all(Buf::Send));
    }
}

/// Ring: n-1 steps, each passes on the block that came in last. Neighbours only; all links busy.
///
/// ```text
///  step 1   0 ─b0→ 1 ─b1→ 2 ─b2→ 0
///  step 2   0 ─b2→ 1 ─b0→ 2 ─b1→ 0
/// ```
pub fn ring(p: &Params) -> Schedule {
    around(p, REGULAR)
}

/// [`ring`] for blocks of different sizes.
pub fn ring_v(p: &Params) -> Schedule {
    around(p, IRREGULAR)
}

fn around(p: &Params, block: Blocks) -> Schedule {
    let mut b = Builder::new();
    own_block(&mut b, p, block);
    emit_ring(&mut b, Group::own(p), block);
    b.finish()
}

/// The ring over blocks that are in place on their owners.
pub(crate) fn emit_ring(b: &mut Builder, g: Group, block: impl Fn(u32) -> Ref) {
    let (right, left) = (g.peer(g.after(1)), g.peer(g.before(1)));
    for step in 1..g.size {
        b.exchange(right, block(g.before(step - 1)), left, block(g.before(step)));
    }
}

/// Recursive doubling: runs of blocks double in each of log2(n) rounds; other sizes are folded, so that
/// each partner's blocks still form one run.
///
/// ```text
///  round 1   0 ↔ 1   2 ↔ 3      one block
///  round 2   0 ↔ 2   1 ↔ 3      two blocks
/// ```
pub fn recursive_doubling(p: &Params) -> Schedule {
    let mut b = Builder::new();
    own_block(&mut b, p, REGULAR);
    emit_recursive_doubling(&mut b, Group::own(p), |lo, hi| Ref::blocks(Buf::Recv, lo, hi));
    b.finish()
}

/// Recursive doubling over blocks `run(i, i + 1)` that are in place on their owners.
pub(crate) fn emit_recursive_doubling(b: &mut Builder, g: Group, run: impl Fn(u32, u32) -> Ref) {
    let fold = Fold::new(g.size);
    let cores = |lo: u32, hi: u32| run(fold.first(lo), fold.first(hi));
    match fold.role(g.me) {
        Role::Extra { partner } => {
            b.send_now(g.peer(partner), run(g.me, g.me + 1));
            b.recv_now(g.peer(partner), run(0, g.size));
        }
        Role::Core { index, extra } => {
            if let Some(extra) = extra {
                b.recv_now(g.peer(extra), run(extra, extra + 1));
            }
            for mask in fold.masks() {
                let (own, theirs) = (index & !(mask - 1), (index ^ mask) & !(mask - 1));
                let peer = g.peer(fold.rank(index ^ mask));
                b.exchange(peer, cores(own, own + mask), peer, cores(theirs, theirs + mask));
            }
            if let Some(extra) = extra {
                b.send_now(g.peer(extra), run(0, g.size));
            }
        }
    }
}

/// Bruck (Bruck et al., 1997): ⌈log2 n⌉ rounds for every n; blocks are collected in an order rotated by the
/// rank.
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

/// Neighbour exchange (Chen et al., 2005): n/2 steps, alternately with the left and the right neighbour,
/// two blocks each after the first. For odd n it is the ring.
///
/// ```text
///  step 1   0 ↔ 1   2 ↔ 3   4 ↔ 5         own block
///  step 2   5 ↔ 0   1 ↔ 2   3 ↔ 4         the two blocks of step 1
///  step 3   0 ↔ 1   2 ↔ 3   4 ↔ 5         the two blocks of step 2
/// ```
pub fn neighbour_exchange(p: &Params) -> Schedule {
    pairwise_neighbours(p, REGULAR, |i| vec![Ref::blocks(Buf::Recv, i, i + 2)])
}

/// [`neighbour_exchange`] for blocks of different sizes, which travel one by one.
pub fn neighbour_exchange_v(p: &Params) -> Schedule {
    pairwise_neighbours(p, IRREGULAR, |i| vec![IRREGULAR(i), IRREGULAR(i + 1)])
}

/// `two(i)`: the messages that carry blocks `i` and `i + 1`.
fn pairwise_neighbours(p: &Params, block: Blocks, two: impl Fn(u32) -> Vec<Ref>) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    own_block(&mut b, p, block);
    if g.size % 2 == 1 {
        emit_ring(&mut b, g, block);
        return b.finish();
    }
    let even = g.me.is_multiple_of(2);
    let (right, left) = (g.after(1), g.before(1));
    let partners = if even { [right, left] } else { [left, right] };
    let first = g.peer(partners[0]);
    b.exchange(first, block(g.me), first, block(partners[0]));
    // What came last, and where the next pair from each partner begins: two blocks further out each time.
    let mut last = g.me & !1;
    let mut from = [last; 2];
    for step in 1..g.size / 2 {
        let side = step as usize % 2;
        let outwards = if (side == 0) == even { 2 } else { g.size - 2 };
        from[side] = (from[side] + outwards) % g.size;
        let peer = g.peer(partners[side]);
        let mut reqs: Vec<_> = two(from[side]).into_iter().map(|r| b.recv(peer, r)).collect();
        reqs.extend(two(last).into_iter().map(|r| b.send(peer, r)));
        b.wait_all(reqs);
        last = from[side];
    }
    b.finish()
}

/// Every rank sends its block to every rank, the right neighbour first: from where the caller has it, since what
/// was just copied is still in this core's cache and slower to read for others.
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
    let own = if p.in_place { block(g.me) } else { Ref::all(Buf::Send) };
    let mut reqs: Vec<_> =
        (1..g.size).map(|d| g.before(d)).map(|from| b.recv(g.peer(from), block(from))).collect();
    reqs.extend((1..g.size).map(|d| b.send(g.peer(g.after(d)), own)));
    own_block(&mut b, p, block);
    b.wait_all(reqs);
    b.finish()
}
