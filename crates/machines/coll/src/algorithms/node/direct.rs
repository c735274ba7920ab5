//! Large messages: ranks expose their buffers and read from each other's directly, one copy a byte.
//!
//! What a rank exposes is one run of bytes; a buffer with holes is packed first and the result unpacked. A
//! last round holds every rank until no other reads its buffers any more.

use super::Area;
use crate::algorithms::reduce_scatter::{BY_COUNTS, Cut, EQUAL};
use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule, Slot, Wake};

/// Places in an exposed run of bytes, whatever buffer of the other process it is.
const EXPOSED: Buf = Buf::RecvBytes;

/// Exposes `buf`; the round whose slots hold the places of the others'.
fn expose(b: &mut Builder, area: &mut Area, buf: Ref) -> u16 {
    b.expose(area.round, buf, Wake::All);
    area.round += 1;
    area.round - 1
}

/// Exposes `buf` and waits until all others have exposed theirs.
fn expose_and_meet(b: &mut Builder, area: &mut Area, buf: Ref) -> u16 {
    let round = expose(b, area, buf);
    for other in area.others() {
        b.await_slot(round, Slot::Of(other), Ref::SIGNAL);
    }
    round
}

fn finish(mut b: Builder, mut area: Area, unpack: Option<(Ref, Ref)>) -> Schedule {
    area.meet(&mut b);
    area.retire(&mut b);
    if let Some((into, from)) = unpack {
        b.copy(into, from);
    }
    b.finish()
}

/// Bcast: every rank reads the root's buffer.
///
/// ```text
///  root: expose ──→ r: read everything, report ──→ root: go on
/// ```
pub fn bcast(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let whole = Ref::all(Buf::Recv);
    let data = Ref::all(if p.contiguous { Buf::RecvBytes } else { b.packed() });
    if area.me == root {
        if !p.contiguous {
            b.copy(data, whole);
        }
        b.expose(0, data, Wake::All);
        (0..area.size).filter(|&i| i != root).for_each(|i| b.await_slot(1, Slot::Of(i), Ref::SIGNAL));
    } else {
        b.await_slot(0, Slot::Of(root), Ref::SIGNAL);
        b.get(0, root, Ref::all(EXPOSED), data);
        b.publish(1, area.own(), Ref::SIGNAL, Wake::One(root));
        if !p.contiguous {
            b.copy(whole, data);
        }
    }
    area.round = 2;
    area.retire(&mut b);
    b.finish()
}

/// Scatter: every rank reads its block from the root's buffer.
///
/// ```text
///  root: expose all ──→ r: read block r, report ──→ root: go on
/// ```
pub fn scatter(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, root) = (area.me, p.root_rank());
    let block = |buf, i: u32| Ref::blocks(buf, i, i + 1);
    if me == root {
        let data = if p.contiguous { Buf::SendBytes } else { b.packed() };
        if !p.contiguous {
            b.copy(Ref::blocks(data, 0, area.size), Ref::blocks(Buf::Send, 0, area.size));
        }
        b.expose(0, Ref::blocks(data, 0, area.size), Wake::All);
        if !p.in_place {
            b.copy(Ref::all(Buf::Recv), block(Buf::Send, me));
        }
        (0..area.size).filter(|&i| i != root).for_each(|i| b.await_slot(1, Slot::Of(i), Ref::SIGNAL));
    } else {
        let data = Ref::all(if p.contiguous { Buf::RecvBytes } else { b.packed() });
        b.await_slot(0, Slot::Of(root), Ref::SIGNAL);
        b.get(0, root, block(EXPOSED, me), data);
        b.publish(1, area.own(), Ref::SIGNAL, Wake::One(root));
        if !p.contiguous {
            b.copy(Ref::all(Buf::Recv), data);
        }
    }
    area.round = 2;
    area.retire(&mut b);
    b.finish()
}

/// Allgather: every rank reads all blocks, the right neighbour's first. What is read is the caller's own copy if
/// possible: one just made is still in its maker's cache and slower to read.
///
/// ```text
///  r: expose own block; read blocks r+1, r+2, … r-1; meet
/// ```
pub fn allgather(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n) = (area.me, area.size);
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    let block = |i: u32| Ref::blocks(data, i, i + 1);
    let given = if p.in_place { Ref::blocks(Buf::Recv, me, me + 1) } else { Ref::all(Buf::Send) };
    let own = match (p.contiguous, p.in_place) {
        (true, false) => Ref::all(Buf::SendBytes),
        _ => block(me),
    };
    if !p.contiguous {
        b.copy(own, given);
    }
    let round = expose(&mut b, &mut area, own);
    if p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, me, me + 1), given);
    }
    for i in area.others() {
        b.await_slot(round, Slot::Of(i), Ref::SIGNAL);
        b.get(round, i, Ref::all(EXPOSED), block(i));
    }
    let unpack = (!p.contiguous).then(|| (Ref::blocks(Buf::Recv, 0, n), Ref::blocks(data, 0, n)));
    finish(b, area, unpack)
}

