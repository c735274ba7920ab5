//! The sink that copies: chooses a kernel for each part of a layout.

use crate::compact::Compact;
use crate::convertor::pointer;
use crate::kernel::{Grid, copy, grid, pairs, transposed, transposes};
use crate::layout::{Layout, Shape};
use crate::tables::{pieces, scatter};
use crate::walk::{Sink, at, begin_of, walk};
use std::ops::Range;

/// A repeated body of at most this many blocks is done block by block over many repetitions.
const FEW_BLOCKS: u64 = 24;
/// From this many repetitions on that is worthwhile.
const MANY: u64 = 4;
/// Blocks from which on each repetition of equal blocks at equal steps has a loop of its own.
const LONG_ROW: usize = 8;
/// Stream bytes to work on at a time when doing so; stays in the first-level cache.
const TILE: u64 = 8 << 10;
/// Memory that neighbouring blocks share a transfer from.
const CACHE_LINE: u64 = 64;

/// A sink that copies, keeping its place in the packed stream.
pub(crate) struct Packer<const PACK: bool> {
    stream: *mut u8,
    /// See [`Grid::touched`].
    touched: u64,
    /// See [`Grid::is_last`].
    is_last: bool,
}

impl<const PACK: bool> Packer<PACK> {
    /// # Safety
    ///
    /// For a part of `whole`, the last one or not. All memory that the packer is handed must be readable (to pack) or
    /// writable (to unpack), and `stream` valid for as many bytes. The two must not overlap.
    pub(crate) unsafe fn new(stream: *mut u8, whole: &Layout, is_last: bool) -> Self {
        let lines = whole.runs.saturating_mul(2 * CACHE_LINE);
        Packer { stream, touched: lines.min(whole.hi.wrapping_sub(whole.lo) as u64), is_last }
    }

    fn advance(&mut self, bytes: u64) {
        self.stream = self.stream.wrapping_add(bytes as usize);
    }

    /// One row of blocks at the present place in the stream, where they follow each other.
    fn row(&self, addr: usize, count: u64, len: u64, stride: i64) -> Grid {
        Grid {
            mem: pointer(addr),
            mem_step: stride as isize,
            stream: self.stream,
            stream_step: len as usize,
            count: count as usize,
            len: len as usize,
            rows: 1,
            row_step: 0,
            touched: self.touched,
            is_last: self.is_last,
        }
    }

    /// The body of a loop as a row of a grid, if it is one.
    fn row_of(&self, addr: usize, body: &Layout) -> Option<Grid> {
        let Shape::Strided { count, len, stride } = body.shape else { return None };
        Some(self.row(addr.wrapping_add_signed(body.offset as isize), count, len, stride))
    }

    /// Iterations of two blocks each, both at once. False if there is no kernel for the lengths.
    fn paired(&mut self, addr: usize, count: u64, stride: i64, body: &Layout) -> bool {
        let (first, second) = (Block::of(body, 0), Block::of(body, 1));
        let place = addr.wrapping_add_signed(first.disp as isize);
        let blocks = Grid { stream_step: body.size as usize, ..self.row(place, count, first.len, stride) };
        let second_at = second.disp.wrapping_sub(first.disp) as isize;
        // SAFETY: the promise made to `new`.
        let done = unsafe { pairs::<PACK>(blocks, second_at, second.len as usize) };
        if done {
            self.advance(count * body.size);
        }
        done
    }

    /// Block after block of a loop's body, each over as many iterations as a tile holds.
    ///
    /// ```text
    ///   memory   a b   c | a b   c | a b   c       stream   a b c a b c a b c
    ///   first    ^         ^         ^                      ^     ^     ^
    /// ```
    fn interchanged(&mut self, addr: usize, count: u64, stride: i64, body: &Layout) {
        let tile = TILE / body.size;
        for first in (0..count).step_by(tile as usize) {
            let addr = at(addr, first, stride);
            let count = tile.min(count - first);
            for block in (0..body.runs).map(|i| Block::of(body, i)) {
                let place = addr.wrapping_add_signed(block.disp as isize);
                let part = Grid {
                    stream: self.stream.wrapping_add(block.offset as usize),
                    stream_step: body.size as usize,
                    ..self.row(place, count, block.len, stride)
                };
                // SAFETY: the promise made to `new`.
                unsafe { grid::<PACK>(part) };
            }
            self.advance(body.size * count);
        }
    }

    /// The same for bodies at listed displacements.
    fn listed_by_block(&mut self, addr: usize, disps: &Compact, range: Range<usize>, body: &Layout) {
        let (tile, size) = ((TILE / body.size) as usize, body.size as usize);
        for first in range.clone().step_by(tile) {
            let part = first..range.end.min(first + tile);
            for block in (0..body.runs).map(|i| Block::of(body, i)) {
                let origin = pointer(addr.wrapping_add_signed(block.disp as isize));
                let stream = self.stream.wrapping_add(block.offset as usize);
                // SAFETY: the promise made to `new`.
                unsafe { scatter::<PACK>(origin, stream, size, disps, part.clone(), block.len as usize) };
            }
            self.advance(body.size * part.len() as u64);
        }
    }
}

