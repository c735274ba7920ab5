//! Messages of some bounce buffers: they stream through shared buffers in segments, each one round.
//!
//! `segments` must be enough for a segment to fit a bounce buffer: [`segments_for`]. Reductions need elements
//! without holes, since a bounce buffer holds them packed.

use super::Area;
use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule, Slot, Wake};
use crate::shared::{BOUNCE_BUFFERS, BOUNCE_BYTES};

/// Segments into which `bytes` bytes of elements of `size` bytes (1 for byte streams) must be cut for bounce buffers.
pub const fn segments_for(bytes: u64, size: u64) -> u64 {
    let (bounce, size) = (BOUNCE_BYTES as u64, if size == 0 { 1 } else { size });
    let bounce_buffers = if bytes == 0 { 1 } else { bytes.div_ceil(bounce) };
    // Inner boundaries of byte streams are moved down to cache lines.
    let unit = if size == 1 { 64 } else { size };
    if bytes.is_multiple_of(bounce_buffers * unit) {
        return bounce_buffers;
    }
    // Which can make a segment that much longer.
    let room = bounce - 64;
    let elements = if size > room { 1 } else { room / size };
    let segments = (bytes / size).div_ceil(elements);
    if segments == 0 { 1 } else { segments }
}

/// Bcast: the root fills a bounce buffer a segment, every other rank empties it; the root is up to
/// [`crate::shared::BOUNCE_BUFFERS`] segments ahead.
///
/// ```text
///  root   s0 → buffer 0   s1 → buffer 1   s2 → buffer 2   …
///  rest                 buffer 0 → s0   buffer 1 → s1   …
/// ```
pub fn bcast(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let (data, packed) =
        if p.contiguous { (Buf::RecvBytes, None) } else { packed_copy(&mut b, p.rank == root) };
    for s in 0..p.segments {
        let segment = Ref::part(data, s, s + 1, p.segments);
        let bounce = segment.at_start_of(Buf::BounceBytes { owner: root as u16, round: area.round });
        if area.me == root {
            b.claim(area.round);
            b.copy(bounce, segment);
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::All);
        } else {
            b.await_slot(area.round, Slot::Of(root), Ref::SIGNAL);
            b.copy(segment, bounce);
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

/// Allreduce: each segment is cut into n slices; rank `i` combines slice `i` of its own vector and of all other
/// bounce buffers into its own bounce buffer, from which all copy. The next segment goes into the bounce buffers
/// before the results are awaited.
///
/// ```text
///  round 2s     every rank puts segment s, all but its own slice, into its buffer   ┌ slice 0 ┬ slice 1 ┬ … ┐
///               rank i: slice i of its vector and of buffers 0 … n-1 → slice i of its own buffer
///  round 2s+1   every rank copies slice i from bounce buffer i
/// ```
pub fn allreduce(p: &Params) -> Schedule {
    through_bounce_buffers(p, |_| true)
}

/// Reduce: as [`allreduce`], but only the root copies the result.
pub fn reduce(p: &Params) -> Schedule {
    let root = p.root_rank();
    through_bounce_buffers(p, |rank| rank == root)
}

/// Reduce, `flat`: the root combines straight from the bounce buffers that the others fill, in rank order.
///
/// ```text
///  rest   s0 → buffer 0   s1 → buffer 1   s2 → buffer 2   …
///  root                 own s0, buffers 0 → s0   …
/// ```
pub fn reduce_flat(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let root = p.root_rank();
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    let aside = (area.me == root && !may_hold_partial_results(p)).then(|| b.typed());
    for s in 0..p.segments {
        let own = Ref::part(mine, s, s + 1, p.segments);
        let bounce = |owner: u32| own.at_start_of(Buf::Bounce { owner: owner as u16, round: area.round });
        if area.me == root {
            for i in area.others() {
                b.await_slot(area.round, Slot::Of(i), Ref::SIGNAL);
            }
            let operand = |i: u32| if i == root { own } else { bounce(i) };
            let result = own.within(Buf::Recv);
            let into = aside.map_or(result, |aside| own.at_start_of(aside));
            let mut acc = operand(area.size - 1);
            for i in (0..area.size - 1).rev() {
                b.reduce(into, operand(i), acc);
                acc = into;
            }
            b.copy(result, acc);
        } else {
            b.claim(area.round);
            b.copy(bounce(area.me), own);
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::One(root));
        }
        area.round += 1;
        area.retire(&mut b);
    }
    b.finish()
}

/// Whether the root's result may be combined where it belongs: unless its own contribution lies there, and is not
/// among the first two that are combined, or is one that must stay the left operand.
fn may_hold_partial_results(p: &Params) -> bool {
    let after = p.size - 1 - p.rank;
    !p.in_place || after == 0 || after == 1 && p.commutative
}

fn through_bounce_buffers(p: &Params, gets_result: impl Fn(u32) -> bool) -> Schedule {
    let mut b = Builder::new();
    let area = Area::whole(p);
    for s in 0..p.segments {
        let this = Sliced::new(p, s);
        if s == 0 {
            this.fill(&mut b, &area);
        }
        area.others().for_each(|i| b.await_slot(this.round, Slot::Of(i), Ref::SIGNAL));
        this.combine(&mut b, &area);
        b.publish(this.round + 1, area.own(), Ref::SIGNAL, Wake::All);
        if s + 1 < p.segments {
            Sliced::new(p, s + 1).fill(&mut b, &area);
        }
        for i in std::iter::once(area.me).chain(area.others()).filter(|_| gets_result(area.me)) {
            if i != area.me {
                b.await_slot(this.round + 1, Slot::Of(i), Ref::SIGNAL);
            }
            b.copy(Ref { org: 0, ..this.slices(i, i + 1) }.within(Buf::Recv), this.in_bounce(i, i, i + 1));
        }
        b.retire(this.last_round);
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
    /// Two rounds would do. With more ranks twice as many leave half of the bounce buffers out, so that the others,
    /// which all read, stay in caches: 32 KiB of eight ranks take a fifth longer through sixteen bounce buffers of
    /// each.
    last_round: u16,
}

impl Sliced {
    fn new(p: &Params, segment: u32) -> Sliced {
        let mine = if p.in_place { Buf::Recv } else { Buf::Send };
        let rounds = if p.size > 2 { 4 } else { 2 };
        let round = rounds * segment as u16;
        Sliced { mine, segment, segments: p.segments, n: p.size, round, last_round: round + rounds - 1 }
    }

    /// Slices `lo..hi` of the own vector.
    fn slices(&self, lo: u32, hi: u32) -> Ref {
        let start = self.segment * self.n;
        Ref::part(self.mine, start + lo, start + hi, self.segments * self.n)
    }

    /// Slices `lo..hi` in a bounce buffer, which the segment fills from the start.
    fn in_bounce(&self, owner: u32, lo: u32, hi: u32) -> Ref {
        let bounce = Buf::Bounce { owner: owner as u16, round: self.round };
        Ref { org: self.segment * self.n, ..self.slices(lo, hi) }.within(bounce)
    }

    /// Puts what the other ranks combine into the own bounce buffer.
    fn fill(&self, b: &mut Builder, area: &Area) {
        let me = area.me;
        b.claim(self.round);
        for (lo, hi) in [(0, me), (me + 1, self.n)].into_iter().filter(|(lo, hi)| lo < hi) {
            b.copy(self.in_bounce(me, lo, hi), self.slices(lo, hi));
        }
        b.publish(self.round, area.own(), Ref::SIGNAL, Wake::All);
    }

    /// Combines the own slice of all ranks, in rank order, into the own bounce buffer.
    fn combine(&self, b: &mut Builder, area: &Area) {
        let me = area.me;
        let into = self.in_bounce(me, me, me + 1);
        let operand = |i: u32| if i == me { self.slices(me, me + 1) } else { self.in_bounce(i, me, me + 1) };
        let mut acc = operand(self.n - 1);
        for i in (0..self.n - 1).rev() {
            b.reduce(into, operand(i), acc);
            acc = into;
        }
        b.copy(into, acc);
    }
}

/// Scan: a chain of bounce buffers. Rank `r` puts what the bounce buffer before it holds before its own part, and the
/// result into its own bounce buffer for the rank after it.
///
/// ```text
///  segment s   buffer 0 → rank 1 → buffer 1 → rank 2 → …     while segment s+1 goes into buffer 0
/// ```
pub fn scan(p: &Params) -> Schedule {
    prefixes(p, true)
}

/// [`scan`] for `MPI_Exscan`: what the bounce buffer before holds is the result.
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
        let bounce = |owner: u32| own.at_start_of(Buf::Bounce { owner: owner as u16, round });
        if me > 0 {
            b.await_slot(round, Slot::Of(me - 1), Ref::SIGNAL);
        }
        if me < last {
            b.claim(round);
            match me {
                0 => b.copy(bounce(me), own),
                _ => b.reduce(bounce(me), bounce(me - 1), own),
            }
            b.publish(round, area.own(), Ref::SIGNAL, Wake::One(me + 1));
        }
        match (inclusive, me) {
            (true, 0) => b.copy(result, own),
            (true, _) if me < last => b.copy(result, bounce(me)),
            (true, _) => b.reduce(result, bounce(me - 1), own),
            (false, 0) => {}
            (false, _) => b.copy(result, bounce(me - 1)),
        }
        area.round += 1;
        area.retire(&mut b);
    }
    b.finish()
}

