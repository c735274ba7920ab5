//! A datatype as it is in a file of another data representation (MPI-5.0 section 14.5): the same constructors over
//! basic types of other sizes.
//!
//! Displacements in extents of a type scale with it. Those in bytes stay as they are, since only the program knows what
//! they mean; portable types have none (section 2.6.5).

use std::sync::Arc;

use abi::{Error, Result};

use crate::basic::Basic;
use crate::compact::Ints;
use crate::contents::{Contents, Form};
use crate::datatype::Datatype;

impl Datatype {
    /// The type whose basic types take as many bytes as `size_of` returns.
    ///
    /// # Errors
    /// Those of `size_of`, and `MPI_ERR_ARG` if the type's size, displacements or bounds exceed 63 bits.
    pub fn represented(
        self: &Arc<Datatype>,
        size_of: &mut dyn FnMut(Basic) -> Result<u64>,
    ) -> Result<Arc<Datatype>> {
        let basics = match (self.basic(), self.pair()) {
            (Some(basic), _) => size_of(basic)?,
            (_, Some((value, index))) => {
                size_of(value)?.checked_add(size_of(index)?).ok_or(crate::layout::OVERFLOW)?
            }
            _ => return rebuilt(self.contents(), size_of).map(Arc::new),
        };
        let byte = Datatype::predefined(abi::BYTE).ok_or(UNKNOWN)?;
        let bytes = i64::try_from(basics).map_err(|_| crate::layout::OVERFLOW)?;
        Datatype::contiguous(bytes, byte, Form::Large).map(Arc::new)
    }
}

/// The constructor's arguments, read in the order in which they were recorded.
struct Arguments<'a> {
    contents: &'a Contents,
    integers: usize,
    addresses: usize,
    large: usize,
}

impl Arguments<'_> {
    fn int(&mut self) -> Result<i32> {
        self.integers += 1;
        self.contents.integers.get(self.integers - 1).copied().ok_or(UNKNOWN)
    }

    fn ints(&mut self, count: usize) -> Result<Vec<i32>> {
        (0..count).map(|_| self.int()).collect()
    }

    fn next_large(&mut self) -> Result<i64> {
        self.large += 1;
        self.contents.large_counts.get(self.large - 1).copied().ok_or(UNKNOWN)
    }

    fn count(&mut self) -> Result<i64> {
        if self.contents.large_counts.is_empty() { self.int().map(i64::from) } else { self.next_large() }
    }

    fn counts(&mut self, count: usize) -> Result<Vec<i64>> {
        (0..count).map(|_| self.count()).collect()
    }

    fn address(&mut self) -> Result<i64> {
        if !self.contents.large_counts.is_empty() {
            return self.next_large();
        }
        self.addresses += 1;
        self.contents.addresses.get(self.addresses - 1).copied().ok_or(UNKNOWN)
    }

    fn addresses(&mut self, count: usize) -> Result<Vec<i64>> {
        (0..count).map(|_| self.address()).collect()
    }
}

const UNKNOWN: Error =
    Error::new(abi::ERR_TYPE, "the datatype was made by a constructor that files do not know");

