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

/// Allreduce: each segment is cut into n slices; rank `i` combines slice `i` of its own vector and of all other cells
/// into its own cell, from which all copy. The next segment goes into the cells before the results are awaited.
///
/// ```text
///  round 2s     every rank puts segment s, all but its own slice, into its cell   ┌ slice 0 ┬ slice 1 ┬ … ┐
///               rank i: slice i of its vector and of cells 0 … n-1 → slice i of its own cell
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
    let area = Area::whole(p);
    for s in 0..p.segments {
        let this = Sliced::new(p, s);
        if s == 0 {
            this.fill(&mut b, &area);
        }
        area.others().for_each(|i| b.await_line(this.round, Line::Of(i), Ref::SIGNAL));
        this.combine(&mut b, &area);
        b.publish(this.round + 1, area.own(), Ref::SIGNAL, Wake::All);
        if s + 1 < p.segments {
            Sliced::new(p, s + 1).fill(&mut b, &area);
        }
        for i in std::iter::once(area.me).chain(area.others()).filter(|_| gets_result(area.me)) {
            if i != area.me {
                b.await_line(this.round + 1, Line::Of(i), Ref::SIGNAL);
            }
            b.copy(Ref { org: 0, ..this.slices(i, i + 1) }.within(Buf::Recv), this.in_cell(i, i, i + 1));
        }
        b.retire(this.round + 1);
    }
    b.finish()
}

/// A segment of a reduction, cut into a slice for each rank.
struct Sliced {
    mine: Buf,
    segment: u32,
    segments: u32,
    n: u32,
    round: u16,
}

impl Sliced {
    fn new(p: &Params, segment: u32) -> Sliced {
        let mine = if p.in_place { Buf::Recv } else { Buf::Send };
        Sliced { mine, segment, segments: p.segments, n: p.size, round: 2 * segment as u16 }
    }

    /// Slices `lo..hi` of the own vector.
    fn slices(&self, lo: u32, hi: u32) -> Ref {
        let start = self.segment * self.n;
        Ref::part(self.mine, start + lo, start + hi, self.segments * self.n)
    }

    /// Slices `lo..hi` in a cell, which the segment fills from the start.
    fn in_cell(&self, owner: u32, lo: u32, hi: u32) -> Ref {
        let cell = Buf::Cell { owner: owner as u16, round: self.round };
        Ref { org: self.segment * self.n, ..self.slices(lo, hi) }.within(cell)
    }

    /// Puts what the other ranks combine into the own cell.
    fn fill(&self, b: &mut Builder, area: &Area) {
        let me = area.me;
        b.claim(self.round);
        for (lo, hi) in [(0, me), (me + 1, self.n)].into_iter().filter(|(lo, hi)| lo < hi) {
            b.copy(self.in_cell(me, lo, hi), self.slices(lo, hi));
        }
        b.publish(self.round, area.own(), Ref::SIGNAL, Wake::All);
    }

    /// Combines the own slice of all ranks, in rank order, into the own cell.
    fn combine(&self, b: &mut Builder, area: &Area) {
        let me = area.me;
        let into = self.in_cell(me, me, me + 1);
        let operand = |i: u32| if i == me { self.slices(me, me + 1) } else { self.in_cell(i, me, me + 1) };
        let mut acc = operand(self.n - 1);
        for i in (0..self.n - 1).rev() {
            b.reduce(into, operand(i), acc);
            acc = into;
        }
        b.copy(into, acc);
    }
}

/// Scan: a chain of cells. Rank `r` puts what the cell before it holds before its own part, and the result into its
/// own cell for the rank after it.
///
/// ```text
///  segment s   cell 0 → rank 1 → cell 1 → rank 2 → …     while segment s+1 goes into cell 0
/// ```
pub fn scan(p: &Params) -> Schedule {
    prefixes(p, true)
}

/// [`scan`] for `MPI_Exscan`: what the cell before holds is the result.
pub fn exscan(p: &Params) -> Schedule {
    prefixes(p, false)
}

fn prefixes(p: &Params, inclusive: bool) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, last) = (area.me, area.size - 1);
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    for s in 0..p.segments {
        let round = area.round;
        let own = Ref::part(mine, s, s + 1, p.segments);
        let result = own.within(Buf::Recv);
        let cell = |owner: u32| own.at_start_of(Buf::Cell { owner: owner as u16, round });
        if me > 0 {
            b.await_line(round, Line::Of(me - 1), Ref::SIGNAL);
        }
        if me < last {
            b.claim(round);
            match me {
                0 => b.copy(cell(me), own),
                _ => b.reduce(cell(me), cell(me - 1), own),
            }
            b.publish(round, area.own(), Ref::SIGNAL, Wake::One(me + 1));
        }
        match (inclusive, me) {
            (true, 0) => b.copy(result, own),
            (true, _) if me < last => b.copy(result, cell(me)),
            (true, _) => b.reduce(result, cell(me - 1), own),
            (false, 0) => {}
            (false, _) => b.copy(result, cell(me - 1)),
        }
        area.round += 1;
        area.retire(&mut b);
    }
    b.finish()
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
