//! Messages that fit the payload of a slot: one cache-line transfer a level.
//!
//! ```text
//!  all    every rank publishes, every rank reads all slots                   1 transfer deep, n·(n-1) in all
//!  flat   ranks publish; the leader reads all and publishes; all read that   2 deep, 2·(n-1) in all
//!  flag   ranks publish and arrive; the last one reads all, writes the release flag  2 deep, no leader to wait for
//!  tree   as flat, level by level of a k-nomial tree                         2·log_k(n) deep
//!  caches as tree, over the leaders of memory nodes, of caches, and below    few transfers between caches
//! ```

use super::Area;
use crate::builder::Builder;
use crate::params::{Locality, Params};
use crate::schedule::{Buf, Ref, Schedule, Slot, Wake};
use crate::tree::{self, Node};
use std::ops::Range;

pub(super) fn schedule(p: &Params, emit: impl FnOnce(&mut Builder, &mut Area)) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    emit(&mut b, &mut area);
    area.retire(&mut b);
    b.finish()
}

/// Barrier, `all`: for two ranks the fastest.
pub fn barrier_all(p: &Params) -> Schedule {
    schedule(p, |b, area| area.meet(b))
}

/// Barrier, `flat`.
///
/// ```text
///  1 ─┐                 ┌→ 1
///  2 ─┼→ 0 (reads all) ─┼→ 2
///  3 ─┘                 └→ 3
/// ```
pub fn barrier_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| emit_flat_barrier(b, area, |_| {}))
}

fn emit_arrival(b: &mut Builder, area: &Area) {
    if area.me == 0 {
        (1..area.size).for_each(|i| b.await_slot(area.round, Slot::Of(i), Ref::SIGNAL));
    } else {
        b.publish(area.round, area.own(), Ref::SIGNAL, Wake::One(0));
    }
}

fn emit_release(b: &mut Builder, area: &Area) {
    if area.me == 0 {
        b.publish(area.round, Slot::Of(0), Ref::SIGNAL, Wake::All);
    } else {
        b.await_slot(area.round, Slot::Of(0), Ref::SIGNAL);
    }
}

/// The leader's slot means "released", all others' mean "arrived"; the leader does `between` in the middle.
pub(crate) fn emit_flat_barrier(b: &mut Builder, area: &mut Area, between: impl FnOnce(&mut Builder)) {
    emit_arrival(b, area);
    if area.me == 0 {
        between(b);
    }
    emit_release(b, area);
    area.round += 1;
}

/// Barrier, `flag`: the last to arrive releases the others and goes on at once.
///
/// ```text
///  counter  1 2 … n      n → flag → all
/// ```
pub fn barrier_flag(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        area.emit_flag(b);
        area.round += 1;
    })
}

/// The tree of a collective from or to a root, as the calling rank sees it.
type Shape = fn(&Params, u32) -> Node;

/// A k-nomial tree with radix `fanout` (4 if unset).
fn knomial(p: &Params, root: u32) -> Node {
    tree::knomial(p.rank, p.size, root, p.fanout_or(4, 2))
}

/// K-nomial trees with radix `fanout` (4 if unset) over memory nodes, below over the caches of each, below over the
/// ranks of each cache. A reduction whose order counts keeps to it where the ranks of each follow one another, and goes by
/// the plain tree elsewhere.
fn by_caches(p: &Params, root: u32) -> Node {
    let locality = |rank: u32| p.localities.get(rank as usize).copied().unwrap_or_default();
    let (memory, cache) = (|rank| locality(rank).memory, |rank| locality(rank).cache);
    let (k, groups): (u32, [&dyn Fn(u32) -> u32; 2]) = (p.fanout_or(4, 2), [&memory, &cache]);
    let ranks: Vec<u32> = (0..p.size).collect();
    let keeps_order = p.commutative || follow_one_another(p.localities);
    tree::nested(p.rank, &ranks, root, k, if keeps_order { &groups } else { &[] })
}

/// Whether the ranks of each memory node follow one another, and so do those of each cache there.
fn follow_one_another(localities: &[Locality]) -> bool {
    fn once<K: PartialEq>(keys: impl Iterator<Item = K>) -> bool {
        let mut runs: Vec<K> = keys.collect();
        runs.dedup();
        runs.iter().enumerate().all(|(at, key)| !runs[..at].contains(key))
    }
    once(localities.iter().map(|locality| locality.memory)) && once(localities.iter())
}

/// Barrier, `tree` with radix `fanout` (4 if unset).
pub fn barrier_tree(p: &Params) -> Schedule {
    barrier_by(p, knomial)
}

/// Barrier, `caches`.
///
/// ```text
///  ranks ──► leader of their cache ──► of their memory node ──► 0, and back
/// ```
pub fn barrier_caches(p: &Params) -> Schedule {
    barrier_by(p, by_caches)
}

