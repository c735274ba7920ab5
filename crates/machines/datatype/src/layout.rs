//! Pack programs: where the bytes of a datatype lie, in pack order, as a small tree of loops and tables.
//!
//! ```text
//!   vector(3, 2, 4, DOUBLE)          Strided { count 3, len 16, stride 32 }
//!   contiguous(5) of that, resized   Loop { count 5, stride, body: Strided … }
//!   indexed_block, irregular         Scatter { disps, len }
//!   indexed, unequal blocks          Pieces { disps, ends }
//!   struct of such                   Seq [ Pieces …, Loop …, Run … ]
//! ```
//!
//! The smart constructors keep trees canonical as they are built: adjacent runs merge, loops that continue each
//! other merge, tables that are arithmetic progressions become loops (of any depth). So a tree's size depends on how
//! irregular the type is, not on how it was written, and each constructor call costs time in its own arguments only.
//!
//! Every node knows its packed size, hence a byte position is found in a descent from the root: one division per
//! loop, one binary search per table (see `walk`).

use crate::compact::{Compact, Ints};
use abi::{Error, Result};
use std::sync::Arc;

/// A type's displacements or size do not fit in 63 bits.
pub(crate) const OVERFLOW: Error =
    Error::new(abi::ERR_ARG, "the datatype's size, displacements or bounds exceed 63 bits");

/// Regular groups at least this long become loops inside an otherwise irregular table.
const WORTHWHILE_GROUP: usize = 16;
/// A struct member of at most this many runs is spliced into its parent.
const SPLICE_RUNS: u64 = 8;
/// A struct member that is itself a sequence of at most this many parts is spliced into its parent.
const SPLICE_PARTS: usize = 64;

/// Where `size` bytes lie relative to the origin of the datatype (the buffer address), in pack order.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Packed bytes.
    pub size: u64,
    /// Lowest byte touched; 0 when empty.
    pub lo: i64,
    /// One past the highest byte touched; 0 when empty.
    pub hi: i64,
    /// Contiguous pieces, saturating.
    pub runs: u64,
    /// Where the shape's own origin lies.
    pub offset: i64,
    /// What lies there.
    pub shape: Shape,
}

/// The instruction of one node. Displacements are relative to the node's offset.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Nothing.
    Empty,
    /// `size` bytes in a row.
    Run,
    /// `count` blocks of `len` bytes, `stride` apart.
    Strided { count: u64, len: u64, stride: i64 },
    /// Blocks of `len` bytes at each displacement.
    Scatter { disps: Compact, len: u64 },
    /// Blocks of unequal length; `ends[i]` is the packed position after block `i`.
    Pieces { disps: Compact, ends: Compact },
    /// `count` times the body, `stride` apart.
    Loop { count: u64, stride: i64, body: Arc<Layout> },
    /// The body at each displacement.
    Each { disps: Compact, body: Arc<Layout> },
    /// At each displacement a block of bodies, `stride` apart; `ends[i]` counts the bodies up to block `i`.
    Blocks { disps: Compact, ends: Compact, stride: i64, body: Arc<Layout> },
    /// One after the other; `ends[i]` is the packed position after part `i`.
    Seq { parts: Arc<[Layout]>, ends: Compact },
}

impl Layout {
    pub(crate) const EMPTY: Layout =
        Layout { size: 0, lo: 0, hi: 0, runs: 0, offset: 0, shape: Shape::Empty };

