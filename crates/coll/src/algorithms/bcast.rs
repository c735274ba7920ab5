//! `MPI_Bcast` (MPI-5.0 section 6.4): the buffer is the receive side on every rank, the root's too.
//!
//! Counts and types may differ between ranks as long as the packed bytes agree, so pieces are cut from the packed stream:
//! directly from a contiguous buffer, through a packed copy otherwise.

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

/// The root sends to everybody.
pub fn linear(p: &Params) -> Schedule {
    through(p, tree::linear(p.rank, p.size, p.root_rank()))
}

fn through(p: &Params, node: Node) -> Schedule {
    let mut b = Builder::new();
    let stream = Stream::open(&mut b, p, p.segments > 1, node.parent.is_none());
    emit_tree(&mut b, Group::own(p), &node, stream.buf, p.segments);
    stream.close(&mut b, node.parent.is_none());
    b.finish()
}

/// Sends the parts of `buf` down a tree: receive from the parent two segments ahead, forward each to all children.
pub(crate) fn emit_tree(b: &mut Builder, g: Group, node: &Node, buf: Buf, segments: u32) {
    let segment = |s: u32| Ref::part(buf, s, s + 1, segments);
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

/// The buffer of a broadcast as a stream that can be cut.
pub(crate) struct Stream {
    pub(crate) buf: Buf,
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

    /// Unpacks what arrived.
    pub(crate) fn close(self, b: &mut Builder, root: bool) {
        if self.packed && !root {
            b.copy(Ref::all(Buf::Recv), Ref::all(self.buf));
        }
    }
}
