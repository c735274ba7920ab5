//! Counts and displacements of either width: `int` in `MPI_X`, 64 bits in `MPI_X_c`.

use abi::{Count, Result, UNDEFINED};

use crate::Array;

/// Counts whose number is known.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// From the function with `int` counts.
    Narrow(&'a [i32]),
    /// From the large-count function.
    Wide(&'a [i64]),
}

impl<'a> Counts<'a> {
    /// How many there are.
    #[inline(always)]
    pub fn len(self) -> usize {
        match self {
            Counts::Narrow(counts) => counts.len(),
            Counts::Wide(counts) => counts.len(),
        }
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The count at `index`; out of range panics, as a slice does.
    #[inline(always)]
    pub fn get(self, index: usize) -> Count {
        match self {
            Counts::Narrow(counts) => Count::from(counts[index]),
            Counts::Wide(counts) => counts[index],
        }
    }

    /// All of them in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Count> + 'a {
        (0..self.len()).map(move |index| self.get(index))
    }
}

/// Counts whose number only the library knows; see [`Array`].
#[derive(Clone, Copy, Debug)]
pub enum CountArray<'a> {
    /// From the function with `int` counts.
    Narrow(Array<'a, i32>),
    /// From the large-count function.
    Wide(Array<'a, i64>),
}

impl<'a> CountArray<'a> {
    /// The first `len` counts, `len` being the number that the standard defines for the argument.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for NULL with a length.
    pub fn first(&self, len: usize) -> Result<Counts<'a>> {
        Ok(match self {
            CountArray::Narrow(counts) => Counts::Narrow(counts.first(len)?),
            CountArray::Wide(counts) => Counts::Wide(counts.first(len)?),
        })
    }
}

/// A count that is written, or read and written (`position` of `MPI_Pack`).
#[derive(Debug)]
pub enum CountMut<'a> {
    /// From the function with `int` counts.
    Narrow(&'a mut i32),
    /// From the large-count function.
    Wide(&'a mut i64),
}

impl CountMut<'_> {
    /// The value passed in.
    pub fn get(&self) -> Count {
        match self {
            CountMut::Narrow(count) => Count::from(**count),
            CountMut::Wide(count) => **count,
        }
    }

    /// Writes `value`, or `MPI_UNDEFINED` where it does not fit (MPI-5.0 section 5.1.11).
    pub fn set(&mut self, value: Count) {
        match self {
            CountMut::Narrow(count) => **count = i32::try_from(value).unwrap_or(UNDEFINED),
            CountMut::Wide(count) => **count = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_int_is_undefined_only_in_the_narrow_function() {
        let (mut narrow, mut wide) = (0, 0);
        CountMut::Narrow(&mut narrow).set(1 << 31);
        CountMut::Wide(&mut wide).set(1 << 31);
        assert_eq!((narrow, wide), (UNDEFINED, 1 << 31));
    }

    #[test]
    fn both_widths_read_alike() {
        let narrow = Counts::Narrow(&[3, -1]);
        let wide = Counts::Wide(&[3, -1]);
        assert!(narrow.iter().eq(wide.iter()));
    }
}
