//! Subarrays and distributed arrays (MPI-5.0 sections 5.1.3 and 5.1.4).
//!
//! Both are one loop per dimension, the fastest varying innermost; contiguous dimensions merge by themselves.

use crate::compact::Ints;
use crate::construct::finish;
use crate::contents::{Contents, Form};
use crate::datatype::{Datatype, Marks};
use crate::layout::{Layout, OVERFLOW, SeqBuilder};
use abi::{Error, Result};
use std::sync::Arc;

impl Datatype {
    /// `MPI_Type_create_subarray`: a box of `subsizes` items at `starts` in an array of `sizes`.
    ///
    /// The bounds are those of the full array. `order` is `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`.
    pub fn subarray(
        sizes: Ints<'_>,
        subsizes: Ints<'_>,
        starts: Ints<'_>,
        order: i32,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let dims = sizes.len();
        if dims == 0 || subsizes.len() != dims || starts.len() != dims {
            return Err(BAD_DIMS);
        }
        let contents = Contents::of(abi::COMBINER_SUBARRAY, form)
            .int(dimensions(dims)?)
            .counts(sizes)?
            .counts(subsizes)?
            .counts(starts)?
            .int(order)
            .datatype(old)
            .done();
        let mut layout = old.layout().clone();
        let mut stride = old.extent();
        let mut items = 1u64;
        for dim in fastest_first(dims, order)? {
            let (size, sub, start) = (sizes.get(dim), subsizes.get(dim), starts.get(dim));
            if size < 1 || sub < 1 || sub > size || start < 0 || start > size - sub {
                return Err(BAD_BOX);
            }
            let first = start.checked_mul(stride).ok_or(OVERFLOW)?;
            layout = Arc::new(layout.repeated(sub as u64, stride)?.shifted(first)?);
            stride = stride.checked_mul(size).ok_or(OVERFLOW)?;
            items = items.checked_mul(sub as u64).ok_or(OVERFLOW)?;
        }
        finish(Arc::unwrap_or_clone(layout), old, items, Marks::both(0, stride), contents)
    }

    /// `MPI_Type_create_darray`: the part of a distributed array that process `rank` of `size` holds.
    ///
    /// The process grid `psizes` is numbered in row-major order, whatever the `order` of the array.
    #[allow(clippy::too_many_arguments)] // the standard's argument list
    pub fn darray(
        size: i32,
        rank: i32,
        gsizes: Ints<'_>,
        distribs: &[i32],
        dargs: &[i32],
        psizes: &[i32],
        order: i32,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let dims = gsizes.len();
        if dims == 0 || distribs.len() != dims || dargs.len() != dims || psizes.len() != dims {
            return Err(BAD_DIMS);
        }
        let contents = Contents::of(abi::COMBINER_DARRAY, form)
            .int(size)
            .int(rank)
            .int(dimensions(dims)?)
            .counts(gsizes)?
            .ints(distribs)
            .ints(dargs)
            .ints(psizes)
            .int(order)
            .datatype(old)
            .done();
        let coords = grid_coordinates(size, rank, psizes)?;
        let mut layout = old.layout().clone();
        let mut stride = old.extent();
        let mut items = 1u64;
        for dim in fastest_first(dims, order)? {
            let global = gsizes.get(dim);
            if global < 1 {
                return Err(BAD_BOX);
            }
            let share = Share::new(global, distribs[dim], dargs[dim], psizes[dim], coords[dim])?;
            items = items.checked_mul(share.items as u64).ok_or(OVERFLOW)?;
            layout = Arc::new(share.layout(&layout, stride)?);
            stride = stride.checked_mul(global).ok_or(OVERFLOW)?;
        }
        finish(Arc::unwrap_or_clone(layout), old, items, Marks::both(0, stride), contents)
    }
}

/// What one process holds of one dimension: blocks of `block` items every `cycle`, `items` in all from `start` on.
struct Share {
    start: i64,
    block: i64,
    cycle: i64,
    items: i64,
}

