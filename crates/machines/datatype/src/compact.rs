//! Arrays of integers as callers give them and as datatypes keep them: four bytes a value where that suffices.

use std::sync::Arc;

/// An array argument of a constructor: `int` of the classic calls, `MPI_Aint` or `MPI_Count` of the others.
#[derive(Clone, Copy, Debug)]
pub enum Ints<'a> {
    /// `const int []`
    Int(&'a [i32]),
    /// `const MPI_Aint []` or `const MPI_Count []`
    Large(&'a [i64]),
}

impl<'a> From<&'a [i32]> for Ints<'a> {
    fn from(values: &'a [i32]) -> Self {
        Ints::Int(values)
    }
}

impl<'a> From<&'a [i64]> for Ints<'a> {
    fn from(values: &'a [i64]) -> Self {
        Ints::Large(values)
    }
}

impl Ints<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Ints::Int(v) => v.len(),
            Ints::Large(v) => v.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `i`; panics when out of range, as slices do.
    pub fn get(&self, i: usize) -> i64 {
        match self {
            Ints::Int(v) => i64::from(v[i]),
            Ints::Large(v) => v[i],
        }
    }

    /// The values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + Clone + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// An immutable shared array of `i64` that takes four bytes a value when every value fits.
#[derive(Clone, Debug)]
pub(crate) enum Compact {
    Narrow(Arc<[i32]>),
    Wide(Arc<[i64]>),
}

impl Compact {
    pub(crate) fn new(values: impl ExactSizeIterator<Item = i64> + Clone) -> Compact {
        if values.clone().all(|v| i32::try_from(v).is_ok()) {
            Compact::Narrow(values.map(|v| v as i32).collect())
        } else {
            Compact::Wide(values.collect())
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Compact::Narrow(v) => v.len(),
            Compact::Wide(v) => v.len(),
        }
    }

    pub(crate) fn get(&self, i: usize) -> i64 {
        match self {
            Compact::Narrow(v) => i64::from(v[i]),
            Compact::Wide(v) => v[i],
        }
    }

    /// In an ascending array, the number of values not above `limit`.
    pub(crate) fn count_not_above(&self, limit: i64) -> usize {
        match self {
            Compact::Narrow(v) => v.partition_point(|&x| i64::from(x) <= limit),
            Compact::Wide(v) => v.partition_point(|&x| x <= limit),
        }
    }

    pub(crate) fn same(&self, other: &Compact) -> bool {
        match (self, other) {
            (Compact::Narrow(a), Compact::Narrow(b)) => Arc::ptr_eq(a, b),
            (Compact::Wide(a), Compact::Wide(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
