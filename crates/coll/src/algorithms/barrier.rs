//! `MPI_Barrier` (MPI-5.0 section 6.3).

use super::fold::{Fold, Role};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Ref, Schedule};
use crate::tree::{self, Node};

/// Dissemination (Hensgen, Finkel and Manber, 1988): in round `k` each rank tells the one 2^k places on.
///
/// ```text
///  rank   0 1 2 3 4 5
///  k = 0  0→1→2→3→4→5→0
///  k = 1  0→2→4→0, 1→3→5→1
///  k = 2  0→4→2→0, 1→5→3→1
/// ```
pub fn dissemination(p: &Params) -> Schedule {
    let mut b = Builder::new();
    emit_dissemination(&mut b, Group::own(p));
    b.finish()
}

pub(crate) fn emit_dissemination(b: &mut Builder, g: Group) {
    let mut distance = 1;
    while distance < g.size {
        b.exchange(g.peer(g.after(distance)), Ref::SIGNAL, g.peer(g.before(distance)), Ref::SIGNAL);
        distance *= 2;
    }
}

/// Recursive doubling: partners differ in one bit; ranks beyond the largest power of two report to a
/// partner first.
///
/// ```text
///  rank    0 1 2 3 4 5      fold: 0→1, 2→3; then 1, 3, 4, 5 act as 0, 1, 2, 3
///          └→1 └→3          rounds: 1↔3 4↔5, 1↔4 3↔5
///          0←┘ 2←┘          unfold
/// ```
pub fn recursive_doubling(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let g = Group::own(p);
    let fold = Fold::new(g.size);
    match fold.role(g.me) {
        Role::Extra { partner } => {
            b.exchange(g.peer(partner), Ref::SIGNAL, g.peer(partner), Ref::SIGNAL);
        }
        Role::Core { index, extra } => {
            if let Some(extra) = extra {
                b.recv_now(g.peer(extra), Ref::SIGNAL);
            }
            for mask in fold.masks() {
                let peer = g.peer(fold.rank(index ^ mask));
                b.exchange(peer, Ref::SIGNAL, peer, Ref::SIGNAL);
            }
            if let Some(extra) = extra {
                b.send_now(g.peer(extra), Ref::SIGNAL);
            }
        }
    }
    b.finish()
}

/// Reports climb a k-ary tree (`fanout`, 2 if unset), the release descends it.
///
/// ```text
///        0            up: children report, then the parent reports
///      ↗↙ ↖↘          down: the parent releases its children
///     1     2
/// ```
pub fn tree(p: &Params) -> Schedule {
    let node = tree::kary(p.rank, p.size, 0, p.fanout_or(2, 1));
    let mut b = Builder::new();
    emit_tree(&mut b, Group::own(p), &node);
    b.finish()
}

/// Everybody reports to rank 0, which releases everybody.
pub fn linear(p: &Params) -> Schedule {
    let node = tree::linear(p.rank, p.size, 0);
    let mut b = Builder::new();
    emit_tree(&mut b, Group::own(p), &node);
    b.finish()
}

fn emit_tree(b: &mut Builder, g: Group, node: &Node) {
    emit_report(b, g, node);
    emit_release(b, g, node);
}

/// The upward half: afterwards the root knows that everybody has arrived.
pub(crate) fn emit_report(b: &mut Builder, g: Group, node: &Node) {
    let reports: Vec<_> = node.children.iter().map(|&c| b.recv(g.peer(c), Ref::SIGNAL)).collect();
    b.wait_all(reports);
    if let Some(parent) = node.parent {
        b.send_now(g.peer(parent), Ref::SIGNAL);
    }
}

/// The downward half.
pub(crate) fn emit_release(b: &mut Builder, g: Group, node: &Node) {
    if let Some(parent) = node.parent {
        b.recv_now(g.peer(parent), Ref::SIGNAL);
    }
    let releases: Vec<_> = node.children.iter().map(|&c| b.send(g.peer(c), Ref::SIGNAL)).collect();
    b.wait_all(releases);
}
