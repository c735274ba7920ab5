//! File views (MPI-5.0 section 14.3).

use std::ops::Range;

use abi::{Error, Result};
use datatype::{Datatype, Order, Tiles};
use mem::{PeerBytes, PeerSpace};

/// Which bytes of a file a process sees, in which order. A *position* counts the bytes of the view, an *offset* its
/// etypes, and a *place* the bytes of the file.
#[derive(Clone, Debug)]
pub struct View {
    displacement: u64,
    tiles: Tiles,
    etype_size: u64,
}

impl View {
    /// The view that a file has when it is opened: all of its bytes.
    pub fn of_bytes(byte: &Datatype) -> View {
        View { displacement: 0, tiles: Tiles::new(byte), etype_size: 1 }
    }

    /// A view by types as they are in the file.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`: a displacement below 0, a filetype that is not made of etypes. `MPI_ERR_IO`, as
    /// [`View::check_order`]: one that reaches below its own origin.
    pub fn new(displacement: i64, etype: &Datatype, filetype: &Datatype) -> Result<View> {
        let displacement = u64::try_from(displacement)
            .map_err(|_| Error::new(abi::ERR_ARG, "the displacement of the view is negative"))?;
        let tiles = Tiles::new(filetype);
        let whole = match etype.size() {
            0 => filetype.size() == 0,
            size => filetype.size().is_multiple_of(size),
        };
        if !whole {
            return Err(Error::new(abi::ERR_ARG, "the filetype is not made of whole etypes"));
        }
        if tiles.lowest() < 0 || tiles.extent() < 0 {
            return Err(Error::new(abi::ERR_IO, "a displacement of the filetype is negative"));
        }
        Ok(View { displacement, tiles, etype_size: etype.size() })
    }

    /// Refuses types that section 14.3 of MPI-5.0 does not allow in a view: displacements of both must not descend, and
    /// pieces must not overlap where the file is opened for writing.
    ///
    /// # Errors
    /// `MPI_ERR_IO`. The standard names no class; it is the one that programs expect which were written for ROMIO.
    pub fn check_order(&self, etype: &Datatype, writable: bool) -> Result<()> {
        for order in [Tiles::new(etype).order(), self.tiles.order()] {
            let wrong = match order {
                Order::Ascending => continue,
                Order::Overlapping if !writable => continue,
                Order::Overlapping => {
                    "pieces of the etype or filetype overlap, and the file is opened for writing"
                }
                Order::Descending => "displacements of the etype or filetype descend",
            };
            return Err(Error::new(abi::ERR_IO, wrong));
        }
        Ok(())
    }

    /// Refuses a filetype that cuts its etype: it must be made of whole ones, each with its bytes as far apart as in the
    /// etype (MPI-5.0 section 14.3). Kinds of basic types are not compared: an etype of bytes serves any filetype.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`.
    pub fn check_whole(etype: &Datatype, filetype: &Datatype) -> Result<()> {
        if etype.size() <= 1 || is_built_of(etype, filetype) {
            return Ok(());
        }
        let mut pieces: Vec<(i64, u64)> = Vec::new();
        let whole = Tiles::new(etype);
        whole.for_each(0..whole.size(), |offset, len| {
            match pieces.last_mut() {
                Some(last) if last.0 + last.1 as i64 == offset => last.1 += len,
                _ => pieces.push((offset, len)),
            }
            true
        });
        let mut cut = Cut { pieces: &pieces, index: 0, done: 0, base: 0, whole: true };
        let tiles = Tiles::new(filetype);
        tiles.for_each(0..tiles.size(), |offset, len| cut.take(offset, len));
        match cut.whole && cut.index == 0 && cut.done == 0 {
            true => Ok(()),
            false => {
                Err(Error::new(abi::ERR_ARG, "the filetype cuts its etype: it is not made of whole ones"))
            }
        }
    }

    /// The words by which another process knows where the view's bytes lie; `None` if they would be more than `most`.
    pub fn describe(&self, most: usize) -> Option<Vec<u64>> {
        let mut words = self.tiles.describe(most)?;
        words.push(self.displacement);
        Some(words)
    }