/// [`allgather`] for blocks of different sizes, which are packed and unpacked one by one.
pub fn allgather_v(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let me = area.me;
    let place = |i: u32| Ref::block(Buf::RecvBlock, i);
    let given = if p.in_place { place(me) } else { Ref::all(Buf::Send) };
    let own = if p.contiguous { given } else { place(me).packed_at_start_of(b.packed()) };
    b.copy(own, given);
    let round = expose(&mut b, &mut area, own);
    b.copy(place(me), given);
    let arrival = (!p.contiguous).then(|| b.packed());
    for i in area.others() {
        let into = arrival.map_or(place(i), |packed| place(i).packed_at_start_of(packed));
        b.await_slot(round, Slot::Of(i), Ref::SIGNAL);
        b.get(round, i, place(i), into);
        b.copy(place(i), into);
    }
    finish(b, area, None)
}

/// Alltoall: every rank reads its block from every send buffer. In place, the blocks are set aside
/// first.
///
/// ```text
///  r: expose all blocks; read block r of ranks r+1, r+2, … r-1; meet
/// ```
pub fn alltoall(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n) = (area.me, area.size);
    let source = Ref::blocks(if p.in_place { Buf::Recv } else { Buf::Send }, 0, n);
    let direct = p.contiguous && !p.in_place;
    let exposed = Ref::blocks(if direct { Buf::SendBytes } else { b.packed() }, 0, n);
    if !direct {
        b.copy(exposed, source);
    }
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    let block = |buf, i: u32| Ref::blocks(buf, i, i + 1);
    let round = expose(&mut b, &mut area, exposed);
    b.copy(block(data, me), block(exposed.buf, me));
    for i in area.others() {
        b.await_slot(round, Slot::Of(i), Ref::SIGNAL);
        b.get(round, i, block(EXPOSED, me), block(data, i));
    }
    let unpack = (!p.contiguous).then(|| (Ref::blocks(Buf::Recv, 0, n), Ref::blocks(data, 0, n)));
    finish(b, area, unpack)
}

/// Allreduce: each rank combines one slice of all ranks' vectors, then all read all slices. A slice is
/// worked on in `segments` pieces, which should fit a cache. Elements must be without holes.
///
/// ```text
///  r: expose own vector; slice r of ranks 0 … n-1 → slice r of the result
///  r: expose the result; read slices r+1, r+2, … r-1; meet
/// ```
pub fn allreduce(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    let slice = |i: u32| Ref::part(Buf::Recv, i, i + 1, p.size);
    let round = expose_and_meet(&mut b, &mut area, Ref::all(mine));
    emit_slice(&mut b, p, round, mine, (area.me, p.size), |piece| piece.within(Buf::Recv), |_| {});
    let round = expose_and_meet(&mut b, &mut area, Ref::all(Buf::Recv));
    for i in area.others() {
        b.get(round, i, slice(i), slice(i));
    }
    finish(b, area, None)
}

/// Reduce: as [`allreduce`], but only the root reads the slices.
///
/// ```text
///  r: expose own vector; slice r of ranks 0 … n-1 → scratch; expose it; meet
/// ```
pub fn reduce(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    let slice = |i: u32| Ref::part(Buf::Recv, i, i + 1, p.size);
    let own = slice(area.me);
    let result = if area.me == root { own } else { own.at_start_of(b.typed()) };
    let round = expose_and_meet(&mut b, &mut area, Ref::all(mine));
    // All pieces lie relative to where the slice begins.
    let place = |piece: Ref| Ref { org: result.org * p.segments, ..piece.within(result.buf) };
    emit_slice(&mut b, p, round, mine, (area.me, p.size), place, |_| {});
    let round = expose_and_meet(&mut b, &mut area, result);
    if area.me == root {
        for i in area.others() {
            b.get(round, i, slice(i).at_start_of(Buf::Recv), slice(i));
        }
    }
    finish(b, area, None)
}

/// Reduce, `flat`: the root reads and combines all vectors, which for two ranks is one meeting less.
///
/// ```text
///  r: expose own vector ──→ root: read piece by piece, combine, report ──→ r: go on
/// ```
pub fn reduce_flat(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    if area.me == root {
        area.others().for_each(|i| b.await_slot(0, Slot::Of(i), Ref::SIGNAL));
        let report = |b: &mut Builder| b.publish(1, area.own(), Ref::SIGNAL, Wake::All);
        emit_slice(&mut b, p, 0, mine, (0, 1), |piece| piece.within(Buf::Recv), report);
    } else {
        b.expose(0, Ref::all(mine), Wake::One(root));
        b.await_slot(1, Slot::Of(root), Ref::SIGNAL);
    }
    area.round = 2;
    area.retire(&mut b);
    b.finish()
}

