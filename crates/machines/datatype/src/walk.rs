//! Walks any byte range of a layout, in pack order, feeding a sink.
//!
//! There is no saved state: a position is a byte count, and every walk descends from the root to it.
//!
//! ```text
//!              from                                 to
//!   |----+-----|--v---+------+------+------+----v---|------|
//!               head  |<-- whole bodies -->| tail
//! ```

use crate::compact::Compact;
use crate::layout::{Layout, Shape};
use std::ops::Range;

/// What is done with the memory of a datatype. Addresses are absolute; every call covers bytes that follow those of
/// the call before in pack order. A `false` result ends the walk.
pub(crate) trait Sink: Sized {
    /// `len` bytes in a row.
    fn run(&mut self, addr: usize, len: u64) -> bool;

    /// `count` blocks of `len` bytes, `stride` apart.
    fn strided(&mut self, addr: usize, count: u64, len: u64, stride: i64) -> bool {
        (0..count).all(|i| self.run(at(addr, i, stride), len))
    }

    /// Blocks of `len` bytes at the displacements numbered `range`.
    fn scatter(&mut self, addr: usize, disps: &Compact, range: Range<usize>, len: u64) -> bool {
        range.into_iter().all(|i| self.run(addr.wrapping_add_signed(disps.get(i) as isize), len))
    }

    /// The whole blocks numbered `range`.
    fn pieces(&mut self, addr: usize, disps: &Compact, ends: &Compact, range: Range<usize>) -> bool {
        range.into_iter().all(|i| {
            let begin = begin_of(ends, i);
            self.run(addr.wrapping_add_signed(disps.get(i) as isize), ends.get(i) as u64 - begin)
        })
    }

    /// Whole bodies at the displacements numbered `range`.
    fn listed(&mut self, addr: usize, disps: &Compact, range: Range<usize>, body: &Layout) -> bool {
        range.into_iter().all(|i| {
            let place = addr.wrapping_add_signed(disps.get(i) as isize);
            walk(body, place, 0, body.size, self)
        })
    }

    /// `count` whole bodies, `stride` apart.
    fn looped(&mut self, addr: usize, count: u64, stride: i64, body: &Layout) -> bool {
        (0..count).all(|i| walk(body, at(addr, i, stride), 0, body.size, self))
    }
}

/// Feeds packed bytes `from..to` of `layout`, whose datatype's origin is at address `origin`, to `sink`.
/// Returns false if the sink ended the walk.
pub(crate) fn walk<S: Sink>(layout: &Layout, origin: usize, from: u64, to: u64, sink: &mut S) -> bool {
    debug_assert!(to <= layout.size);
    if from >= to {
        return true;
    }
    let addr = origin.wrapping_add_signed(layout.offset as isize);
    match &layout.shape {
        Shape::Empty => true,
        Shape::Run => sink.run(addr.wrapping_add(from as usize), to - from),
        &Shape::Strided { count, len, stride } => {
            let split = Split::new(from, to, len, count);
            let part = |sink: &mut S, i, range: Range<u64>| {
                sink.run(at(addr, i, stride).wrapping_add(range.start as usize), range.end - range.start)
            };
            split.head.is_none_or(|(i, range)| part(sink, i, range))
                && (split.whole.is_empty()
                    || sink.strided(
                        at(addr, split.whole.start, stride),
                        split.whole.end - split.whole.start,
                        len,
                        stride,
                    ))
                && split.tail.is_none_or(|(i, range)| part(sink, i, range))
        }
        Shape::Scatter { disps, len } => {
            let split = Split::new(from, to, *len, disps.len() as u64);
            let place = |i: u64| addr.wrapping_add_signed(disps.get(i as usize) as isize);
            let part = |sink: &mut S, i, range: Range<u64>| {
                sink.run(place(i).wrapping_add(range.start as usize), range.end - range.start)
            };
            let whole = split.whole.start as usize..split.whole.end as usize;
            split.head.is_none_or(|(i, range)| part(sink, i, range))
                && (whole.is_empty() || sink.scatter(addr, disps, whole, *len))
                && split.tail.is_none_or(|(i, range)| part(sink, i, range))
        }
        Shape::Pieces { disps, ends } => {
            let part = |sink: &mut S, i, range: Range<u64>| {
                let place = addr.wrapping_add_signed(disps.get(i) as isize);
                sink.run(place.wrapping_add(range.start as usize), range.end - range.start)
            };
            let (head, whole, tail) = split_table(ends, from, to);
            head.is_none_or(|(i, range)| part(sink, i, range))
                && (whole.is_empty() || sink.pieces(addr, disps, ends, whole))
                && tail.is_none_or(|(i, range)| part(sink, i, range))
        }
        Shape::Loop { count, stride, body } => {
            bodies(sink, Split::new(from, to, body.size, *count), body, addr, *stride)
        }
        Shape::Each { disps, body } => {
            let place = |i: u64| addr.wrapping_add_signed(disps.get(i as usize) as isize);
            let split = Split::new(from, to, body.size, disps.len() as u64);
            let whole = split.whole.start as usize..split.whole.end as usize;
            split.head.is_none_or(|(i, range)| walk(body, place(i), range.start, range.end, sink))
                && (whole.is_empty() || sink.listed(addr, disps, whole, body))
                && split.tail.is_none_or(|(i, range)| walk(body, place(i), range.start, range.end, sink))
        }
        Shape::Blocks { disps, ends, stride, body } => {
            let first = ends.count_not_above((from / body.size) as i64);
            let mut touched = (first..disps.len()).take_while(|&i| begin_of(ends, i) * body.size < to);
            touched.all(|i| {
                let begin = begin_of(ends, i) * body.size;
                let end = ends.get(i) as u64 * body.size;
                let block = addr.wrapping_add_signed(disps.get(i) as isize);
                let count = (end - begin) / body.size;
                let split = Split::new(from.max(begin) - begin, to.min(end) - begin, body.size, count);
                bodies(sink, split, body, block, *stride)
            })
        }
        Shape::Seq { parts, ends } => {
            let (head, whole, tail) = split_table(ends, from, to);
            head.is_none_or(|(i, range)| walk(&parts[i], addr, range.start, range.end, sink))
                && parts[whole].iter().all(|part| walk(part, addr, 0, part.size, sink))
                && tail.is_none_or(|(i, range)| walk(&parts[i], addr, range.start, range.end, sink))
        }
    }
}

