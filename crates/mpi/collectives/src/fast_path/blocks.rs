//! Blocks of different sizes, at places of their own.

use abi::{Address, Count, Datatype};
use coll::exchange::Places;
use ffi::{Array, CountArray, Counts};
use mem::UserMem;

use super::super::arguments::IN_PLACE;

/// The blocks of a buffer, one for each process, of predefined types.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    buffer: Address,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    elements: Elements<'a>,
}

/// What counts and displacements are in.
#[derive(Clone, Copy)]
enum Elements<'a> {
    /// Both in elements of so many bytes.
    Alike(Count),
    /// Counts in elements of a type for each block, displacements in bytes.
    Typed(&'a [Datatype]),
}

impl<'a> Blocks<'a> {
    /// The blocks of `n` processes, and the bytes of the longest. `None`: they are not plain, or one is longer than
    /// `most`.
    #[inline(always)]
    pub fn new(
        buffer: Address,
        (counts, displacements): (CountArray<'a>, CountArray<'a>),
        datatype: Datatype,
        (n, most): (usize, u64),
    ) -> Option<(Blocks<'a>, u64)> {
        let elements = Elements::Alike(Count::from(datatype::predefined_dense_size(datatype)?));
        let (counts, displacements) = (counts.first(n).ok()?, displacements.first(n).ok()?);
        Blocks { buffer, counts, displacements, elements }.checked(most)
    }

    /// As [`Blocks::new`], for blocks with types of their own.
    #[inline(always)]
    pub fn typed(
        buffer: Address,
        (counts, displacements): (CountArray<'a>, CountArray<'a>),
        datatypes: Array<'a, Datatype>,
        (n, most): (usize, u64),
    ) -> Option<(Blocks<'a>, u64)> {
        let elements = Elements::Typed(datatypes.first(n).ok()?);
        let (counts, displacements) = (counts.first(n).ok()?, displacements.first(n).ok()?);
        Blocks { buffer, counts, displacements, elements }.checked(most)
    }

    /// What they are, for longer than the call that names them.
    #[cold]
    pub fn lasting(&self) -> Box<[UserMem]> {
        (0..self.counts.len()).map(|member| self.of(member)).collect()
    }

    #[inline(always)]
    fn checked(self, most: u64) -> Option<(Blocks<'a>, u64)> {
        let mut longest = 0;
        for member in 0..self.counts.len() {
            longest = longest.max(self.place(member)?.1);
        }
        let plain = self.buffer.0 != 0 && self.buffer != IN_PLACE && longest <= most;
        plain.then_some((self, longest))
    }

    /// Where the block of a process begins, and its length; a negative one becomes huge.
    #[inline(always)]
    fn place(&self, member: usize) -> Option<(Count, u64)> {
        let (count, place) = (self.counts.get(member), self.displacements.get(member));
        let (size, unit) = match self.elements {
            Elements::Alike(size) => (size, size),
            Elements::Typed(types) => (Count::from(datatype::predefined_dense_size(types[member])?), 1),
        };
        Some((place.checked_mul(unit)?, count.checked_mul(size)? as u64))
    }
}

impl Places for Blocks<'_> {
    #[inline(always)]
    fn of(&self, member: usize) -> UserMem {
        let (offset, bytes) = self.place(member).unwrap_or_default();
        objects::memory::of_user(Address(self.buffer.0.wrapping_add_signed(offset as isize)), bytes as usize)
    }
}