/// Rounds by which an exchange fills bounce buffers before it empties those of the others, so that no rank waits for a
/// bounce buffer under way; below [`BOUNCE_BUFFERS`], so that no rank waits for room forever.
const AHEAD: u32 = 3;
const _: () = assert!((AHEAD as usize) < BOUNCE_BUFFERS);

/// Allgather: every rank streams its block through its own bounce buffers, all copy from all.
///
/// ```text
///  round s   segment s of block r → buffer of r; buffers 0 … n-1 of round s - AHEAD → that segment of all blocks
/// ```
pub fn allgather(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let area = Area::whole(p);
    let (me, n, segments) = (area.me, area.size, p.segments);
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    let piece = |i: u32, s: u32| Ref::part(data, i * segments + s, i * segments + s + 1, segments);
    let given = p.contiguous && !p.in_place;
    let own = |s: u32| if given { Ref::part(Buf::SendBytes, s, s + 1, segments) } else { piece(me, s) };
    if !p.contiguous {
        let block = if p.in_place { Ref::blocks(Buf::Recv, me, me + 1) } else { Ref::all(Buf::Send) };
        b.copy(Ref::blocks(data, me, me + 1), block);
    }
    exchange(&mut b, 0, segments, |b, step| match step {
        Exchange::Fill(s) => {
            b.claim(s as u16);
            let bounce = own(s).at_start_of(Buf::BounceBytes { owner: me as u16, round: s as u16 });
            b.copy(bounce, own(s));
            b.publish(s as u16, area.own(), Ref::SIGNAL, Wake::All);
            b.copy(piece(me, s), own(s));
        }
        Exchange::Empty(s) => {
            for i in area.others() {
                let bounce = piece(i, s).at_start_of(Buf::BounceBytes { owner: i as u16, round: s as u16 });
                b.await_slot(s as u16, Slot::Of(i), Ref::SIGNAL);
                b.copy(piece(i, s), bounce);
            }
        }
    });
    if !p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, 0, n), Ref::blocks(data, 0, n));
    }
    b.finish()
}