/// The bodies of a loop that a range touches.
fn bodies<S: Sink>(sink: &mut S, split: Split, body: &Layout, addr: usize, stride: i64) -> bool {
    let whole = split.whole;
    split.head.is_none_or(|(i, range)| walk(body, at(addr, i, stride), range.start, range.end, sink))
        && (whole.is_empty()
            || sink.looped(at(addr, whole.start, stride), whole.end - whole.start, stride, body))
        && split.tail.is_none_or(|(i, range)| walk(body, at(addr, i, stride), range.start, range.end, sink))
}

/// The address of item `i` of items `stride` apart.
pub(crate) fn at(addr: usize, i: u64, stride: i64) -> usize {
    addr.wrapping_add((stride as usize).wrapping_mul(i as usize))
}

/// The packed position where entry `i` of a table with these ends begins.
pub(crate) fn begin_of(ends: &Compact, i: usize) -> u64 {
    if i == 0 { 0 } else { ends.get(i - 1) as u64 }
}

/// A byte range over `count` units of equal size: a partial unit, whole units, a partial unit.
struct Split {
    head: Option<(u64, Range<u64>)>,
    whole: Range<u64>,
    tail: Option<(u64, Range<u64>)>,
}

impl Split {
    fn new(from: u64, to: u64, unit: u64, count: u64) -> Split {
        let whole = |range| Split { head: None, whole: range, tail: None };
        if from == 0 && to == unit * count {
            return whole(0..count);
        }
        let (first, skip) = (from / unit, from % unit);
        let (last, keep) = (to / unit, to % unit);
        if skip != 0 && first == last {
            return Split { head: Some((first, skip..keep)), ..whole(0..0) };
        }
        Split {
            head: (skip != 0).then_some((first, skip..unit)),
            whole: first + u64::from(skip != 0)..last,
            tail: (keep != 0).then_some((last, 0..keep)),
        }
    }
}

type Partial = Option<(usize, Range<u64>)>;

/// As [`Split`], over the units of a table of ends.
fn split_table(ends: &Compact, from: u64, to: u64) -> (Partial, Range<usize>, Partial) {
    let len = ends.len();
    let first = if from == 0 { 0 } else { ends.count_not_above(from as i64) };
    let last = if to == begin_of(ends, len) { len } else { ends.count_not_above(to as i64) };
    let skip = from - begin_of(ends, first);
    let keep = to - begin_of(ends, last);
    if skip != 0 && first == last {
        return (Some((first, skip..keep)), 0..0, None);
    }
    let head = (skip != 0).then(|| (first, skip..ends.get(first) as u64 - begin_of(ends, first)));
    let tail = (keep != 0).then_some((last, 0..keep));
    (head, first + usize::from(skip != 0)..last, tail)
}
