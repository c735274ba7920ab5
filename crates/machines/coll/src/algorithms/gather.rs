//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 section 6.5): `send` on every rank, `recv` (blocks in rank
//! order) on the root; the root's own block may be in place already.

use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Binomial tree; inner ranks collect the packed blocks of their subtree.
///
/// ```text
///  round 1   1 → 0    3 → 2   5 → 4    7 → 6        one block each
///  round 2   2 ─────→ 0       6 ─────→ 4            two blocks
///  round 3   4 ─────────────→ 0                     four blocks
/// ```
pub fn binomial(p: &Params) -> Schedule {
    let root = p.root_rank();
    let g = Group::own(p).rotated(root);
    let mut b = Builder::new();
    if g.me == 0 {
        own_block(&mut b, p, Ref::blocks(Buf::Recv, root, root + 1));
        emit_root(&mut b, g, root);
    } else {
        let run = emit_collect(&mut b, g, Ref::all(Buf::Send));
        if let Some(parent) = tree::knomial(g.me, g.size, 0, 2).parent {
            b.send_now(g.peer(parent), run);
        }
    }
    b.finish()
}

/// The root's own contribution goes to its place.
fn own_block(b: &mut Builder, p: &Params, place: Ref) {
    if !p.in_place {
        b.copy(place, Ref::all(Buf::Send));
    }
}

/// Receives whole subtrees; a run that passes the last rank comes through scratch and is split.
fn emit_root(b: &mut Builder, g: Group, root: u32) {
    let mut split = None;
    let mut reqs = vec![];
    for &child in tree::knomial(0, g.size, 0, 2).children.iter().rev() {
        let (rank, len) = (g.rank(child), tree::subtree(child, g.size));
        let place = if rank + len <= g.size {
            Ref::blocks(Buf::Recv, rank, rank + len)
        } else {
            let packed = b.packed();
            split = Some((packed, rank, len));
            Ref::blocks(packed, 0, len)
        };
        reqs.push(b.recv(g.peer(child), place));
    }
    b.wait_all(reqs);
    debug_assert!(root > 0 || split.is_none(), "runs pass the last rank only when renumbered");
    if let Some((packed, rank, len)) = split {
        let before = g.size - rank;
        b.copy(Ref::blocks(Buf::Recv, rank, g.size), Ref::blocks(packed, 0, before));
        b.copy(Ref::blocks(Buf::Recv, 0, len - before), Ref::blocks(packed, before, len));
    }
}

/// Collects the packed blocks of the own subtree of the binomial tree rooted at index 0, and returns where
/// they are.
pub(crate) fn emit_collect(b: &mut Builder, g: Group, own: Ref) -> Ref {
    let node = tree::knomial(g.me, g.size, 0, 2);
    if node.children.is_empty() {
        return own;
    }
    let packed = b.packed();
    let mut reqs = vec![];
    for &child in node.children.iter().rev() {
        let at = child - g.me;
        reqs.push(b.recv(g.peer(child), Ref::blocks(packed, at, at + tree::subtree(child, g.size))));
    }
    b.copy(Ref::blocks(packed, 0, 1), own);
    b.wait_all(reqs);
    Ref::blocks(packed, 0, tree::subtree(g.me, g.size))
}

/// Every rank sends to the root, which has all receives posted.
pub fn linear(p: &Params) -> Schedule {
    each_to_root(p, |r| Ref::blocks(Buf::Recv, r, r + 1))
}

/// As [`linear`], for blocks of different sizes.
pub fn linear_v(p: &Params) -> Schedule {
    each_to_root(p, |r| Ref::block(Buf::RecvBlock, r))
}

fn each_to_root(p: &Params, place: impl Fn(u32) -> Ref) -> Schedule {
    let (g, root) = (Group::own(p), p.root_rank());
    let mut b = Builder::new();
    if p.rank == root {
        let others = (0..g.size).filter(|&r| r != root);
        let reqs: Vec<_> = others.map(|r| b.recv(g.peer(r), place(r))).collect();
        own_block(&mut b, p, place(root));
        b.wait_all(reqs);
    } else {
        b.send_now(g.peer(root), Ref::all(Buf::Send));
    }
    b.finish()
}
