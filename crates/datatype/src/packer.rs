//! The sink that copies: chooses a kernel for each part of a layout.

use crate::compact::Compact;
use crate::convertor::pointer;
use crate::kernel::{Grid, copy, grid, pairs, transposed, transposes};
use crate::layout::{Layout, Shape};
use crate::tables::{pieces, scatter};
use crate::walk::{Sink, at, begin_of, walk};
use std::ops::Range;

/// A loop body of at most this many blocks is done block by block over many iterations.
const FEW_BLOCKS: u64 = 24;
/// Stream bytes to work on at a time when doing so; stays in the first-level cache.
const TILE: u64 = 8 << 10;
/// Memory that neighbouring blocks share a transfer from.
const CACHE_LINE: u64 = 64;

/// A sink that copies, keeping its place in the packed stream.
pub(crate) struct Packer<const PACK: bool> {
    stream: *mut u8,
}

impl<const PACK: bool> Packer<PACK> {
    /// # Safety
    ///
    /// All memory that the packer is handed must be readable (to pack) or writable (to unpack), and `stream` valid for as
    /// many bytes. The two must not overlap.
    pub(crate) unsafe fn new(stream: *mut u8) -> Self {
        Packer { stream }
    }

    fn advance(&mut self, bytes: u64) {
        self.stream = self.stream.wrapping_add(bytes as usize);
    }

    /// Iterations of two blocks each, both at once. False if there is no kernel for the lengths.
    fn paired(&mut self, iterations: Loop, disps: &Compact, ends: &Compact) -> bool {
        let (first, size) = (ends.get(0) as usize, ends.get(1) as usize);
        let blocks = Grid {
            mem: pointer(iterations.addr.wrapping_add_signed(disps.get(0) as isize)),
            mem_step: iterations.stride as isize,
            stream: self.stream,
            stream_step: size,
            count: iterations.count as usize,
            len: first,
        };
        let second_at = disps.get(1).wrapping_sub(disps.get(0)) as isize;
        // SAFETY: the promise made to `new`.
        let done = unsafe { pairs::<PACK>(blocks, second_at, size - first) };
        if done {
            self.advance(iterations.count * size as u64);
        }
        done
    }

    /// Block number after block number, each over as many iterations as a tile holds.
    ///
    /// ```text
    ///   memory   a b   c | a b   c | a b   c       stream   a b c a b c a b c
    ///   first    ^         ^         ^                      ^     ^     ^
    /// ```
    fn interchanged(
        &mut self,
        iterations: Loop,
        size: u64,
        blocks: impl Iterator<Item = (i64, u64, u64)> + Clone,
    ) {
        let tile = (TILE / size).max(1);
        for first in (0..iterations.count).step_by(tile as usize) {
            let count = tile.min(iterations.count - first) as usize;
            let addr = at(iterations.addr, first, iterations.stride);
            for (disp, offset, len) in blocks.clone() {
                let part = Grid {
                    mem: pointer(addr.wrapping_add_signed(disp as isize)),
                    mem_step: iterations.stride as isize,
                    stream: self.stream.wrapping_add(offset as usize),
                    stream_step: size as usize,
                    count,
                    len: len as usize,
                };
                // SAFETY: the promise made to `new`.
                unsafe { grid::<PACK>(part) };
            }
            self.advance(size * count as u64);
        }
    }
}

/// Whole iterations of a loop.
#[derive(Clone, Copy)]
struct Loop {
    addr: usize,
    count: u64,
    stride: i64,
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
        let blocks = Grid {
            mem: pointer(addr),
            mem_step: stride as isize,
            stream: self.stream,
            stream_step: len as usize,
            count: count as usize,
            len: len as usize,
        };
        // SAFETY: the promise made to `new`.
        unsafe { grid::<PACK>(blocks) };
        self.advance(count * len);
        true
    }

    fn scatter(&mut self, addr: usize, disps: &Compact, range: Range<usize>, len: u64) -> bool {
        let bytes = range.len() as u64 * len;
        // SAFETY: the promise made to `new`.
        unsafe { scatter::<PACK>(pointer(addr), self.stream, disps, range, len as usize) };
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

    fn looped(&mut self, addr: usize, count: u64, stride: i64, body: &Layout) -> bool {
        let iterations = Loop { addr: addr.wrapping_add_signed(body.offset as isize), count, stride };
        let few = |blocks: u64| blocks <= FEW_BLOCKS && count >= 4 && body.size <= TILE / 4;
        match &body.shape {
            &Shape::Strided { count: inner, len, stride: step } if few(inner) => {
                let blocks = (0..inner).map(|i| (step.wrapping_mul(i as i64), i * len, len));
                self.interchanged(iterations, body.size, blocks);
            }
            Shape::Scatter { disps, len } if few(disps.len() as u64) => {
                let blocks = (0..disps.len()).map(|i| (disps.get(i), i as u64 * len, *len));
                self.interchanged(iterations, body.size, blocks);
            }
            Shape::Pieces { disps, ends } if disps.len() == 2 && self.paired(iterations, disps, ends) => {}
            Shape::Pieces { disps, ends } if few(disps.len() as u64) => {
                let blocks = (0..disps.len()).map(|i| {
                    let begin = begin_of(ends, i);
                    (disps.get(i), begin, ends.get(i) as u64 - begin)
                });
                self.interchanged(iterations, body.size, blocks);
            }
            &Shape::Strided { count: inner, len, stride: step }
                if transposes(len)
                    && stride.unsigned_abs() < CACHE_LINE
                    && step.unsigned_abs() >= CACHE_LINE =>
            {
                let column = Grid {
                    mem: pointer(iterations.addr),
                    mem_step: step as isize,
                    stream: self.stream,
                    stream_step: len as usize,
                    count: inner as usize,
                    len: len as usize,
                };
                // SAFETY: the promise made to `new`.
                unsafe { transposed::<PACK>(column, count as usize, stride as isize, body.size as usize) };
                self.advance(body.size * count);
            }
            _ => return (0..count).all(|i| walk(body, at(addr, i, stride), 0, body.size, self)),
        }
        true
    }
}