fn rebuilt(contents: &Contents, size_of: &mut dyn FnMut(Basic) -> Result<u64>) -> Result<Datatype> {
    let types: Vec<Arc<Datatype>> =
        contents.datatypes.iter().map(|old| old.represented(size_of)).collect::<Result<_>>()?;
    let mut a = Arguments { contents, integers: 0, addresses: 0, large: 0 };
    let large = Form::Large;
    if contents.combiner == abi::COMBINER_STRUCT {
        let n = a.count()? as usize;
        let (lengths, places) = (a.counts(n)?, a.addresses(n)?);
        return Datatype::create_struct(Ints::Large(&lengths), Ints::Large(&places), &types, large);
    }
    let old = types.first().ok_or(UNKNOWN)?;
    match contents.combiner {
        abi::COMBINER_DUP => Ok(Datatype::dup(old)),
        abi::COMBINER_CONTIGUOUS => Datatype::contiguous(a.count()?, old, large),
        abi::COMBINER_VECTOR => Datatype::vector(a.count()?, a.count()?, a.count()?, old, large),
        abi::COMBINER_HVECTOR => Datatype::hvector(a.count()?, a.count()?, a.address()?, old, large),
        abi::COMBINER_INDEXED => {
            let n = a.count()? as usize;
            let (lengths, places) = (a.counts(n)?, a.counts(n)?);
            Datatype::indexed(Ints::Large(&lengths), Ints::Large(&places), old, large)
        }
        abi::COMBINER_HINDEXED => {
            let n = a.count()? as usize;
            let (lengths, places) = (a.counts(n)?, a.addresses(n)?);
            Datatype::hindexed(Ints::Large(&lengths), Ints::Large(&places), old, large)
        }
        abi::COMBINER_INDEXED_BLOCK => {
            let n = a.count()? as usize;
            let length = a.count()?;
            Datatype::indexed_block(length, Ints::Large(&a.counts(n)?), old, large)
        }
        abi::COMBINER_HINDEXED_BLOCK => {
            let n = a.count()? as usize;
            let length = a.count()?;
            Datatype::hindexed_block(length, Ints::Large(&a.addresses(n)?), old, large)
        }
        abi::COMBINER_SUBARRAY => {
            let n = a.int()? as usize;
            let (sizes, parts, starts) = (a.counts(n)?, a.counts(n)?, a.counts(n)?);
            let (sizes, parts, starts) = (Ints::Large(&sizes), Ints::Large(&parts), Ints::Large(&starts));
            Datatype::subarray(sizes, parts, starts, a.int()?, old, large)
        }
        abi::COMBINER_DARRAY => {
            let (size, rank, n) = (a.int()?, a.int()?, a.int()? as usize);
            let sizes = a.counts(n)?;
            let (distribs, dargs, grid) = (a.ints(n)?, a.ints(n)?, a.ints(n)?);
            let order = a.int()?;
            Datatype::darray(size, rank, Ints::Large(&sizes), &distribs, &dargs, &grid, order, old, large)
        }
        abi::COMBINER_RESIZED => {
            let (lb, extent) = (a.address()?, a.address()?);
            Datatype::resized(old, lb, extent, large)
        }
        _ => Err(UNKNOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displacements_in_extents_scale_and_those_in_bytes_stay() {
        let int = Datatype::predefined(abi::INT32_T).unwrap();
        let long = Datatype::predefined(abi::INT64_T).unwrap();
        let twice = &mut |basic: Basic| Ok(2 * basic.size());
        let vector = Arc::new(Datatype::vector(3, 2, 4, int, Form::Classic).unwrap());
        let there = vector.represented(twice).unwrap();
        assert_eq!((there.size(), there.extent()), (48, 80));
        let bytes = Arc::new(Datatype::hvector(3, 1, 100, int, Form::Large).unwrap());
        let there = bytes.represented(twice).unwrap();
        assert_eq!((there.size(), there.true_extent()), (24, 208));
        let both = Datatype::create_struct(
            Ints::Int(&[1, 2]),
            Ints::Large(&[0, 16]),
            &[int.clone(), long.clone()],
            Form::Classic,
        );
        let there = Arc::new(both.unwrap()).represented(twice).unwrap();
        assert_eq!((there.size(), there.true_extent()), (40, 48));
        let box_of = Datatype::subarray(
            Ints::Int(&[4, 4]),
            Ints::Int(&[2, 2]),
            Ints::Int(&[1, 1]),
            abi::ORDER_C,
            int,
            Form::Classic,
        );
        let there = Arc::new(box_of.unwrap()).represented(twice).unwrap();
        assert_eq!((there.size(), there.extent(), there.true_lb()), (32, 128, 40));
    }
}
