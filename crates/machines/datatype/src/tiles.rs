//! Where the bytes of an endless row of items lie, by number alone: what a view of a file needs (MPI-5.0 section 14.3).
//!
//! ```text
//!   item           |AA..BB..|                       size 4, extent 8
//!   row of items   |AA..BB..|AA..BB..|AA..BB..| …
//!   position        01  23   45  67   89            bytes of the view, without holes
//!   offset          01  45   89  …                  bytes of the file, from the view's displacement on
//! ```
//!
//! A position is found by a descent of the pack program, so nothing is ever flattened. Where offsets ascend, the way
//! back is a binary search over descents.

use std::ops::Range;
use std::sync::Arc;

use mem::{PeerBytes, PeerSpace};

use crate::compact::Compact;
use crate::datatype::Datatype;
use crate::layout::{Layout, Shape};
use crate::packer::Packer;
use crate::walk::{Sink, begin_of, walk};

/// Offsets of a row stay below this: one bit is left for displacements.
const FAR: i128 = 1 << 62;

/// An endless row of items of a datatype.
#[derive(Clone, Debug)]
pub struct Tiles {
    item: Arc<Layout>,
    /// As many of them as 62 bits of offset hold.
    row: Layout,
    extent: i64,
    ascending: bool,
}

/// How the pieces of an item follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Each lies behind those before it.
    Ascending,
    /// None begins before an earlier one, but some share bytes.
    Overlapping,
    /// Some piece begins before an earlier one.
    Descending,
}

impl Tiles {
    /// The row of items of `datatype`, which may be freed.
    pub fn new(datatype: &Datatype) -> Tiles {
        Tiles::of(datatype.layout().clone(), datatype.extent())
    }

    /// The pack program of an item.
    pub(crate) fn item(&self) -> &Layout {
        &self.item
    }

    pub(crate) fn of(item: Arc<Layout>, extent: i64) -> Tiles {
        let span = i128::from(item.hi.unsigned_abs().max(item.lo.unsigned_abs()));
        let by_size = i64::MAX as u64 / item.size.max(1);
        let by_extent = (FAR - span.min(FAR)) / i128::from(extent.unsigned_abs().max(1));
        let count = (by_size as i128).min(by_extent).max(1) as u64;
        // Within these bounds the row fits; a type that does not fit by itself could not be made.
        let row = item.repeated(count, extent).unwrap_or_else(|_| Layout::clone(&item));
        let one_by_one = i128::from(extent) >= i128::from(item.hi) - i128::from(item.lo);
        let ascending = item.is_empty() || (one_by_one && ascends(&item));
        Tiles { item, row, extent, ascending }
    }

    /// How the pieces of one item follow each other.
    pub fn order(&self) -> Order {
        if self.item.is_empty() || ascends(&self.item) {
            return Order::Ascending;
        }
        let (mut order, mut before) = (Order::Ascending, i64::MIN..i64::MIN);
        self.for_each(0..self.item.size, |offset, len| {
            if offset < before.start {
                order = Order::Descending;
            } else if offset < before.end {
                order = Order::Overlapping;
            }
            before = offset..before.end.max(offset + len as i64);
            order != Order::Descending
        });
        order
    }

    /// Bytes of data in one item.
    pub fn size(&self) -> u64 {
        self.item.size
    }

    /// Distance of items in bytes.
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Offset of the first item's lowest byte.
    pub fn lowest(&self) -> i64 {
        self.item.lo
    }

    /// Positions that exist: all below this.
    pub fn positions(&self) -> u64 {
        self.row.size
    }

    /// Whether each byte lies behind all those before it in the view.
    pub fn is_ascending(&self) -> bool {
        self.ascending
    }

    /// Whether all bytes from the first on lie in one run, and where that begins.
    pub fn contiguous(&self) -> Option<i64> {
        matches!(self.row.shape, Shape::Run).then_some(self.row.offset)
    }

    /// Contiguous pieces in one item.
    pub fn runs(&self) -> u64 {
        self.item.runs
    }

    /// The offset of the byte at `position`; `None` where there is none.
    pub fn offset_of(&self, position: u64) -> Option<i64> {
        let mut found = None;
        self.for_each(position..position.checked_add(1)?, |offset, _| {
            found = Some(offset);
            false
        });
        found
    }

    /// The first position whose byte lies at `offset` or behind it, where the offsets of an item ascend: where all
    /// ascend, so many bytes of the view lie below `offset`.
    pub fn position_at(&self, offset: i64) -> u64 {
        if self.item.is_empty() {
            return 0;
        }
        // The first item that ends behind the offset.
        let past = i128::from(offset) - i128::from(self.item.hi);
        let item = if past >= 0 && self.extent > 0 { (past / i128::from(self.extent)) as u64 + 1 } else { 0 };
        let low = item.saturating_mul(self.item.size).min(self.row.size);
        let mut range = low..low.saturating_add(self.item.size).min(self.row.size);
        while range.start < range.end {
            let middle = range.start + (range.end - range.start) / 2;
            match self.offset_of(middle) {
                Some(found) if found < offset => range.start = middle + 1,
                _ => range.end = middle,
            }
        }
        range.start
    }

