//! `MPI_Bcast` (MPI-5.0 section 6.4): the buffer is the receive side on every rank, the root's too.
//!
//! Counts and types may differ between ranks as long as the packed bytes agree, so pieces are cut from the
//! packed stream: directly from a contiguous buffer, through a packed copy otherwise.

use super::allgather;
use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::tree::{self, Node};

/// Binomial tree: log2(n) rounds, each doubling the ranks that have the data.
///
/// ```text
///  round 1   0 ─────────────→ 4
///  round 2   0 ─────→ 2       4 ─────→ 6
///  round 3   0 → 1    2 → 3   4 → 5    6 → 7
/// ```
pub fn binomial(p: &Params) -> Schedule {
    through(p, tree::knomial(p.rank, p.size, p.root_rank(), 2))
}

/// k-nomial tree with radix `fanout` (4 if unset): fewer rounds than binomial, more sends in each.
///
/// ```text
///  k = 4   0 → 4 8 12, then  0 → 1 2 3   4 → 5 6 7   8 → 9 10 11   12 → 13 14 15
/// ```
pub fn knomial(p: &Params) -> Schedule {
    through(p, tree::knomial(p.rank, p.size, p.root_rank(), p.fanout_or(4, 2)))
}

/// k-ary tree with `fanout` children (2, the binary tree, if unset), pipelined over the segments.
///
/// ```text
///          0            segment s goes down one level while s+1 comes in
///        ↙   ↘
///       1     2
///      ↙ ↘   ↙ ↘
///     3   4 5   6
/// ```
pub fn binary(p: &Params) -> Schedule {
    through(p, tree::kary(p.rank, p.size, p.root_rank(), p.fanout_or(2, 2)))
}

/// `fanout` chains (1, the pipeline, if unset), pipelined over the segments.
///
/// ```text
///  0 → 1 → 2 → 3      time →   0: s0 s1 s2
///                              1:    s0 s1 s2
///                              2:       s0 s1 s2
/// ```
pub fn chain(p: &Params) -> Schedule {
    through(p, tree::chain(p.rank, p.size, p.root_rank(), p.fanout_or(1, 1)))
}

/// The root sends to every rank.
pub fn linear(p: &Params) -> Schedule {
    through(p, tree::linear(p.rank, p.size, p.root_rank()))
}

fn through(p: &Params, node: Node) -> Schedule {
    let mut b = Builder::new();
    let stream = Stream::open(&mut b, p, p.segments > 1, node.parent.is_none());
    emit_tree(&mut b, Group::own(p), &node, |s| stream.part(s, p.segments), p.segments);
    stream.close(&mut b, node.parent.is_none());
    b.finish()
}

/// Sends segments down a tree: receive from the parent two segments ahead, forward each to all children.
pub(crate) fn emit_tree(b: &mut Builder, g: Group, node: &Node, segment: impl Fn(u32) -> Ref, segments: u32) {
    let mut coming = Window::new(2);
    let mut going = Window::new(2 * node.children.len());
    let mut posted = 0;
    for s in 0..segments {
        if let Some(parent) = node.parent {
            while posted < segments.min(s + 2) {
                let req = b.recv(g.peer(parent), segment(posted));
                coming.push(b, req);
                posted += 1;
            }
            coming.wait_oldest(b);
        }
        for &child in &node.children {
            let req = b.send(g.peer(child), segment(s));
            going.push(b, req);
        }
    }
    going.finish(b);
}

