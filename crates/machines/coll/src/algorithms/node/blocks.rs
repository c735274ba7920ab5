//! Blocks and prefixes over the slots of an area, one transfer deep: a rank with data for others publishes all of it
//! in one slot, and each rank that wants some of it reads that slot.
//!
//! ```text
//!  flat   one rank publishes for all, or all publish for one
//!  all    every rank publishes, every rank reads what it wants of all slots
//!  flag   as all, but no rank looks at a slot before the last one is there
//! ```

use super::Area;
use super::slots::{emit_fold, mine, schedule};
use crate::algorithms::reduce_scatter::{BY_COUNTS, Cut, EQUAL};
use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule, Slot, Wake};

/// Publishes `own` for all and meets them, as the algorithm is meant: one by one as they come, or at the release flag.
fn emit_publish(b: &mut Builder, area: &Area, own: Ref, flag: bool) {
    let round = area.round;
    if !flag {
        return b.publish(round, area.own(), own, Wake::All);
    }
    b.publish(round, area.own(), own, Wake::None);
    area.emit_flag(b);
}

fn block(buf: Buf, i: u32) -> Ref {
    Ref::blocks(buf, i, i + 1)
}

/// Gather: all publish their blocks, the root reads them.
///
/// ```text
///  r → own slot → root
/// ```
pub fn gather_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let root = p.root_rank();
        if area.me != root {
            b.publish(area.round, area.own(), Ref::all(Buf::Send), Wake::One(root));
        } else {
            for i in area.others() {
                b.await_slot(area.round, Slot::Of(i), block(Buf::Recv, i));
            }
            if !p.in_place {
                b.copy(block(Buf::Recv, root), Ref::all(Buf::Send));
            }
        }
        area.round += 1;
    })
}

/// Scatter: the root publishes all blocks, every rank takes its own.
///
/// ```text
///  root → slot, blocks 0 … n-1 → r takes block r
/// ```
pub fn scatter_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let root = p.root_rank();
        if area.me == root {
            b.publish(area.round, area.own(), Ref::blocks(Buf::Send, 0, area.size), Wake::All);
            if !p.in_place {
                b.copy(Ref::all(Buf::Recv), block(Buf::Send, root));
            }
        } else {
            let slot = b.packed();
            b.await_slot(area.round, Slot::Of(root), Ref::blocks(slot, 0, area.size));
            b.copy(Ref::all(Buf::Recv), block(slot, area.me));
        }
        area.round += 1;
    })
}

/// Allgather: every rank publishes its block and reads all others'.
///
/// ```text
///  r → own slot; slots 0 … n-1 → r
/// ```
pub fn allgather_all(p: &Params) -> Schedule {
    allgather(p, |i| block(Buf::Recv, i), false)
}

/// [`allgather_all`] at the release flag.
pub fn allgather_flag(p: &Params) -> Schedule {
    allgather(p, |i| block(Buf::Recv, i), true)
}

/// [`allgather_all`] for blocks of different sizes.
pub fn allgather_all_v(p: &Params) -> Schedule {
    allgather(p, |i| Ref::block(Buf::RecvBlock, i), false)
}

/// [`allgather_all_v`] at the release flag.
pub fn allgather_flag_v(p: &Params) -> Schedule {
    allgather(p, |i| Ref::block(Buf::RecvBlock, i), true)
}

fn allgather(p: &Params, place: impl Fn(u32) -> Ref, flag: bool) -> Schedule {
    schedule(p, |b, area| {
        let own = if p.in_place { place(area.me) } else { Ref::all(Buf::Send) };
        emit_publish(b, area, own, flag);
        b.copy(place(area.me), own);
        for i in area.others() {
            b.await_slot(area.round, Slot::Of(i), place(i));
        }
        area.round += 1;
    })
}

/// Alltoall: every rank publishes all its blocks and takes its own from all slots.
///
/// ```text
///  r → own slot, blocks 0 … n-1; block r of slots 0 … n-1 → r
/// ```
pub fn alltoall_all(p: &Params) -> Schedule {
    alltoall(p, false)
}

/// [`alltoall_all`] at the release flag.
pub fn alltoall_flag(p: &Params) -> Schedule {
    alltoall(p, true)
}

fn alltoall(p: &Params, flag: bool) -> Schedule {
    schedule(p, |b, area| {
        let mine = if p.in_place { Buf::Recv } else { Buf::Send };
        emit_publish(b, area, Ref::blocks(mine, 0, area.size), flag);
        b.copy(block(Buf::Recv, area.me), block(mine, area.me));
        let slot = b.packed();
        for i in area.others() {
            b.await_slot(area.round, Slot::Of(i), Ref::blocks(slot, 0, area.size));
            b.copy(block(Buf::Recv, i), block(slot, area.me));
        }
        area.round += 1;
    })
}

/// Reduce-scatter: every rank publishes its vector and combines its own block of all slots, in rank order.
///
/// ```text
///  r → own slot; block r of slots 0 … n-1 → r
/// ```
pub fn reduce_scatter_all(p: &Params) -> Schedule {
    reduce_scatter(p, BY_COUNTS, false)
}

/// [`reduce_scatter_all`] at the release flag.
pub fn reduce_scatter_flag(p: &Params) -> Schedule {
    reduce_scatter(p, BY_COUNTS, true)
}

/// [`reduce_scatter_all`] for `MPI_Reduce_scatter_block`.
pub fn reduce_scatter_block_all(p: &Params) -> Schedule {
    reduce_scatter(p, EQUAL, false)
}

/// [`reduce_scatter_block_all`] at the release flag.
pub fn reduce_scatter_block_flag(p: &Params) -> Schedule {
    reduce_scatter(p, EQUAL, true)
}

fn reduce_scatter(p: &Params, cut: Cut, flag: bool) -> Schedule {
    schedule(p, |b, area| {
        let mine = mine(p).buf;
        let (n, round) = (area.size, area.round);
        emit_publish(b, area, cut.run(mine, 0, n), flag);
        let (slot, sum) = (b.typed(), b.typed());
        let own = cut.run(mine, area.me, area.me + 1);
        let acc = own.at_start_of(if p.in_place { sum } else { Buf::Recv });
        emit_fold(b, area.me, 0..n, acc, own, |b, i, into| {
            b.await_slot(round, Slot::Of(i), cut.run(slot, 0, n));
            b.copy(into, own.within(slot));
        });
        b.copy(own.at_start_of(Buf::Recv), acc);
        area.round += 1;
    })
}

/// Scan: every rank publishes, and combines the slots of the ranks up to itself.
///
/// ```text
///  r → own slot; slots 0 … r → r
/// ```
pub fn scan_all(p: &Params) -> Schedule {
    prefix(p, 1)
}

/// [`scan_all`] for `MPI_Exscan`: of the ranks before itself.
pub fn exscan_all(p: &Params) -> Schedule {
    prefix(p, 0)
}

fn prefix(p: &Params, own: u32) -> Schedule {
    schedule(p, |b, area| {
        let (mine, round) = (mine(p), area.round);
        b.publish(round, area.own(), mine, Wake::All);
        let ranks = 0..area.me + own;
        if !ranks.is_empty() {
            let acc = if p.in_place { mine.at_start_of(b.typed()) } else { Ref::all(Buf::Recv) };
            emit_fold(b, area.me, ranks, acc, mine, |b, i, into| b.await_slot(round, Slot::Of(i), into));
            b.copy(Ref::all(Buf::Recv), acc);
        }
        area.round += 1;
    })
}
