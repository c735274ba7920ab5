//! Blocks of different sizes, at places of their own.

use abi::{Address, Count, Datatype};
use coll::shared::PAYLOAD;
use ffi::{CountArray, Counts};
use mem::UserMem;

use super::super::arguments::IN_PLACE;

/// The blocks of a buffer, one for each process, as counts and displacements in elements of a predefined type say.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    buffer: Address,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    /// Bytes of an element.
    size: Count,
}

impl<'a> Parts<'a> {
    /// The blocks of `n` processes, and the bytes of the largest. `None`: they are not plain, or too long for lines.
    #[inline(always)]
    pub fn new(
        buffer: Address,
        counts: CountArray<'a>,
        displacements: CountArray<'a>,
        datatype: Datatype,
        n: usize,
    ) -> Option<(Parts<'a>, u64)> {
        let size = Count::from(datatype::predefined_dense_size(datatype)?);
        let (counts, displacements) = (counts.first(n).ok()?, displacements.first(n).ok()?);
        let mut longest = 0;
        for count in counts.iter() {
            // A negative count becomes a huge length.
            longest = longest.max(count.checked_mul(size)? as u64);
        }
        let near = |place: Count| place.checked_mul(size).is_some();
        let plain = buffer.0 != 0 && buffer != IN_PLACE && longest <= PAYLOAD as u64;
        let plain = plain && displacements.iter().all(near);
        plain.then_some((Parts { buffer, counts, displacements, size }, longest))
    }

    /// The block of a process.
    #[inline(always)]
    pub fn of(&self, member: usize) -> UserMem {
        let offset = self.displacements.get(member).wrapping_mul(self.size) as isize;
        let bytes = self.counts.get(member).wrapping_mul(self.size) as usize;
        crate::memory::of_user(Address(self.buffer.0.wrapping_add_signed(offset)), bytes)
    }
}