    /// `len` bytes from `offset` on.
    pub(crate) fn run(offset: i64, len: u64) -> Result<Layout> {
        if len == 0 {
            return Ok(Layout::EMPTY);
        }
        let hi = i64::try_from(len).ok().and_then(|len| offset.checked_add(len)).ok_or(OVERFLOW)?;
        Ok(Layout { size: len, lo: offset, hi, runs: 1, offset, shape: Shape::Run })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The same bytes `by` further up.
    pub(crate) fn shifted(&self, by: i64) -> Result<Layout> {
        if self.is_empty() {
            return Ok(Layout::EMPTY);
        }
        let lo = self.lo.checked_add(by).ok_or(OVERFLOW)?;
        let hi = self.hi.checked_add(by).ok_or(OVERFLOW)?;
        Ok(Layout { lo, hi, offset: self.offset.wrapping_add(by), ..self.clone() })
    }

    /// `count` times this layout, `stride` bytes apart. Allocates nothing: the convertor calls it per message.
    pub(crate) fn repeated(self: &Arc<Layout>, count: u64, stride: i64) -> Result<Layout> {
        if count == 0 || self.is_empty() {
            return Ok(Layout::EMPTY);
        }
        if count == 1 {
            return Ok(Layout::clone(self));
        }
        let span = i128::from(stride) * i128::from(count - 1);
        let lo = narrow(i128::from(self.lo) + span.min(0))?;
        let hi = narrow(i128::from(self.hi) + span.max(0))?;
        let size = self.size.checked_mul(count).filter(|&s| s <= i64::MAX as u64).ok_or(OVERFLOW)?;
        let continues = |times: u64, step: i64| i128::from(step) * i128::from(times) == i128::from(stride);
        let mut runs = self.runs.saturating_mul(count);
        let mut offset = self.offset;
        let shape = match &self.shape {
            Shape::Run if continues(self.size, 1) => {
                runs = 1;
                Shape::Run
            }
            Shape::Run => Shape::Strided { count, len: self.size, stride },
            &Shape::Strided { count: inner, len, stride: step } if continues(inner, step) => {
                Shape::Strided { count: inner * count, len, stride: step }
            }
            Shape::Loop { count: inner, stride: step, body } if continues(*inner, *step) => {
                Shape::Loop { count: inner * count, stride: *step, body: body.clone() }
            }
            _ => {
                offset = 0;
                Shape::Loop { count, stride, body: self.clone() }
            }
        };
        Ok(Layout { size, lo, hi, runs, offset, shape })
    }

    /// One copy of `body` at each displacement, in that order.
    pub(crate) fn each(disps: &[i64], body: &Arc<Layout>) -> Result<Layout> {
        let (&first, rest) = match disps.split_first() {
            None => return Ok(Layout::EMPTY),
            Some(_) if body.is_empty() => return Ok(Layout::EMPTY),
            Some(split) => split,
        };
        if rest.is_empty() {
            return body.shifted(first);
        }
        if let Some(layout) = regular(disps, body)? {
            return Ok(layout);
        }
        let least = disps.iter().copied().min().unwrap_or(0);
        let most = disps.iter().copied().max().unwrap_or(0);
        let size =
            body.size.checked_mul(disps.len() as u64).filter(|&s| s <= i64::MAX as u64).ok_or(OVERFLOW)?;
        let lo = body.lo.checked_add(least).ok_or(OVERFLOW)?;
        let hi = body.hi.checked_add(most).ok_or(OVERFLOW)?;
        // Displacements are kept relative to the first, which lets blocks far away from the origin (absolute
        // addresses) keep four-byte tables.
        let disps = Compact::new(disps.iter().map(|&d| d.wrapping_sub(first)));
        let runs = body.runs.saturating_mul(disps.len() as u64);
        let (offset, shape) = match body.shape {
            Shape::Run => (first.wrapping_add(body.offset), Shape::Scatter { disps, len: body.size }),
            _ => (first, Shape::Each { disps, body: body.clone() }),
        };
        Ok(Layout { size, lo, hi, runs, offset, shape })
    }

    /// Blocks of bodies `stride` apart: block `i` begins at `disps[i]` and holds `lens[i]` bodies.
    pub(crate) fn blocks(disps: &[i64], lens: Ints<'_>, stride: i64, body: &Arc<Layout>) -> Result<Layout> {
        if body.is_empty() {
            return Ok(Layout::EMPTY);
        }
        if matches!(body.shape, Shape::Run) && u64::try_from(stride) == Ok(body.size) {
            return Layout::dense_blocks(disps, lens, body);
        }
        let filled = || lens.iter().zip(disps.iter().copied()).filter(|&(len, _)| len > 0);
        let Some((first, offset)) = filled().next() else { return Ok(Layout::EMPTY) };
        if filled().all(|(len, _)| len == first) {
            let disps: Vec<i64> = filled().map(|(_, disp)| disp).collect();
            return Layout::each(&disps, &Arc::new(body.repeated(first as u64, stride)?));
        }
        let (mut lo, mut hi, mut bodies) = (i64::MAX, i64::MIN, 0i64);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (len, disp) in filled() {
            let block = body.repeated(len as u64, stride)?.shifted(disp)?;
            lo = lo.min(block.lo);
            hi = hi.max(block.hi);
            bodies = bodies.checked_add(len).ok_or(OVERFLOW)?;
            starts.push(disp.wrapping_sub(offset));
            ends.push(bodies);
        }
        let size = body.size.checked_mul(bodies as u64).filter(|&s| s <= i64::MAX as u64).ok_or(OVERFLOW)?;
        let shape = Shape::Blocks {
            disps: Compact::new(starts.iter().copied()),
            ends: Compact::new(ends.iter().copied()),
            stride,
            body: body.clone(),
        };
        Ok(Layout { size, lo, hi, runs: body.runs.saturating_mul(bodies as u64), offset, shape })
    }

    fn dense_blocks(disps: &[i64], lens: Ints<'_>, body: &Layout) -> Result<Layout> {
        let mut list = RunList::default();
        for (i, &disp) in disps.iter().enumerate() {
            let len = (lens.get(i) as u64).checked_mul(body.size).ok_or(OVERFLOW)?;
            list.push(disp.checked_add(body.offset).ok_or(OVERFLOW)?, len)?;
        }
        list.finish()
    }

    /// Whether two layouts differ in their offset only.
    fn same_shape(&self, other: &Layout) -> bool {
        if self.size != other.size {
            return false;
        }
        match (&self.shape, &other.shape) {
            (Shape::Run, Shape::Run) => true,
            (
                Shape::Strided { count: a, len: b, stride: c },
                Shape::Strided { count: d, len: e, stride: f },
            ) => (a, b, c) == (d, e, f),
            (Shape::Scatter { disps: a, len: b }, Shape::Scatter { disps: c, len: d }) => a.same(c) && b == d,
            (Shape::Pieces { disps: a, ends: b }, Shape::Pieces { disps: c, ends: d }) => {
                a.same(c) && b.same(d)
            }
            (Shape::Loop { count: a, stride: b, body: c }, Shape::Loop { count: d, stride: e, body: f }) => {
                (a, b) == (d, e) && Arc::ptr_eq(c, f)
            }
            _ => false,
        }
    }
}

/// `disps` as nested loops over `body` if it is regular enough, else `None`.
///
/// ```text
///   0 8 16 | 100 108 116 | 200 208 216     groups of an equal progression, whose starts are regular too
/// ```
fn regular(disps: &[i64], body: &Arc<Layout>) -> Result<Option<Layout>> {
    let Some(step) = disps[1].checked_sub(disps[0]) else { return Ok(None) };
    let follows = |pair: &[i64]| pair[1].wrapping_sub(pair[0]) == step;
    let group = 1 + disps.windows(2).take_while(|pair| follows(pair)).count();
    if group == disps.len() {
        return body.repeated(group as u64, step)?.shifted(disps[0]).map(Some);
    }
    let alike =
        disps.len().is_multiple_of(group) && disps.chunks(group).all(|chunk| chunk.windows(2).all(follows));
    if !alike {
        return Ok(None);
    }
    let starts: Vec<i64> = disps.iter().copied().step_by(group).collect();
    let outer = Layout::each(&starts, &Arc::new(body.repeated(group as u64, step)?))?;
    let irregular = matches!(outer.shape, Shape::Scatter { .. } | Shape::Each { .. });
    Ok(if irregular && group < WORTHWHILE_GROUP { None } else { Some(outer) })
}

/// Collects runs in pack order, merging those that continue each other.
#[derive(Default)]
pub(crate) struct RunList {
    runs: Vec<(i64, u64)>,
}

impl RunList {
    pub(crate) fn push(&mut self, offset: i64, len: u64) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        if let Some((last, size)) = self.runs.last_mut()
            && last.checked_add_unsigned(*size) == Some(offset)
        {
            *size = size.checked_add(len).ok_or(OVERFLOW)?;
            return Ok(());
        }
        self.runs.push((offset, len));
        Ok(())
    }