    /// The view that words describe, which counts bytes and not etypes.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN`, `MPI_ERR_ARG`: they describe none.
    pub fn from_description(words: &[u64]) -> Result<View> {
        let bad = Error::new(abi::ERR_INTERN, "a description of a view by another process makes no sense");
        let (&displacement, words) = words.split_last().ok_or(bad)?;
        let tiles = Tiles::from_description(words)?;
        if tiles.lowest() < 0
            || tiles.extent() < 0
            || !tiles.is_ascending()
            || i64::try_from(displacement).is_err()
        {
            return Err(bad);
        }
        Ok(View { displacement, tiles, etype_size: 1 })
    }

    /// Bytes of an etype in the file.
    pub fn etype_size(&self) -> u64 {
        self.etype_size
    }

    /// The position of an offset.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`: below 0, or behind all bytes that a file can have. A view without data has offset 0 only.
    pub fn position_of(&self, offset: i64) -> Result<u64> {
        let behind = Error::new(abi::ERR_ARG, "the offset lies behind the end of the view");
        let offset = u64::try_from(offset).map_err(|_| Error::new(abi::ERR_ARG, "the offset is negative"))?;
        let position = offset.checked_mul(self.etype_size).ok_or(behind)?;
        let exists = position <= self.tiles.positions() && (self.etype_size > 0 || offset == 0);
        if exists { Ok(position) } else { Err(behind) }
    }

    /// Where the view's bytes lie if they are one run, from the first on.
    pub fn contiguous(&self) -> Option<u64> {
        self.tiles.contiguous().map(|offset| self.displacement + offset as u64)
    }

    /// Whether each byte lies behind all those before it in the view.
    pub fn is_ascending(&self) -> bool {
        self.tiles.is_ascending()
    }

    /// The place of the byte at `position`. Behind the last byte of a view, where there is none, the displacement.
    pub fn place_of(&self, position: u64) -> u64 {
        self.displacement + self.tiles.offset_of(position).unwrap_or(0) as u64
    }

    /// How many bytes of the view lie below `place`, where the view ascends.
    pub fn position_at(&self, place: u64) -> u64 {
        let below = place.saturating_sub(self.displacement);
        self.tiles.position_at(i64::try_from(below).unwrap_or(i64::MAX))
    }

    /// How many etypes of the view begin below `place`: the offset that `MPI_SEEK_END` means in a file of so many bytes.
    pub fn offset_at(&self, place: u64) -> i64 {
        match self.etype_size {
            0 => 0,
            size => self.position_at(place).div_ceil(size) as i64,
        }
    }

    /// From the place of the first of some positions to behind that of the last; empty for none.
    pub fn span(&self, positions: &Range<u64>) -> Range<u64> {
        if positions.is_empty() {
            return 0..0;
        }
        if self.tiles.is_ascending() {
            return self.place_of(positions.start)..self.place_of(positions.end - 1) + 1;
        }
        let (mut low, mut high) = (u64::MAX, 0);
        self.for_each(positions.clone(), |place, len| {
            (low, high) = (low.min(place), high.max(place + len));
            true
        });
        low..high
    }

    /// Gives the pieces of the file at some positions, in order, by place and length, until `f` returns false.
    pub fn for_each(&self, positions: Range<u64>, mut f: impl FnMut(u64, u64) -> bool) {
        self.tiles.for_each(positions, |offset, len| f(self.displacement.wrapping_add_signed(offset), len));
    }

    /// Copies the bytes at some positions from `window`, the file's bytes from place `at` on, to a stream of that length.
    pub fn gather(&self, positions: Range<u64>, window: &[u8], at: u64, stream: PeerSpace<'_>) -> bool {
        self.tiles.gather(positions, window, at.wrapping_sub(self.displacement) as i64, stream)
    }

    /// The way back.
    pub fn scatter(&self, positions: Range<u64>, stream: PeerBytes<'_>, window: &mut [u8], at: u64) -> bool {
        self.tiles.scatter(positions, stream, window, at.wrapping_sub(self.displacement) as i64)
    }

