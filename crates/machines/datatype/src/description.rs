//! A row of items as words that a message can carry, so that another process knows where its bytes lie.
//!
//! The words are the pack program, node by node, parents first. Their reader trusts nothing: the program is built
//! anew by the constructors that build those of datatypes, which check all sizes.

use std::sync::Arc;

use abi::{Error, Result};

use crate::compact::{Compact, Ints};
use crate::layout::{Layout, RunList, SeqBuilder, Shape};
use crate::tiles::Tiles;
use crate::walk::begin_of;

/// Nodes below each other in a description; constructors merge what can be merged, so programs come nowhere near.
const DEEPEST: u32 = 64;

const BAD: Error =
    Error::new(abi::ERR_INTERN, "a description of a datatype by another process makes no sense");

impl Tiles {
    /// The words that describe the row; `None` if they would be more than `most`.
    pub fn describe(&self, most: usize) -> Option<Vec<u64>> {
        let mut words = vec![self.extent() as u64];
        write(self.item(), most, &mut words).then_some(words)
    }

    /// The row that words describe.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN`, `MPI_ERR_ARG`: they describe none.
    pub fn from_description(words: &[u64]) -> Result<Tiles> {
        let mut reader = Reader { words };
        let extent = reader.next()? as i64;
        let item = reader.layout(0)?;
        if !reader.words.is_empty() {
            return Err(BAD);
        }
        Ok(Tiles::of(Arc::new(item), extent))
    }
}

/// Writes a node and those below it; false: too many words.
fn write(layout: &Layout, most: usize, words: &mut Vec<u64>) -> bool {
    let list = |words: &mut Vec<u64>, values: &Compact| {
        words.extend((0..values.len()).map(|i| values.get(i) as u64));
    };
    let lengths = |words: &mut Vec<u64>, ends: &Compact| {
        words.extend((0..ends.len()).map(|i| ends.get(i) as u64 - begin_of(ends, i)));
    };
    let room = |words: &Vec<u64>, more: usize| words.len().saturating_add(more) <= most;
    let offset = layout.offset as u64;
    if !room(words, 5) {
        return false;
    }
    match &layout.shape {
        Shape::Empty => words.push(0),
        Shape::Run => words.extend([1, offset, layout.size]),
        Shape::Strided { count, len, stride } => words.extend([2, offset, *count, *len, *stride as u64]),
        Shape::Scatter { disps, len } => {
            if !room(words, 4 + disps.len()) {
                return false;
            }
            words.extend([3, offset, *len, disps.len() as u64]);
            list(words, disps);
        }
        Shape::Pieces { disps, ends } => {
            if !room(words, 3 + 2 * disps.len()) {
                return false;
            }
            words.extend([4, offset, disps.len() as u64]);
            list(words, disps);
            lengths(words, ends);
        }
        Shape::Loop { count, stride, body } => {
            words.extend([5, offset, *count, *stride as u64]);
            return write(body, most, words);
        }
        Shape::Each { disps, body } => {
            if !room(words, 3 + disps.len()) {
                return false;
            }
            words.extend([6, offset, disps.len() as u64]);
            list(words, disps);
            return write(body, most, words);
        }
        Shape::Blocks { disps, ends, stride, body } => {
            if !room(words, 4 + 2 * disps.len()) {
                return false;
            }
            words.extend([7, offset, *stride as u64, disps.len() as u64]);
            list(words, disps);
            lengths(words, ends);
            return write(body, most, words);
        }
        Shape::Seq { parts, .. } => {
            words.extend([8, offset, parts.len() as u64]);
            return parts.iter().all(|part| write(part, most, words));
        }
    }
    true
}

struct Reader<'a> {
    words: &'a [u64],
}