impl Share {
    fn new(global: i64, distrib: i32, darg: i32, procs: i32, coord: i32) -> Result<Share> {
        let (procs, coord) = (i64::from(procs), i64::from(coord));
        let given = (darg != abi::DISTRIBUTE_DFLT_DARG).then_some(i64::from(darg));
        if given.is_some_and(|darg| darg < 1) && distrib != abi::DISTRIBUTE_NONE {
            return Err(BAD_DARG);
        }
        let block = match distrib {
            abi::DISTRIBUTE_NONE if procs == 1 => global,
            abi::DISTRIBUTE_NONE => return Err(BAD_DISTRIBUTION),
            abi::DISTRIBUTE_BLOCK => {
                let block = given.unwrap_or((global - 1) / procs + 1);
                if i128::from(block) * i128::from(procs) < i128::from(global) {
                    return Err(BAD_DARG);
                }
                block
            }
            abi::DISTRIBUTE_CYCLIC => given.unwrap_or(1),
            _ => return Err(BAD_DISTRIBUTION),
        };
        let start = block.checked_mul(coord).ok_or(OVERFLOW)?;
        let cycle = block.checked_mul(procs).ok_or(OVERFLOW)?;
        let after = (global - start).max(0);
        let items = after / cycle * block + (after % cycle).min(block);
        Ok(Share { start, block, cycle, items })
    }

    /// The share's items, `stride` bytes being one step in this dimension.
    ///
    /// ```text
    ///   |<-start->|<-block->|         |<-block->|         |<-rest
    ///             |<------cycle------>|
    /// ```
    fn layout(&self, item: &Arc<Layout>, stride: i64) -> Result<Layout> {
        let bytes = |steps: i64| steps.checked_mul(stride).ok_or(OVERFLOW);
        if self.items == 0 {
            return Ok(Layout::EMPTY);
        }
        let (full, rest) = (self.items / self.block, self.items % self.block);
        let block = Arc::new(item.repeated(self.block.min(self.items) as u64, stride)?);
        let mut all = SeqBuilder::default();
        if full > 0 {
            let cycle = if full > 1 { bytes(self.cycle)? } else { 0 };
            all.push(&block.repeated(full as u64, cycle)?.shifted(bytes(self.start)?)?)?;
        }
        if rest > 0 {
            let at = self.cycle.checked_mul(full).and_then(|c| c.checked_add(self.start)).ok_or(OVERFLOW)?;
            all.push(&item.repeated(rest as u64, stride)?.shifted(bytes(at)?)?)?;
        }
        all.finish()
    }
}

/// Coordinates of `rank` in a row-major grid.
fn grid_coordinates(size: i32, rank: i32, psizes: &[i32]) -> Result<Vec<i32>> {
    let procs = psizes.iter().try_fold(1i32, |product, &p| product.checked_mul(p).filter(|_| p > 0));
    if procs != Some(size) || rank < 0 || rank >= size {
        return Err(BAD_GRID);
    }
    let mut below = size;
    let mut rest = rank;
    Ok(psizes
        .iter()
        .map(|&p| {
            below /= p;
            let coord = rest / below;
            rest %= below;
            coord
        })
        .collect())
}

/// Dimensions from the fastest varying to the slowest.
fn fastest_first(dims: usize, order: i32) -> Result<Box<dyn Iterator<Item = usize>>> {
    match order {
        abi::ORDER_FORTRAN => Ok(Box::new(0..dims)),
        abi::ORDER_C => Ok(Box::new((0..dims).rev())),
        _ => Err(BAD_ORDER),
    }
}

fn dimensions(dims: usize) -> Result<i32> {
    i32::try_from(dims).map_err(|_| BAD_DIMS)
}

const BAD_DIMS: Error =
    Error::new(abi::ERR_ARG, "an array type needs at least one dimension and arrays of ndims entries");
const BAD_BOX: Error =
    Error::new(abi::ERR_ARG, "a subarray must have positive sizes and lie within the array");
const BAD_ORDER: Error = Error::new(abi::ERR_ARG, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
const BAD_DARG: Error =
    Error::new(abi::ERR_ARG, "a distribution argument is not positive, or too small for the array");
const BAD_DISTRIBUTION: Error =
    Error::new(abi::ERR_ARG, "a distribution is unknown, or MPI_DISTRIBUTE_NONE over more than one process");
const BAD_GRID: Error =
    Error::new(abi::ERR_ARG, "the process grid does not have size processes, or rank is not one of them");
