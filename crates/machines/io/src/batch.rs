//! Bytes that several views have in one window of a file, written together.
//!
//! ```text
//!   views    a: aa..aa..aa..       b: ..bb....bb
//!   window      aabbaa..aabb       two runs, one hole
//!   file        one call a run: holes are others' bytes, which no process has given, and are not written
//!
//!   views    a: aaaa....aaaa....   b: ....bbbb....bbbb      long pieces
//!   file        one call a run, with the pieces where they are in memory
//! ```

use std::io;
use std::ops::Range;

use mem::PeerBytes;

use crate::access::write_each;
use crate::plan::Cover;
use crate::storage::{Sink, write_fully, write_pieces_fully};
use crate::view::View;

/// What one view brings.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The view.
    pub view: &'a View,
    /// Which of its bytes.
    pub positions: Range<u64>,
    /// The bytes.
    pub bytes: PeerBytes<'a>,
}

/// Pieces of so many bytes, in the mean, are written from where they are: a longer list for the system costs less than
/// a copy.
const WORTH_LISTING: u64 = 2 << 10;
/// Pieces of one part that are shorter, in the mean, are placed in a window first: a driver may write many of one at once.
const WORTH_PLACING: u64 = 256;
/// Pieces this far apart are read and written one by one.
const FAR_APART: u64 = 8 << 10;

/// The places from the first byte of some positions of views to behind the last.
pub fn span_of<'a>(parts: impl Iterator<Item = (&'a View, &'a Range<u64>)>) -> Range<u64> {
    let spans = parts.map(|(view, positions)| view.span(positions)).filter(|span| !span.is_empty());
    spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
}

/// About how many pieces some positions of a view are.
pub fn pieces_of(view: &View, positions: &Range<u64>) -> u64 {
    let (runs, data, _) = view.density();
    1 + (positions.end - positions.start) * runs / data.max(1)
}

/// Whether so many pieces of together `bytes` bytes lie too far apart in `span` to be moved as one.
pub fn is_sparse(span: &Range<u64>, bytes: u64, pieces: u64) -> bool {
    let len = span.end - span.start;
    (len - bytes.min(len)) / pieces.max(1) > FAR_APART
}

/// Memory that writing a batch needs, kept from one to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    window: Vec<u8>,
    cover: Cover,
    pieces: Vec<Listed>,
}

/// A piece of a part.
#[derive(Debug)]
struct Listed {
    /// In the file.
    place: u64,
    len: usize,
    part: usize,
    /// In the part's bytes.
    at: usize,
}

impl Scratch {
    /// Writes some parts; where they overlap, the last one wins. Only their bytes are written, never holes.
    ///
    /// # Errors
    /// The system's; which bytes were written is not known then.
    pub fn write(&mut self, storage: &dyn Sink, parts: &[Part<'_>]) -> io::Result<()> {
        let span = span_of(parts.iter().map(|part| (part.view, &part.positions)));
        let (len, bytes) = (span.end - span.start, parts.iter().map(|part| part.bytes.len() as u64).sum());
        let pieces = parts.iter().map(|part| pieces_of(part.view, &part.positions)).sum();
        match parts {
            [] => return Ok(()),
            [part] if bytes == len => return written(write_fully(storage, part.bytes, span.start)),
            [part] if pieces * WORTH_PLACING <= bytes => return write_alone(storage, part),
            _ if is_sparse(&span, bytes, pieces) => {
                return parts.iter().try_for_each(|part| write_alone(storage, part));
            }
            _ => {}
        }
        if pieces * WORTH_LISTING <= bytes && self.lists(parts) {
            return self.write_listed(storage, parts);
        }
        if self.window.len() < len as usize {
            self.window.try_reserve_exact(len as usize - self.window.len())?;
            self.window.resize(len as usize, 0);
        }
        self.write_runs(storage, parts, &span)
    }

    /// Lists the pieces of all parts where they are in memory, by their places; false if some overlap.
    fn lists(&mut self, parts: &[Part<'_>]) -> bool {
        self.pieces.clear();
        for (index, Part { view, positions, .. }) in parts.iter().enumerate() {
            let mut at = 0;
            view.for_each(positions.clone(), |place, len| {
                self.pieces.push(Listed { place, len: len as usize, part: index, at });
                at += len as usize;
                true
            });
        }
        self.pieces.sort_unstable_by_key(|piece| piece.place);
        self.pieces.windows(2).all(|pair| pair[0].end() <= pair[1].place)
    }

    /// Writes what was listed, each run by itself.
    fn write_listed(&self, storage: &dyn Sink, parts: &[Part<'_>]) -> io::Result<()> {
        let listed = |piece: &Listed| parts[piece.part].bytes.part(piece.at, piece.len);
        let mut runs = self.pieces.chunk_by(|before, piece| before.end() == piece.place);
        runs.try_for_each(|run| {
            let mut pieces: Vec<PeerBytes<'_>> = run.iter().map(listed).collect();
            written(write_pieces_fully(storage, &mut pieces, run[0].place))
        })
    }

    /// Writes the runs of bytes that are there, from one window.
    fn write_runs(&mut self, storage: &dyn Sink, parts: &[Part<'_>], span: &Range<u64>) -> io::Result<()> {
        self.cover(parts, span);
        self.place(parts, span);
        let Scratch { window, cover, .. } = self;
        storage.write_covered(window, cover, span.start)
    }

    fn place(&mut self, parts: &[Part<'_>], span: &Range<u64>) {
        let window = &mut self.window[..(span.end - span.start) as usize];
        for Part { view, positions, bytes } in parts {
            let placed = view.scatter(positions.clone(), *bytes, window, span.start);
            assert!(placed, "the positions lie in the span of all parts");
        }
    }

    /// Marks the bytes of all parts.
    fn cover(&mut self, parts: &[Part<'_>], span: &Range<u64>) {
        self.cover.clear((span.end - span.start) as usize);
        for Part { view, positions, .. } in parts {
            view.for_each(positions.clone(), |place, len| {
                self.cover.mark((place - span.start) as usize, len as usize);
                true
            });
        }
    }
}

impl Listed {
    /// Where it ends in the file.
    fn end(&self) -> u64 {
        self.place + self.len as u64
    }
}

fn write_alone(storage: &dyn Sink, part: &Part<'_>) -> io::Result<()> {
    written(write_each(part.view, storage, part.positions.start, part.bytes))
}

fn written(moved: crate::storage::Moved) -> io::Result<()> {
    moved.error.map_or(Ok(()), Err)
}