/// Reduce-scatter: each rank reads its block of all vectors and combines them. Blocks of different sizes are not cut
/// into segments.
///
/// ```text
///  r: expose own vector; block r of ranks 0 … n-1 → result; meet
/// ```
pub fn reduce_scatter(p: &Params) -> Schedule {
    emit_reduce_scatter(&Params { segments: 1, ..*p }, BY_COUNTS)
}

/// [`reduce_scatter`] for `MPI_Reduce_scatter_block`.
pub fn reduce_scatter_block(p: &Params) -> Schedule {
    emit_reduce_scatter(p, EQUAL)
}

fn emit_reduce_scatter(p: &Params, cut: Cut) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n) = (area.me, area.size);
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    // In place, the result would lie where others still read.
    let result = if p.in_place { b.typed() } else { Buf::Recv };
    let round = expose_and_meet(&mut b, &mut area, cut.run(mine, 0, n));
    let place = |piece: Ref| Ref { org: me * p.segments, ..piece.within(result) };
    emit_slice(&mut b, p, round, mine, (me, cut.parts()), place, |_| {});
    let block = cut.run(mine, me, me + 1);
    finish(b, area, p.in_place.then(|| (block.at_start_of(Buf::Recv), block.at_start_of(result))))
}

/// Gather: the root reads every rank's block.
///
/// ```text
///  r: expose own block ──→ root: read all blocks, report ──→ r: go on
/// ```
pub fn gather(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n, root) = (area.me, area.size, p.root_rank());
    let block = |buf, i: u32| Ref::blocks(buf, i, i + 1);
    if me == root {
        let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
        for i in area.others() {
            b.await_slot(0, Slot::Of(i), Ref::SIGNAL);
            b.get(0, i, Ref::all(EXPOSED), block(data, i));
        }
        b.publish(1, area.own(), Ref::SIGNAL, Wake::All);
        for i in (0..n).filter(|&i| i != me && !p.contiguous) {
            b.copy(block(Buf::Recv, i), block(data, i));
        }
        if !p.in_place {
            b.copy(block(Buf::Recv, me), Ref::all(Buf::Send));
        }
    } else {
        let data = Ref::all(if p.contiguous { Buf::SendBytes } else { b.packed() });
        if !p.contiguous {
            b.copy(data, Ref::all(Buf::Send));
        }
        b.expose(0, data, Wake::One(root));
        b.await_slot(1, Slot::Of(root), Ref::SIGNAL);
    }
    area.round = 2;
    area.retire(&mut b);
    b.finish()
}

/// Combines a slice, of so many, of all exposed vectors, piece by piece, into `place(piece)`, with a `report` when all
/// is read. Commuting operations begin with the own contribution and go around; others take the ranks in order.
fn emit_slice(
    b: &mut Builder,
    p: &Params,
    round: u16,
    mine: Buf,
    (slice, slices): (u32, u32),
    place: impl Fn(Ref) -> Ref,
    report: impl Fn(&mut Builder),
) {
    let area = Area::whole(p);
    let (me, n) = (area.me, area.size);
    let pieces = p.segments;
    let (arrival, ordered) = (b.typed(), (!p.commutative).then(|| b.typed()));
    for s in 0..pieces {
        let own = Ref::part(mine, slice * pieces + s, slice * pieces + s + 1, slices * pieces);
        let new = own.at_start_of(arrival);
        let result = place(own);
        let Some(ordered) = ordered else {
            let mut acc = own;
            for (at, i) in area.others().enumerate() {
                // The first vector may lie where the result will: one buffer less goes through the cache.
                let arrival = if at == 0 && !p.in_place { result } else { new };
                b.get(round, i, own, arrival);
                if s + 1 == pieces && at as u32 + 2 == n {
                    report(b);
                }
                b.reduce(result, arrival, acc);
                acc = result;
            }
            b.copy(result, acc);
            continue;
        };
        let acc = own.at_start_of(ordered);
        for i in (0..n).rev() {
            let operand = if i == me { own } else { new };
            let first = i + 1 == n;
            if i != me {
                b.get(round, i, own, if first { acc } else { new });
            }
            match (first, i == me) {
                (true, true) => b.copy(acc, own),
                (true, false) => {}
                _ => b.reduce(acc, operand, acc),
            }
        }
        b.copy(result, acc);
    }
    if ordered.is_some() || n == 1 {
        report(b);
    }
}