fn barrier_by(p: &Params, shape: Shape) -> Schedule {
    schedule(p, |b, area| {
        let node = shape(p, 0);
        node.children.iter().rev().for_each(|&c| b.await_slot(area.round, Slot::Of(c), Ref::SIGNAL));
        if let Some(parent) = node.parent {
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::One(parent));
        }
        area.round += 1;
        emit_descent(b, area, &node, Ref::SIGNAL);
    })
}

/// What the root holds in `data` goes down a tree, one slot a level.
fn emit_descent(b: &mut Builder, area: &mut Area, node: &Node, data: Ref) {
    if let Some(parent) = node.parent {
        b.await_slot(area.round, Slot::Of(parent), data);
    }
    if !node.children.is_empty() {
        b.publish(area.round, area.own(), data, Wake::All);
    }
    area.round += 1;
}

/// Barrier by dissemination: log2(n) rounds, no rank leads.
///
/// ```text
///  round k   r publishes, reads the slot of r - 2^k
/// ```
pub fn barrier_dissemination(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let mut distance = 1;
        while distance < area.size {
            let to = (area.me + distance) % area.size;
            let from = (area.me + area.size - distance) % area.size;
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::One(to));
            b.await_slot(area.round, Slot::Of(from), Ref::SIGNAL);
            area.round += 1;
            distance *= 2;
        }
    })
}

/// Bcast, `flat`: every rank reads the root's slot.
///
/// ```text
///  root → slot → all
/// ```
pub fn bcast_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| emit_flat_bcast(b, area, p.root_rank(), Ref::all(Buf::Recv)))
}

pub(crate) fn emit_flat_bcast(b: &mut Builder, area: &mut Area, root: u32, data: Ref) {
    if area.me == root {
        b.publish(area.round, area.own(), data, Wake::All);
    } else {
        b.await_slot(area.round, Slot::Of(root), data);
    }
    area.round += 1;
}

/// Bcast, `tree` with radix `fanout` (4 if unset): few readers for each slot.
pub fn bcast_tree(p: &Params) -> Schedule {
    schedule(p, |b, area| emit_descent(b, area, &knomial(p, p.root_rank()), Ref::all(Buf::Recv)))
}

/// Bcast, `caches`: the root's slot crosses to each memory node once, and there to each cache.
pub fn bcast_caches(p: &Params) -> Schedule {
    schedule(p, |b, area| emit_descent(b, area, &by_caches(p, p.root_rank()), Ref::all(Buf::Recv)))
}

/// The contributions of a reduction over the slots.
pub(super) fn mine(p: &Params) -> Ref {
    Ref::all(if p.in_place { Buf::Recv } else { Buf::Send })
}

/// Combines all ranks' slots in rank order into `acc`, the own contribution taken from `mine`, which `acc`
/// must not be.
fn emit_combine(b: &mut Builder, area: &Area, acc: Ref, mine: Ref) {
    let round = area.round;
    emit_fold(b, area.me, 0..area.size, acc, mine, |b, i, into| b.await_slot(round, Slot::Of(i), into));
}

/// Combines what `ranks` have in rank order into `acc`; `arrive` brings what another rank has to a place, the own
/// contribution is taken from `mine`, which `acc` must not be.
pub(super) fn emit_fold(
    b: &mut Builder,
    me: u32,
    ranks: Range<u32>,
    acc: Ref,
    mine: Ref,
    arrive: impl Fn(&mut Builder, u32, Ref),
) {
    let arrival = mine.at_start_of(b.typed());
    for i in ranks.clone().rev() {
        let last = i + 1 == ranks.end;
        match (i == me, last) {
            (true, true) => b.copy(acc, mine),
            (true, false) => b.reduce(acc, mine, acc),
            (false, true) => arrive(b, i, acc),
            (false, false) => {
                arrive(b, i, arrival);
                b.reduce(acc, arrival, acc);
            }
        }
    }
}

/// Reduce, `flat`: the root reads every rank's slot.
///
/// ```text
///  all → own slot → root, in rank order
/// ```
pub fn reduce_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| emit_flat_reduce(b, area, p.root_rank(), mine(p), Ref::all(Buf::Recv)))
}

/// `result` is written on the root only, and may be `mine`.
pub(crate) fn emit_flat_reduce(b: &mut Builder, area: &mut Area, root: u32, mine: Ref, result: Ref) {
    if area.me == root {
        let acc = if result == mine { mine.at_start_of(b.typed()) } else { result };
        emit_combine(b, area, acc, mine);
        b.copy(result, acc);
    } else {
        b.publish(area.round, area.own(), mine, Wake::One(root));
    }
    area.round += 1;
}

/// Reduce, `tree` with radix `fanout` (4 if unset): partial results climb.
pub fn reduce_tree(p: &Params) -> Schedule {
    reduce_by(p, knomial)
}

/// Reduce, `caches`: one partial result of each cache leaves it, one of each memory node that.
pub fn reduce_caches(p: &Params) -> Schedule {
    reduce_by(p, by_caches)
}