    /// Gives the pieces at `positions` in order, by offset and length, until `f` returns false. Pieces may touch.
    pub fn for_each(&self, positions: Range<u64>, f: impl FnMut(i64, u64) -> bool) {
        let end = positions.end.min(self.row.size);
        walk(&self.row, 0, positions.start, end, &mut Pieces(f));
    }

    /// Copies the bytes at `positions` from `window`, which holds the file's bytes from offset `at` on, to `stream`.
    /// False: some of them lie outside, offsets do not ascend, or the stream has another length; nothing was copied.
    pub fn gather(&self, positions: Range<u64>, window: &[u8], at: i64, stream: PeerSpace<'_>) -> bool {
        if !self.lies_within(&positions, at, window.len())
            || stream.len() as u64 != positions.end - positions.start
        {
            return false;
        }
        let base = window.as_ptr().expose_provenance().wrapping_sub(at as usize);
        // SAFETY: offsets ascend, and those of the first and the last byte lie in the window, so all do; the stream has
        // the length of the positions. It is a user's buffer or another borrow, the window memory of the library.
        let mut packer = unsafe { Packer::<true>::new(stream.as_mut_ptr(), &self.row, false) };
        walk(&self.row, base, positions.start, positions.end, &mut packer)
    }

    /// The way back: from `stream` to the places in `window`.
    pub fn scatter(&self, positions: Range<u64>, stream: PeerBytes<'_>, window: &mut [u8], at: i64) -> bool {
        if !self.lies_within(&positions, at, window.len())
            || stream.len() as u64 != positions.end - positions.start
        {
            return false;
        }
        let base = window.as_mut_ptr().expose_provenance().wrapping_sub(at as usize);
        // SAFETY: as in `gather`; the window is borrowed exclusively; an unpacking packer only reads from the stream side.
        let mut packer = unsafe { Packer::<false>::new(stream.as_ptr().cast_mut(), &self.row, false) };
        walk(&self.row, base, positions.start, positions.end, &mut packer)
    }

    fn lies_within(&self, positions: &Range<u64>, at: i64, len: usize) -> bool {
        if positions.start >= positions.end {
            return positions.start == positions.end;
        }
        let (Some(first), Some(last)) = (self.offset_of(positions.start), self.offset_of(positions.end - 1))
        else {
            return false;
        };
        self.ascending && first >= at && i128::from(last) < i128::from(at) + len as i128
    }
}

/// Whether each byte of a layout lies behind all those before it in pack order.
fn ascends(layout: &Layout) -> bool {
    let span = |layout: &Layout| i128::from(layout.hi) - i128::from(layout.lo);
    let rises = |disps: &Compact, by: &dyn Fn(usize) -> i128| {
        (1..disps.len()).all(|i| i128::from(disps.get(i)) - i128::from(disps.get(i - 1)) >= by(i - 1))
    };
    match &layout.shape {
        Shape::Empty | Shape::Run => true,
        &Shape::Strided { len, stride, .. } => i128::from(stride) >= i128::from(len),
        Shape::Scatter { disps, len } => rises(disps, &|_| i128::from(*len)),
        Shape::Pieces { disps, ends } => {
            rises(disps, &|i| i128::from(ends.get(i)) - i128::from(begin_of(ends, i)))
        }
        Shape::Loop { stride, body, .. } => i128::from(*stride) >= span(body) && ascends(body),
        Shape::Each { disps, body } => rises(disps, &|_| span(body)) && ascends(body),
        Shape::Blocks { disps, ends, stride, body } => {
            let bodies = |i: usize| i128::from(ends.get(i)) - i128::from(begin_of(ends, i));
            i128::from(*stride) >= span(body)
                && ascends(body)
                && rises(disps, &|i| (bodies(i) - 1) * i128::from(*stride) + span(body))
        }
        Shape::Seq { parts, .. } => {
            parts.windows(2).all(|pair| pair[0].hi <= pair[1].lo) && parts.iter().all(ascends)
        }
    }
}

struct Pieces<F>(F);