/// Scatter: the root streams the blocks of the others through its bounce buffers, one after the other.
///
/// ```text
///  rounds of distance d   root: segments of the block for root+d → buffers → root+d
/// ```
pub fn scatter(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let mut area = Area::whole(p);
    let (me, n, root) = (area.me, area.size, p.root_rank());
    let data = match (p.contiguous, me == root) {
        (true, true) => Buf::SendBytes,
        (true, false) => Buf::RecvBytes,
        (false, _) => b.packed(),
    };
    if me == root && !p.contiguous {
        b.copy(Ref::blocks(data, 0, n), Ref::blocks(Buf::Send, 0, n));
    }
    for (to, s) in (1..n).flat_map(|d| (0..p.segments).map(move |s| ((root + d) % n, s))) {
        let block = if me == root { to } else { 0 };
        let segment = Ref::part(data, block * p.segments + s, block * p.segments + s + 1, p.segments);
        let bounce = segment.at_start_of(Buf::BounceBytes { owner: root as u16, round: area.round });
        if me == root {
            b.claim(area.round);
            b.copy(bounce, segment);
            b.publish(area.round, area.own(), Ref::SIGNAL, Wake::One(to));
        } else if me == to {
            b.await_slot(area.round, Slot::Of(root), Ref::SIGNAL);
            b.copy(segment, bounce);
        }
        area.round += 1;
        area.retire(&mut b);
    }
    if me == root && !p.in_place {
        b.copy(Ref::all(Buf::Recv), Ref::blocks(Buf::Send, me, me + 1));
    } else if me != root && !p.contiguous {
        b.copy(Ref::all(Buf::Recv), Ref::all(data));
    }
    b.finish()
}