impl<const PACK: bool> Sink for Packer<PACK> {
    #[inline(never)] // keeps the recursive walk small
    fn run(&mut self, addr: usize, len: u64) -> bool {
        // SAFETY: the promise made to `new`.
        unsafe { copy::<PACK>(pointer(addr), self.stream, len as usize) };
        self.advance(len);
        true
    }

    fn strided(&mut self, addr: usize, count: u64, len: u64, stride: i64) -> bool {
        // SAFETY: the promise made to `new`.
        unsafe { grid::<PACK>(self.row(addr, count, len, stride)) };
        self.advance(count * len);
        true
    }

    fn scatter(&mut self, addr: usize, disps: &Compact, range: Range<usize>, len: u64) -> bool {
        let bytes = range.len() as u64 * len;
        // SAFETY: the promise made to `new`.
        unsafe { scatter::<PACK>(pointer(addr), self.stream, len as usize, disps, range, len as usize) };
        self.advance(bytes);
        true
    }

    fn pieces(&mut self, addr: usize, disps: &Compact, ends: &Compact, range: Range<usize>) -> bool {
        let bytes = begin_of(ends, range.end) - begin_of(ends, range.start);
        // SAFETY: the promise made to `new`.
        unsafe { pieces::<PACK>(pointer(addr), self.stream, disps, ends, range) };
        self.advance(bytes);
        true
    }

    fn listed(&mut self, addr: usize, disps: &Compact, range: Range<usize>, body: &Layout) -> bool {
        if Block::are_few(body, range.len() as u64) {
            self.listed_by_block(addr, disps, range, body);
            return true;
        }
        range.into_iter().all(|i| {
            let place = addr.wrapping_add_signed(disps.get(i) as isize);
            walk(body, place, 0, body.size, self)
        })
    }

    fn looped(&mut self, addr: usize, count: u64, stride: i64, body: &Layout) -> bool {
        let row = self.row_of(addr, body);
        let is_column = row.is_some_and(|row| is_column(&row, stride));
        if let Some(row) = row.filter(|row| row.count >= LONG_ROW && !is_column) {
            // SAFETY: the promise made to `new`.
            unsafe { grid::<PACK>(Grid { rows: count as usize, row_step: stride as isize, ..row }) };
            self.advance(body.size * count);
            return true;
        }
        if Block::are_few(body, count) {
            if body.runs != 2 || !self.paired(addr, count, stride, body) {
                self.interchanged(addr, count, stride, body);
            }
            return true;
        }
        if let Some(column) = row.filter(|_| is_column) {
            // SAFETY: the promise made to `new`.
            unsafe { transposed::<PACK>(column, count as usize, stride as isize, body.size as usize) };
            self.advance(body.size * count);
            return true;
        }
        (0..count).all(|i| walk(body, at(addr, i, stride), 0, body.size, self))
    }
}

/// One block of a small body.
struct Block {
    /// Bytes from the origin of the body.
    disp: i64,
    /// Bytes before it in the body's part of the stream.
    offset: u64,
    /// Length in bytes.
    len: u64,
}

impl Block {
    /// Whether the body consists of few enough blocks for its repetitions to be done block by block.
    fn are_few(body: &Layout, repetitions: u64) -> bool {
        let flat = matches!(body.shape, Shape::Strided { .. } | Shape::Scatter { .. } | Shape::Pieces { .. });
        flat && body.runs <= FEW_BLOCKS && repetitions >= MANY && body.size <= TILE / MANY
    }

    /// Block `i` of a body of which they are few.
    fn of(body: &Layout, i: u64) -> Block {
        let (disp, offset, len) = match &body.shape {
            Shape::Strided { len, stride, .. } => (stride.wrapping_mul(i as i64), i * len, *len),
            Shape::Scatter { disps, len } => (disps.get(i as usize), i * len, *len),
            Shape::Pieces { disps, ends } => {
                let begin = begin_of(ends, i as usize);
                (disps.get(i as usize), begin, ends.get(i as usize) as u64 - begin)
            }
            _ => (0, 0, 0),
        };
        Block { disp: body.offset.wrapping_add(disp), offset, len }
    }
}

/// Whether a row that is repeated at steps of `stride` bytes is a column of an array whose rows are shorter than a cache
/// line.
fn is_column(row: &Grid, stride: i64) -> bool {
    transposes(row.len as u64)
        && stride.unsigned_abs() < CACHE_LINE
        && row.mem_step.unsigned_abs() as u64 >= CACHE_LINE
}