/// Where the order counts, rank 0 combines and the root gets the result from it.
fn reduce_by(p: &Params, shape: Shape) -> Schedule {
    schedule(p, |b, area| {
        let root = p.root_rank();
        let top = if p.commutative { root } else { 0 };
        let climbed = emit_ascent(b, area, &shape(p, top), mine(p));
        area.round += 1;
        let result = Ref::all(Buf::Recv);
        match (area.me == top, area.me == root) {
            (true, true) => b.copy(result, climbed),
            (true, false) => b.publish(area.round, area.own(), climbed, Wake::One(root)),
            (false, true) => b.await_slot(area.round, Slot::Of(top), result),
            (false, false) => {}
        }
        area.round += 1;
    })
}

/// Allreduce, `all`: every rank combines all slots, in the same order. For two ranks this is a direct
/// exchange: one transfer.
///
/// ```text
///  0 → slot 0 ⇄ slot 1 ← 1
/// ```
pub fn allreduce_all(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let (mine, result) = (mine(p), Ref::all(Buf::Recv));
        b.publish(area.round, area.own(), mine, Wake::All);
        if area.size == 2 {
            let arrival = mine.at_start_of(b.typed());
            b.await_slot(area.round, Slot::Of(1 - area.me), arrival);
            match (area.me, p.in_place && !p.commutative) {
                (1, _) => b.reduce(result, arrival, mine),
                (_, false) => b.reduce(result, mine, arrival),
                (_, true) => {
                    b.reduce(arrival, mine, arrival);
                    b.copy(result, arrival);
                }
            }
        } else {
            let acc = if p.in_place { mine.at_start_of(b.typed()) } else { result };
            emit_combine(b, area, acc, mine);
            b.copy(result, acc);
        }
        area.round += 1;
    })
}

/// Allreduce, `flat`: the leader combines all slots and publishes the result.
///
/// ```text
///  1 ─┐                     ┌→ 1
///  2 ─┼→ 0 (combines all) ──┼→ 2
///  3 ─┘                     └→ 3
/// ```
pub fn allreduce_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let (mine, result) = (mine(p), Ref::all(Buf::Recv));
        if area.me == 0 {
            let acc = if p.in_place { mine.at_start_of(b.typed()) } else { result };
            emit_combine(b, area, acc, mine);
            b.publish(area.round, area.own(), acc, Wake::All);
            b.copy(result, acc);
        } else {
            b.publish(area.round, area.own(), mine, Wake::One(0));
            b.await_slot(area.round, Slot::Of(0), result);
        }
        area.round += 1;
    })
}

/// Allreduce, `flag`: the last to arrive combines all slots, in rank order, and releases the others with
/// the result.
///
/// ```text
///  r → own slot, counter      last: slots 0 … n-1 → flag → all
/// ```
pub fn allreduce_flag(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let (mine, round) = (mine(p), area.round);
        b.publish(round, area.own(), mine, Wake::None);
        b.arrive(round, |b| {
            let acc = mine.at_start_of(b.typed());
            emit_combine(b, area, acc, mine);
            b.publish(round, Slot::Flag, acc, Wake::All);
        });
        b.await_slot(round, Slot::Flag, Ref::all(Buf::Recv));
        area.round += 1;
    })
}

/// Allreduce, `tree` with radix `fanout` (4 if unset): partial results climb, the result descends.
pub fn allreduce_tree(p: &Params) -> Schedule {
    allreduce_by(p, knomial)
}

/// Allreduce, `caches`: one partial result of each cache leaves it, one of each memory node that, and the result comes
/// back as it went.
pub fn allreduce_caches(p: &Params) -> Schedule {
    allreduce_by(p, by_caches)
}

fn allreduce_by(p: &Params, shape: Shape) -> Schedule {
    schedule(p, |b, area| {
        let (mine, result) = (mine(p), Ref::all(Buf::Recv));
        let node = shape(p, 0);
        let climbed = emit_ascent(b, area, &node, mine);
        area.round += 1;
        if node.parent.is_none() {
            b.copy(result, climbed);
        }
        emit_descent(b, area, &node, result);
    })
}

/// Combines the children's slots behind the own contribution and publishes that to the parent; returns where
/// it is.
fn emit_ascent(b: &mut Builder, area: &Area, node: &Node, mine: Ref) -> Ref {
    let mut have = mine;
    if !node.children.is_empty() {
        let (acc, arrival) = (mine.at_start_of(b.typed()), mine.at_start_of(b.typed()));
        // The highest run of ranks first, then those before it.
        for (i, &child) in node.children.iter().enumerate() {
            b.await_slot(area.round, Slot::Of(child), if i == 0 { acc } else { arrival });
            if i > 0 {
                b.reduce(acc, arrival, acc);
            }
        }
        b.reduce(acc, mine, acc);
        have = acc;
    }
    if let Some(parent) = node.parent {
        b.publish(area.round, area.own(), have, Wake::One(parent));
    }
    have
}