/// Alltoall: every rank streams its blocks for the others through its own bounce buffers, one after the other.
///
/// ```text
///  rounds of distance d   segments of the block for r+d → buffer of r; buffer of r-d → segments of its block
/// ```
pub fn alltoall(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let area = Area::whole(p);
    let (me, n, segments) = (area.me, area.size, p.segments);
    let given = p.contiguous && !p.in_place;
    let source = if given { Buf::SendBytes } else { b.packed() };
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    if !given {
        let buffer = if p.in_place { Buf::Recv } else { Buf::Send };
        b.copy(Ref::blocks(source, 0, n), Ref::blocks(buffer, 0, n));
    }
    let piece = |buf, i: u32, s: u32| Ref::part(buf, i * segments + s, i * segments + s + 1, segments);
    let bounce = |of: Ref, owner: u32, round: u32| {
        of.at_start_of(Buf::BounceBytes { owner: owner as u16, round: round as u16 })
    };
    exchange(&mut b, 0, segments * (n - 1), |b, step| match step {
        Exchange::Fill(round) => {
            let (distance, s) = (round / segments + 1, round % segments);
            let to = (me + distance) % n;
            let from = piece(source, to, s);
            b.claim(round as u16);
            b.copy(bounce(from, me, round), from);
            b.publish(round as u16, area.own(), Ref::SIGNAL, Wake::One(to));
            if distance == 1 {
                b.copy(piece(data, me, s), piece(source, me, s));
            }
        }
        Exchange::Empty(round) => {
            let (distance, s) = (round / segments + 1, round % segments);
            let from = (me + n - distance) % n;
            b.await_slot(round as u16, Slot::Of(from), Ref::SIGNAL);
            b.copy(piece(data, from, s), bounce(piece(data, from, s), from, round));
        }
    });
    if n == 1 {
        b.copy(Ref::all(data), Ref::all(source));
    }
    if !p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, 0, n), Ref::blocks(data, 0, n));
    }
    b.finish()
}

/// One half of a round.
pub(super) enum Exchange {
    /// Fill the own bounce buffer, once it is free.
    Fill(u32),
    /// Empty the others'.
    Empty(u32),
}

/// Rounds of an exchange through bounce buffers, filled [`AHEAD`] of being emptied; `first` is the one that is counted as 0.
pub(super) fn exchange(
    b: &mut Builder,
    first: u16,
    rounds: u32,
    mut emit: impl FnMut(&mut Builder, Exchange),
) {
    for step in 0..rounds + AHEAD {
        if step < rounds {
            emit(b, Exchange::Fill(step));
        }
        if let Some(round) = step.checked_sub(AHEAD).filter(|&round| round < rounds) {
            emit(b, Exchange::Empty(round));
            b.retire(first + round as u16);
        }
    }
}