    /// Contiguous pieces in an item of the view, and its bytes of data and of file.
    pub fn density(&self) -> (u64, u64, u64) {
        (self.tiles.runs(), self.tiles.size(), self.tiles.extent() as u64)
    }
}

/// Whether a type was built of another one, by whatever constructors: then no look at its pieces is needed.
fn is_built_of(etype: &Datatype, filetype: &Datatype) -> bool {
    let same = |other: &Datatype| {
        std::ptr::eq(etype, other)
            || (etype.named_handle().is_some() && etype.named_handle() == other.named_handle())
    };
    if same(filetype) {
        return true;
    }
    let parts = &filetype.contents().datatypes;
    !parts.is_empty() && parts.iter().all(|part| part.size() == 0 || is_built_of(etype, part))
}

/// Finds out whether the pieces of a filetype, one after the other, are whole etypes.
struct Cut<'a> {
    /// Those of an etype, merged where they touch.
    pieces: &'a [(i64, u64)],
    /// The next byte of an etype: of which piece, and behind how many.
    index: usize,
    done: u64,
    /// Where the present etype has its origin.
    base: i64,
    whole: bool,
}

impl Cut<'_> {
    /// Takes a piece of the filetype; false ends the search.
    fn take(&mut self, mut offset: i64, mut len: u64) -> bool {
        while len > 0 && self.whole {
            let (at, piece) = self.pieces[self.index];
            if (self.index, self.done) == (0, 0) {
                self.base = offset - at;
            }
            self.whole = offset == self.base + at + self.done as i64;
            let many = if self.pieces.len() == 1 && self.done == 0 { len - len % piece } else { 0 };
            let step = many.max(len.min(piece - self.done));
            self.done = if many > 0 { 0 } else { self.done + step };
            if self.done == piece {
                (self.index, self.done) = ((self.index + 1) % self.pieces.len(), 0);
            }
            (offset, len) = (offset + step as i64, len - step);
        }
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datatype::Form;

    use super::*;

    #[test]
    fn a_filetype_is_made_of_whole_etypes() {
        let named = |handle| Datatype::predefined(handle).unwrap().clone();
        let (byte, int, short) = (named(abi::BYTE), named(abi::INT), named(abi::SHORT));
        let blocks = |old: &Arc<Datatype>, length: i64, at: &[i64]| {
            Arc::new(Datatype::hindexed_block(length, at.into(), old, Form::Classic).unwrap())
        };
        let gapped = blocks(&int, 1, &[0, 8]);
        let pair = Arc::new(Datatype::contiguous(2, &int, Form::Classic).unwrap());
        let whole =
            |etype: &Arc<Datatype>, filetype: &Arc<Datatype>| View::check_whole(etype, filetype).is_ok();
        // Built of the etype, whatever its holes.
        assert!(whole(&int, &blocks(&int, 2, &[0, 10])) && whole(&gapped, &blocks(&gapped, 2, &[3, 90])));
        assert!(whole(&int, &int) && whole(&byte, &blocks(&short, 1, &[1, 7])));
        // Of other types, with the bytes in the same places.
        assert!(whole(&int, &blocks(&byte, 4, &[0, 9])) && whole(&int, &blocks(&byte, 8, &[0])));
        assert!(whole(&int, &blocks(&short, 1, &[0, 2])) && whole(&pair, &blocks(&int, 1, &[4, 8])));
        assert!(whole(&gapped, &blocks(&byte, 4, &[2, 10, 14, 22])));
        // Cut, or with the parts at other distances.
        assert!(!whole(&int, &blocks(&byte, 2, &[0, 4])) && !whole(&int, &blocks(&byte, 6, &[0, 9])));
        assert!(!whole(&pair, &blocks(&int, 1, &[0, 8])) && !whole(&gapped, &blocks(&int, 2, &[0])));
        assert!(
            !whole(&gapped, &blocks(&byte, 4, &[2, 10, 14, 23])) && !whole(&int, &blocks(&byte, 1, &[0]))
        );
    }
}
