//! Messages of some cells: they stream through shared buffers in segments, each one round.
//!
//! `segments` must be enough for a segment to fit a cell: [`segments_for`]. Reductions need elements
//! without holes, since a cell holds them packed.

use super::Area;
use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Buf, Line, Ref, Schedule, Wake};
use crate::shared::CELL_BYTES;

/// Segments into which `bytes` bytes of elements of `size` bytes (1 for byte streams) must be cut for cells.
pub const fn segments_for(bytes: u64, size: u64) -> u64 {
    let size = if size == 0 { 1 } else { size };
    // Inner boundaries of byte streams are moved down to cache lines, which can make a segment that much
    // longer.
    let room = CELL_BYTES as u64 - 64;
    let elements = if size > room { 1 } else { room / size };
    let segments = (bytes / size).div_ceil(elements);
    if segments == 0 { 1 } else { segments }
}

fn own_cell(area: &Area, round: u16) -> Buf {
    Buf::Cell { owner: area.me as u16, round }
}

/// Bcast: the root fills a cell a segment, everybody else empties it; the root is up to
/// [`crate::shared::CELLS`] segments ahead.
///
/// ```text
///  root   s0 → cell 0   s1 → cell 1   s2 → cell 2   …
///  rest                 cell 0 → s0   cell 1 → s1   …
/// ```
pub fn bcast(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let (data, packed) =
        if p.contiguous { (Buf::RecvBytes, None) } else { packed_copy(&mut b, p.rank == root) };
    for s in 0..p.segments {
        let segment = Ref::part(data, s, s + 1, p.segments);
        let cell = segment.at_start_of(Buf::CellBytes { owner: root as u16, round: area.round });
        if area.me == root {
            b.claim(area.round);
            b.copy(cell, segment);
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::All);
        } else {
            b.await_line(area.round, Line::Of(root), Ref::SIGNAL);
            b.copy(segment, cell);
        }
        area.round += 1;
        area.retire(&mut b);
    }
    if let Some(packed) = packed.filter(|_| area.me != root) {
        b.copy(Ref::all(Buf::Recv), Ref::all(packed));
    }
    b.finish()
}

/// A packed copy of a buffer with holes, filled on the root.
fn packed_copy(b: &mut Builder, root: bool) -> (Buf, Option<Buf>) {
    let packed = b.packed();
    if root {
        b.copy(Ref::all(packed), Ref::all(Buf::Recv));
    }
    (packed, Some(packed))
}

/// Allreduce: each segment is cut into n slices; rank `i` combines slice `i` of all cells into its own
/// cell, from which all copy.
///
/// ```text
///  round 2s     every rank fills its cell with segment s           ┌ slice 0 ┬ slice 1 ┬ … ┐
///               rank i: slice i of cells 0 … n-1 → slice i of its own cell
///  round 2s+1   every rank copies slice i from cell i
/// ```
pub fn allreduce(p: &Params) -> Schedule {
    through_cells(p, |_| true)
}

/// Reduce: as [`allreduce`], but only the root copies the result.
pub fn reduce(p: &Params) -> Schedule {
    let root = p.root_rank();
    through_cells(p, |rank| rank == root)
}

fn through_cells(p: &Params, gets_result: impl Fn(u32) -> bool) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    let scratch = b.typed();
    let n = area.size;
    for s in 0..p.segments {
        let round = area.round;
        let segment = Ref::part(mine, s * n, (s + 1) * n, p.segments * n);
        let slice = |i: u32| Ref { lo: s * n + i, hi: s * n + i + 1, org: s * n, ..segment };
        let in_cell = |i: u32, owner: u32| slice(i).within(Buf::Cell { owner: owner as u16, round });
        b.claim(round);
        b.copy(segment.at_start_of(own_cell(&area, round)), segment);
        area.meet(&mut b);
        emit_slice(&mut b, n, area.me, p.commutative, |owner| in_cell(area.me, owner), scratch);
        b.publish(area.round, area.own(), Ref::SIGNAL, Wake::All);
        if gets_result(area.me) {
            for i in std::iter::once(area.me).chain(area.others()) {
                if i != area.me {
                    b.await_line(area.round, Line::Of(i), Ref::SIGNAL);
                }
                b.copy(Ref { org: 0, ..slice(i) }.within(Buf::Recv), in_cell(i, i));
            }
        }
        area.round += 1;
        area.retire(&mut b);
    }
    b.finish()
}

/// Combines `operand(0) op … op operand(n-1)` into `operand(me)`, in rank order.
fn emit_slice(
    b: &mut Builder,
    n: u32,
    me: u32,
    commutative: bool,
    operand: impl Fn(u32) -> Ref,
    scratch: Buf,
) {
    let own = operand(me);
    let partial = Ref { org: own.lo, ..own }.within(scratch);
    let mut acc = operand(n - 1);
    for i in (0..n - 1).rev() {
        let writes_own = i == 0 && (me > 0 || commutative);
        let into = if writes_own { own } else { partial };
        b.reduce(into, operand(i), acc);
        acc = into;
    }
    b.copy(own, acc);
}

/// Allgather: every rank streams its block through its own cells, all copy from all.
///
/// ```text
///  round s   segment s of block r → cell of r; cells 0 … n-1 → segment s of all blocks
/// ```
pub fn allgather(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n) = (area.me, area.size);
    let own_block = if p.in_place { Ref::blocks(Buf::Recv, me, me + 1) } else { Ref::all(Buf::Send) };
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    if p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, me, me + 1), own_block);
    } else {
        b.copy(Ref::blocks(data, me, me + 1), own_block);
    }
    for s in 0..p.segments {
        let round = area.round;
        let piece = |i: u32| Ref::part(data, i * p.segments + s, i * p.segments + s + 1, p.segments);
        let cell = |i: u32| piece(i).at_start_of(Buf::CellBytes { owner: i as u16, round });
        b.claim(round);
        b.copy(cell(me), piece(me));
        b.publish(round, area.own(), Ref::SIGNAL, Wake::All);
        for i in area.others() {
            b.await_line(round, Line::Of(i), Ref::SIGNAL);
            b.copy(piece(i), cell(i));
        }
        area.round += 1;
        area.retire(&mut b);
    }
    if !p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, 0, n), Ref::blocks(data, 0, n));
    }
    b.finish()
}