impl Reader<'_> {
    fn next(&mut self) -> Result<u64> {
        let (&first, rest) = self.words.split_first().ok_or(BAD)?;
        self.words = rest;
        Ok(first)
    }

    fn list(&mut self, count: u64) -> Result<Vec<i64>> {
        let count = usize::try_from(count).ok().filter(|&count| count <= self.words.len()).ok_or(BAD)?;
        let (list, rest) = self.words.split_at(count);
        self.words = rest;
        Ok(list.iter().map(|&word| word as i64).collect())
    }

    fn layout(&mut self, depth: u32) -> Result<Layout> {
        let kind = self.next()?;
        if kind == 0 {
            return Ok(Layout::EMPTY);
        }
        if depth == DEEPEST {
            return Err(BAD);
        }
        let offset = self.next()? as i64;
        let layout = match kind {
            1 => Layout::run(0, self.next()?)?,
            2 => {
                let (count, len, stride) = (self.next()?, self.next()?, self.next()? as i64);
                Arc::new(Layout::run(0, len)?).repeated(count, stride)?
            }
            3 => {
                let (len, count) = (self.next()?, self.next()?);
                Layout::each(&self.list(count)?, &Arc::new(Layout::run(0, len)?))?
            }
            4 => {
                let count = self.next()?;
                let (disps, lens) = (self.list(count)?, self.list(count)?);
                let mut runs = RunList::default();
                for (disp, len) in disps.into_iter().zip(lens) {
                    runs.push(disp, u64::try_from(len).map_err(|_| BAD)?)?;
                }
                runs.finish()?
            }
            5 => {
                let (count, stride) = (self.next()?, self.next()? as i64);
                Arc::new(self.layout(depth + 1)?).repeated(count, stride)?
            }
            6 => {
                let count = self.next()?;
                let disps = self.list(count)?;
                Layout::each(&disps, &Arc::new(self.layout(depth + 1)?))?
            }
            7 => {
                let (stride, count) = (self.next()? as i64, self.next()?);
                let (disps, lens) = (self.list(count)?, self.list(count)?);
                if lens.iter().any(|&len| len < 0) {
                    return Err(BAD);
                }
                let body = Arc::new(self.layout(depth + 1)?);
                Layout::blocks(&disps, Ints::Large(&lens), stride, &body)?
            }
            8 => {
                let mut all = SeqBuilder::default();
                for _ in 0..self.next()? {
                    all.push(&self.layout(depth + 1)?)?;
                }
                all.finish()?
            }
            _ => return Err(BAD),
        };
        layout.shifted(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datatype, Form};

    fn pieces(tiles: &Tiles) -> Vec<(i64, u64)> {
        let mut all: Vec<(i64, u64)> = Vec::new();
        tiles.for_each(0..3 * tiles.size(), |offset, len| {
            match all.last_mut() {
                Some(last) if last.0 + last.1 as i64 == offset => last.1 += len,
                _ => all.push((offset, len)),
            }
            true
        });
        all
    }

    #[test]
    fn rows_come_out_of_their_descriptions() {
        let int = Datatype::predefined(abi::INT32_T).unwrap();
        let classic = Form::Classic;
        let shared = |datatype: Result<Datatype>| Arc::new(datatype.unwrap());
        let vector = shared(Datatype::vector(3, 2, 5, int, classic));
        let irregular = shared(Datatype::indexed_block(1, (&[0, 3, 4, 9, 11, 20][..]).into(), int, classic));
        let unequal =
            shared(Datatype::indexed((&[1, 3, 2][..]).into(), (&[0, 4, 12][..]).into(), int, classic));
        let of_vectors =
            shared(Datatype::indexed((&[1, 2][..]).into(), (&[0, 7][..]).into(), &vector, classic));
        let each = shared(Datatype::indexed_block(1, (&[0, 2, 7, 8][..]).into(), &irregular, classic));
        let all = [int.clone(), irregular.clone(), unequal.clone(), each.clone()];
        let places = [0, 1000, 2000, 3000];
        let structure =
            shared(Datatype::create_struct((&[1, 2, 2, 1][..]).into(), (&places[..]).into(), &all, classic));
        let none = shared(Datatype::contiguous(0, int, classic));
        for datatype in [int.clone(), vector, irregular, unequal, of_vectors, each, structure, none] {
            let tiles = Tiles::new(&datatype);
            let words = tiles.describe(1000).unwrap();
            let back = Tiles::from_description(&words).unwrap();
            assert_eq!((back.size(), back.extent()), (tiles.size(), tiles.extent()));
            assert_eq!(pieces(&back), pieces(&tiles));
            assert_eq!(back.is_ascending(), tiles.is_ascending());
            assert!(tiles.describe(words.len() - 1).is_none() || words.len() < 6);
            for cut in 0..words.len() {
                assert!(Tiles::from_description(&words[..cut]).is_err());
            }
        }
    }

    #[test]
    fn rubbish_describes_nothing_and_breaks_nothing() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut words = [0u64; 12];
            for word in &mut words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *word = if state >> 62 == 0 { state } else { state >> 33 & 15 };
            }
            if let Ok(tiles) = Tiles::from_description(&words) {
                tiles.for_each(0..100, |_, _| true);
                tiles.position_at(50);
            }
        }
    }
}