impl<F: FnMut(i64, u64) -> bool> Sink for Pieces<F> {
    #[inline]
    fn run(&mut self, addr: usize, len: u64) -> bool {
        (self.0)(addr as i64, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    fn int() -> Arc<Datatype> {
        Datatype::predefined(abi::INT32_T).unwrap().clone()
    }

    fn every_offset(tiles: &Tiles, positions: Range<u64>) -> Vec<i64> {
        let mut all = Vec::new();
        tiles.for_each(positions, |offset, len| {
            all.extend(offset..offset + len as i64);
            true
        });
        all
    }

    #[test]
    fn a_row_of_a_vector_with_a_hole_at_its_end() {
        let vector = Arc::new(Datatype::vector(2, 1, 2, &int(), Form::Classic).unwrap());
        let tiles = Tiles::new(&Datatype::resized(&vector, 0, 16, Form::Classic).unwrap());
        assert!(tiles.is_ascending());
        assert_eq!((tiles.size(), tiles.extent(), tiles.contiguous()), (8, 16, None));
        assert_eq!(every_offset(&tiles, 2..10), [2, 3, 8, 9, 10, 11, 16, 17]);
        for position in 0..100 {
            let offset = tiles.offset_of(position).unwrap();
            assert_eq!(tiles.position_at(offset), position);
        }
        assert_eq!(tiles.position_at(5), 4);
        assert_eq!(tiles.position_at(15), 8);
        assert_eq!(tiles.position_at(16), 8);
    }

    #[test]
    fn items_that_interleave_reach_an_offset_with_the_first_that_ends_behind_it() {
        let column = Arc::new(Datatype::vector(3, 1, 10, &int(), Form::Classic).unwrap());
        let tiles = Tiles::new(&Datatype::resized(&column, 0, 4, Form::Classic).unwrap());
        assert!(!tiles.is_ascending());
        for offset in 0..300 {
            let first = (0..).find(|&position| tiles.offset_of(position).unwrap() >= offset).unwrap();
            assert_eq!(tiles.position_at(offset), first, "{offset}");
        }
    }

    #[test]
    fn offsets_reach_far() {
        let tiles = Tiles::new(&Datatype::resized(&int(), 0, 1 << 40, Form::Classic).unwrap());
        assert_eq!(tiles.offset_of(4 << 20), Some(1 << 60));
        assert_eq!(tiles.position_at((1 << 60) + 2), (4 << 20) + 2);
    }

    #[test]
    fn what_does_not_ascend_is_known() {
        let ascending = |datatype: Datatype| Tiles::new(&datatype).is_ascending();
        let indexed =
            |disps: &[i32]| Datatype::indexed_block(1, disps.into(), &int(), Form::Classic).unwrap();
        assert!(ascending(indexed(&[0, 2, 5])));
        assert!(!ascending(indexed(&[2, 0, 5])));
        assert!(!ascending(indexed(&[0, 0, 5])));
        let wide = Arc::new(indexed(&[0, 7]));
        assert!(!ascending(
            Datatype::contiguous(
                2,
                &Arc::new(Datatype::resized(&wide, 0, 8, Form::Classic).unwrap()),
                Form::Classic
            )
            .unwrap()
        ));
        assert!(ascending(Datatype::contiguous(0, &int(), Form::Classic).unwrap()));
    }

    #[test]
    fn the_order_of_pieces_is_known() {
        let order = |lens: &[i32], disps: &[i32]| {
            let datatype = Datatype::indexed(lens.into(), disps.into(), &int(), Form::Classic).unwrap();
            Tiles::new(&datatype).order()
        };
        assert_eq!(order(&[1, 1, 2], &[0, 1, 5]), Order::Ascending);
        assert_eq!(order(&[1, 1], &[3, 0]), Order::Descending);
        assert_eq!(order(&[3, 1], &[0, 1]), Order::Overlapping);
        assert_eq!(order(&[5, 1, 1], &[0, 1, 4]), Order::Overlapping);
        assert_eq!(order(&[1, 0, 1], &[0, 9, 2]), Order::Ascending);
    }

    #[test]
    fn a_row_of_nothing_has_no_position() {
        let tiles = Tiles::new(&Datatype::contiguous(0, &int(), Form::Classic).unwrap());
        assert_eq!((tiles.positions(), tiles.offset_of(0), tiles.position_at(1000)), (0, None, 0));
    }

    #[test]
    fn windows_are_kept_to() {
        let vector = Arc::new(Datatype::vector(2, 1, 2, &int(), Form::Classic).unwrap());
        let tiles = Tiles::new(&Datatype::resized(&vector, 0, 16, Form::Classic).unwrap());
        let stream: Vec<u8> = (1..=12).collect();
        let mut window = [0u8; 20];
        assert!(tiles.scatter(4..16, PeerBytes::of(&stream), &mut window, 8));
        assert_eq!(window, [1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 9, 10, 11, 12]);
        let mut back = [0u8; 12];
        assert!(tiles.gather(4..16, &window, 8, PeerSpace::of(&mut back)));
        assert_eq!(back, *stream);
        assert!(!tiles.scatter(4..16, PeerBytes::of(&stream), &mut window[..19], 8));
        assert!(!tiles.scatter(4..16, PeerBytes::of(&stream), &mut window, 9));
        assert!(!tiles.scatter(4..15, PeerBytes::of(&stream), &mut window, 8));
    }
}