    /// The layout of the runs so far; leaves the list empty.
    pub(crate) fn finish(&mut self) -> Result<Layout> {
        let runs = std::mem::take(&mut self.runs);
        let Some(&(first, len)) = runs.first() else { return Ok(Layout::EMPTY) };
        if runs.iter().all(|run| run.1 == len) {
            let disps: Vec<i64> = runs.iter().map(|run| run.0).collect();
            return Layout::each(&disps, &Arc::new(Layout::run(0, len)?));
        }
        let (mut lo, mut hi, mut size) = (i64::MAX, i64::MIN, 0i64);
        let mut ends = Vec::with_capacity(runs.len());
        for &(offset, len) in &runs {
            let run = Layout::run(offset, len)?;
            lo = lo.min(run.lo);
            hi = hi.max(run.hi);
            size = size.checked_add_unsigned(len).ok_or(OVERFLOW)?;
            ends.push(size);
        }
        let shape = Shape::Pieces {
            disps: Compact::new(runs.iter().map(|run| run.0.wrapping_sub(first))),
            ends: Compact::new(ends.iter().copied()),
        };
        Ok(Layout { size: size as u64, lo, hi, runs: runs.len() as u64, offset: first, shape })
    }
}

/// Builds the layout of a struct from its members in order.
#[derive(Default)]
pub(crate) struct SeqBuilder {
    runs: RunList,
    parts: Vec<Layout>,
}

