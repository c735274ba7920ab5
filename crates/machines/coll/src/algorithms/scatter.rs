//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0 section 6.6): `send` (blocks in rank order) on the root,
//! `recv` on every rank; a root in place keeps its own block where it is.

use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree;

/// Binomial tree; inner ranks receive the packed blocks of their subtree and hand on the children's.
///
/// ```text
///  round 1   0 ─────────────→ 4                     four blocks
///  round 2   0 ─────→ 2       4 ─────→ 6            two blocks
///  round 3   0 → 1    2 → 3   4 → 5    6 → 7        one block each
/// ```
pub fn binomial(p: &Params) -> Schedule {
    let root = p.root_rank();
    let g = Group::own(p).rotated(root);
    let mut b = Builder::new();
    if g.me == 0 {
        emit_root(&mut b, g);
        own_block(&mut b, p, Ref::blocks(Buf::Send, root, root + 1));
    } else if let Some(parent) = tree::knomial(g.me, g.size, 0, 2).parent {
        let len = tree::subtree(g.me, g.size);
        if len == 1 {
            b.recv_now(g.peer(parent), Ref::all(Buf::Recv));
        } else {
            let packed = b.packed();
            b.recv_now(g.peer(parent), Ref::blocks(packed, 0, len));
            emit_distribute(&mut b, g, packed);
        }
    }
    b.finish()
}

fn own_block(b: &mut Builder, p: &Params, block: Ref) {
    if !p.in_place {
        b.copy(Ref::all(Buf::Recv), block);
    }
}

/// Sends whole subtrees; a run that passes the last rank is joined in scratch first.
fn emit_root(b: &mut Builder, g: Group) {
    let mut reqs = vec![];
    for &child in &tree::knomial(0, g.size, 0, 2).children {
        let (rank, len) = (g.rank(child), tree::subtree(child, g.size));
        let run = if rank + len <= g.size {
            Ref::blocks(Buf::Send, rank, rank + len)
        } else {
            let (packed, before) = (b.packed(), g.size - rank);
            b.copy(Ref::blocks(packed, 0, before), Ref::blocks(Buf::Send, rank, g.size));
            b.copy(Ref::blocks(packed, before, len), Ref::blocks(Buf::Send, 0, len - before));
            Ref::blocks(packed, 0, len)
        };
        reqs.push(b.send(g.peer(child), run));
    }
    b.wait_all(reqs);
}

/// Hands the packed blocks of the own subtree on and keeps the own one, the first.
pub(crate) fn emit_distribute(b: &mut Builder, g: Group, packed: Buf) {
    let mut reqs = vec![];
    for &child in &tree::knomial(g.me, g.size, 0, 2).children {
        let at = child - g.me;
        reqs.push(b.send(g.peer(child), Ref::blocks(packed, at, at + tree::subtree(child, g.size))));
    }
    b.copy(Ref::all(Buf::Recv), Ref::blocks(packed, 0, 1));
    b.wait_all(reqs);
}

/// The root sends to every rank.
pub fn linear(p: &Params) -> Schedule {
    root_to_each(p, |r| Ref::blocks(Buf::Send, r, r + 1))
}

/// As [`linear`], for blocks of different sizes.
pub fn linear_v(p: &Params) -> Schedule {
    root_to_each(p, |r| Ref::block(Buf::SendBlock, r))
}

fn root_to_each(p: &Params, block: impl Fn(u32) -> Ref) -> Schedule {
    let (g, root) = (Group::own(p), p.root_rank());
    let mut b = Builder::new();
    if p.rank == root {
        let others = (0..g.size).filter(|&r| r != root);
        let reqs: Vec<_> = others.map(|r| b.send(g.peer(r), block(r))).collect();
        own_block(&mut b, p, block(root));
        b.wait_all(reqs);
    } else {
        b.recv_now(g.peer(root), Ref::all(Buf::Recv));
    }
    b.finish()
}
