//! `MPI_Barrier` (MPI-5.0 section 6.3).

use super::fold::{Fold, Role};
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::schedule::{Ref, Schedule};
use crate::tree::{self, Node};

/// Dissemination (Hensgen, Finkel and Manber, 1988): in round `r` each rank sends to the one 2^r places on. With
/// `fanout` k (2 if unset) it sends to k-1 ranks k^r, 2·k^r, … places on: fewer rounds, with more messages under way
/// in each, which pays where a message travels for longer than it takes to send another (Hoefler et al., 2006).
///
/// ```text
///  rank   0 1 2 3 4 5
///  r = 0  0→1→2→3→4→5→0
///  r = 1  0→2→4→0, 1→3→5→1
///  r = 2  0→4→2→0, 1→5→3→1
/// ```
pub fn dissemination(p: &Params) -> Schedule {
    let mut b = Builder::new();
    emit_dissemination(&mut b, Group::own(p), p.fanout_or(2, 2));
    b.finish()
}

pub(crate) fn emit_dissemination(b: &mut Builder, g: Group, k: u32) {
    let mut distance = 1u64;
    while distance < u64::from(g.size) {
        // Farther places have been reached by others.
        let places = (1..k).map(|j| u64::from(j) * distance).take_while(|&place| place < g.size.into());
        let places: Vec<u32> = places.map(|place| place as u32).collect();
        let mut reqs: Vec<_> =
            places.iter().map(|&place| b.recv(g.peer(g.before(place)), Ref::SIGNAL)).collect();
        reqs.extend(places.iter().map(|&place| b.send(g.peer(g.after(place)), Ref::SIGNAL)));
        b.wait_all(reqs);
        distance *= u64::from(k);
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

/// Every rank reports to rank 0, which releases all.
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

/// The upward half: afterwards the root knows that all ranks have arrived.
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
