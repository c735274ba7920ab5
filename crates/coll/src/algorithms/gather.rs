//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 section 6.5): `send` on every rank, `recv` (blocks in rank order) on the root; the
//! root's own block is in place already if it says so.

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
    let (g, root) = (Group::own(p), p.root_rank());
    let mut b = Builder::new();
    if p.rank == root {
        own_block(&mut b, p, Ref::blocks(Buf::Recv, root, root + 1));
        emit_root(&mut b, g, root);
    } else {
        emit_inner(&mut b, g, root, Ref::all(Buf::Send));
    }
    b.finish()
}

/// The root's own contribution goes to its place.
fn own_block(b: &mut Builder, p: &Params, place: Ref) {
    if !p.in_place {
        b.copy(place, Ref::all(Buf::Send));
    }
}

/// The number of indices in the subtree of `child`, relative to the root, in a binomial tree of `size`.
fn subtree(v: u32, size: u32) -> u32 {
    (1u32 << v.trailing_zeros()).min(size - v)
}

/// Receives whole subtrees; a run that passes the last rank comes through scratch and is split.
fn emit_root(b: &mut Builder, g: Group, root: u32) {
    let node = tree::knomial(root, g.size, root, 2);
    let mut split = None;
    let mut reqs = vec![];
    for &child in node.children.iter().rev() {
        let len = subtree((child + g.size - root) % g.size, g.size);
        let place = if child + len <= g.size {
            Ref::blocks(Buf::Recv, child, child + len)
        } else {
            let packed = b.packed();
            split = Some((packed, child, len));
            Ref::blocks(packed, 0, len)
        };
        reqs.push(b.recv(g.peer(child), place));
    }
    b.wait_all(reqs);
    if let Some((packed, child, len)) = split {
        let before = g.size - child;
        b.copy(Ref::blocks(Buf::Recv, child, g.size), Ref::blocks(packed, 0, before));
        b.copy(Ref::blocks(Buf::Recv, 0, len - before), Ref::blocks(packed, before, len));
    }
}

/// Collects the subtree's blocks and passes them on.
pub(crate) fn emit_inner(b: &mut Builder, g: Group, root: u32, own: Ref) {
    let node = tree::knomial(g.me, g.size, root, 2);
    let Some(parent) = node.parent else { return };
    if node.children.is_empty() {
        return b.send_now(g.peer(parent), own);
    }
    let v = (g.me + g.size - root) % g.size;
    let packed = b.packed();
    let mut reqs = vec![];
    for &child in node.children.iter().rev() {
        let c = (child + g.size - root) % g.size;
        reqs.push(b.recv(g.peer(child), Ref::blocks(packed, c - v, c - v + subtree(c, g.size))));
    }
    b.copy(Ref::blocks(packed, 0, 1), own);
    b.wait_all(reqs);
    b.send_now(g.peer(parent), Ref::blocks(packed, 0, subtree(v, g.size)));
}

/// Everybody sends to the root, which has all receives posted.
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