impl SeqBuilder {
    pub(crate) fn push(&mut self, part: &Layout) -> Result<()> {
        match &part.shape {
            Shape::Empty => Ok(()),
            Shape::Run => self.runs.push(part.offset, part.size),
            Shape::Seq { parts, .. } if parts.len() <= SPLICE_PARTS => {
                parts.iter().try_for_each(|inner| self.push(&inner.shifted(part.offset)?))
            }
            _ if part.runs <= SPLICE_RUNS => self.push_runs(part, 0),
            _ => {
                self.flush()?;
                self.parts.push(part.clone());
                Ok(())
            }
        }
    }

    /// Pushes the few runs of `part`, one by one.
    fn push_runs(&mut self, part: &Layout, origin: i64) -> Result<()> {
        let origin = origin.wrapping_add(part.offset);
        match &part.shape {
            Shape::Empty => Ok(()),
            Shape::Run => self.runs.push(origin, part.size),
            &Shape::Strided { count, len, stride } => (0..count)
                .try_for_each(|i| self.runs.push(origin.wrapping_add(stride.wrapping_mul(i as i64)), len)),
            Shape::Scatter { disps, len } => {
                (0..disps.len()).try_for_each(|i| self.runs.push(origin.wrapping_add(disps.get(i)), *len))
            }
            Shape::Pieces { disps, ends } => (0..disps.len()).try_for_each(|i| {
                let begin = if i == 0 { 0 } else { ends.get(i - 1) };
                self.runs.push(origin.wrapping_add(disps.get(i)), (ends.get(i) - begin) as u64)
            }),
            Shape::Loop { count, stride, body } => (0..*count)
                .try_for_each(|i| self.push_runs(body, origin.wrapping_add(stride.wrapping_mul(i as i64)))),
            Shape::Each { disps, body } => {
                (0..disps.len()).try_for_each(|i| self.push_runs(body, origin.wrapping_add(disps.get(i))))
            }
            Shape::Blocks { disps, ends, stride, body } => (0..disps.len()).try_for_each(|i| {
                let begin = if i == 0 { 0 } else { ends.get(i - 1) };
                let block = origin.wrapping_add(disps.get(i));
                (0..ends.get(i) - begin)
                    .try_for_each(|k| self.push_runs(body, block.wrapping_add(stride.wrapping_mul(k))))
            }),
            Shape::Seq { parts, .. } => parts.iter().try_for_each(|inner| self.push_runs(inner, origin)),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let runs = self.runs.finish()?;
        if !runs.is_empty() {
            self.parts.push(runs);
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Layout> {
        self.flush()?;
        let parts = self.parts;
        let Some(first) = parts.first() else { return Ok(Layout::EMPTY) };
        if parts.len() == 1 {
            return Ok(first.clone());
        }
        if parts.iter().all(|part| part.same_shape(first)) {
            let disps: Vec<i64> = parts.iter().map(|part| part.offset.wrapping_sub(first.offset)).collect();
            return Layout::each(&disps, &Arc::new(first.clone()));
        }
        let mut ends = Vec::with_capacity(parts.len());
        let mut size = 0i64;
        for part in &parts {
            size = size.checked_add_unsigned(part.size).ok_or(OVERFLOW)?;
            ends.push(size);
        }
        Ok(Layout {
            size: size as u64,
            lo: parts.iter().map(|part| part.lo).min().unwrap_or(0),
            hi: parts.iter().map(|part| part.hi).max().unwrap_or(0),
            runs: parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.runs)),
            offset: 0,
            shape: Shape::Seq { parts: parts.into(), ends: Compact::new(ends.iter().copied()) },
        })
    }
}

pub(crate) fn narrow(value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| OVERFLOW)
}