/// Two binary trees, one for each half of the data; afterwards every rank swaps halves with its counterpart.
///
/// ```text
///            0                    n = 7; left ranks get half a, right ranks half b
///        a ↙   ↘ b
///         1     4
///      a ↙ ↘   ↙ ↘ b
///       2   3 5   6               then 1 ↔ 4, 2 ↔ 5, 3 ↔ 6; without a counterpart: from 0
/// ```
pub fn split_binary(p: &Params) -> Schedule {
    let g = Group::own(p).rotated(p.root_rank());
    let mut b = Builder::new();
    let stream = Stream::open(&mut b, p, true, g.me == 0);
    let (left, right) = (g.size / 2, (g.size - 1) / 2);
    let half = |i: u32| stream.run(i, i + 1, 2);
    let segment = |i: u32, s: u32| stream.part(i * p.segments + s, 2 * p.segments);
    // The place in the tree of `count` ranks that follow index `first`, hung below the root.
    let below_root = |first: u32, count: u32| {
        let node = tree::kary(g.me - first, count, 0, 2);
        let children = node.children.into_iter().map(|c| c + first).collect();
        Node { parent: Some(node.parent.map_or(0, |parent| parent + first)), children }
    };
    if g.me == 0 {
        let mut going = Window::new(4);
        for s in 0..p.segments {
            for (i, head) in [(0, 1), (1, left + 1)] {
                if head < g.size {
                    let req = b.send(g.peer(head), segment(i, s));
                    going.push(&mut b, req);
                }
            }
        }
        going.finish(&mut b);
        if left > right {
            b.send_now(g.peer(left), half(1));
        }
    } else if g.me <= left {
        emit_tree(&mut b, g, &below_root(1, left), |s| segment(0, s), p.segments);
        if g.me <= right {
            let counterpart = g.peer(g.me + left);
            b.exchange(counterpart, half(0), counterpart, half(1));
        } else {
            b.recv_now(g.peer(0), half(1));
        }
    } else {
        emit_tree(&mut b, g, &below_root(left + 1, right), |s| segment(1, s), p.segments);
        let counterpart = g.peer(g.me - left);
        b.exchange(counterpart, half(1), counterpart, half(0));
    }
    stream.close(&mut b, g.me == 0);
    b.finish()
}

/// The data is scattered down a binomial tree, then allgathered by recursive doubling.
///
/// ```text
///  scatter     0: abcd   →   0: ab  2: cd   →   0: a  1: b  2: c  3: d
///  allgather   0 ↔ 1, 2 ↔ 3 (one part), then 0 ↔ 2, 1 ↔ 3 (two parts)
/// ```
pub fn scatter_recursive_doubling(p: &Params) -> Schedule {
    scatter_allgather(p, |b, g, stream| {
        allgather::emit_recursive_doubling(b, g, |lo, hi| stream.run(lo, hi, g.size));
    })
}

/// The data is scattered down a binomial tree, then allgathered around a ring: every byte crosses each link
/// twice at most.
///
/// ```text
///  scatter     as above
///  allgather   n-1 steps, each rank passes the part that came last to its right neighbour
/// ```
pub fn scatter_ring(p: &Params) -> Schedule {
    scatter_allgather(p, |b, g, stream| {
        allgather::emit_ring(b, g, |i| stream.run(i, i + 1, g.size));
    })
}

fn scatter_allgather(p: &Params, allgather: impl FnOnce(&mut Builder, Group, &Stream)) -> Schedule {
    let g = Group::own(p).rotated(p.root_rank());
    let mut b = Builder::new();
    let stream = Stream::open(&mut b, p, true, g.me == 0);
    let node = tree::knomial(g.me, g.size, 0, 2);
    let parts = |i: u32| stream.run(i, i + tree::subtree(i, g.size), g.size);
    if let Some(parent) = node.parent {
        b.recv_now(g.peer(parent), parts(g.me));
    }
    let sends: Vec<_> = node.children.iter().map(|&c| b.send(g.peer(c), parts(c))).collect();
    b.wait_all(sends);
    allgather(&mut b, g, &stream);
    stream.close(&mut b, g.me == 0);
    b.finish()
}

/// The buffer of a broadcast as a stream that can be cut.
pub(crate) struct Stream {
    buf: Buf,
    packed: bool,
}

impl Stream {
    /// Gets the stream ready; `cut`: it will be sent in pieces. The root's data is packed if need be.
    pub(crate) fn open(b: &mut Builder, p: &Params, cut: bool, root: bool) -> Stream {
        let (buf, packed) = match (cut, p.contiguous) {
            (false, _) => (Buf::Recv, false),
            (true, true) => (Buf::RecvBytes, false),
            (true, false) => (b.packed(), true),
        };
        if packed && root {
            b.copy(Ref::all(buf), Ref::all(Buf::Recv));
        }
        Stream { buf, packed }
    }

    /// Part `i` of `of`.
    pub(crate) fn part(&self, i: u32, of: u32) -> Ref {
        self.run(i, i + 1, of)
    }

    /// Parts `lo..hi` of `of`.
    pub(crate) fn run(&self, lo: u32, hi: u32, of: u32) -> Ref {
        Ref::part(self.buf, lo, hi, of)
    }

    /// Unpacks what arrived.
    pub(crate) fn close(self, b: &mut Builder, root: bool) {
        if self.packed && !root {
            b.copy(Ref::all(Buf::Recv), Ref::all(self.buf));
        }
    }
}
