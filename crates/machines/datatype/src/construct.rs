//! The constructors of derived datatypes (MPI-5.0 sections 5.1.2 to 5.1.8), except arrays.
//!
//! Counts and displacements are `i64` throughout; [`Form`] names which of the two calls was made. Every constructor
//! refuses negative counts and block lengths, and types whose size, displacements or bounds exceed 63 bits. None
//! needs its old types to be committed.

use crate::compact::Ints;
use crate::contents::{Contents, Form};
use crate::datatype::{Datatype, Marks, Parts, Predefined};
use crate::layout::{Layout, OVERFLOW, SeqBuilder, narrow};
use crate::signature::Signature;
use abi::{Error, Result};
use std::sync::Arc;

impl Datatype {
    /// `MPI_Type_contiguous`: `count` items of `old`, an extent apart.
    pub fn contiguous(count: i64, old: &Arc<Datatype>, form: Form) -> Result<Datatype> {
        let n = nonnegative(count, BAD_COUNT)?;
        let contents = Contents::of(abi::COMBINER_CONTIGUOUS, form).count(count)?.datatype(old).done();
        let layout = old.layout().repeated(n, old.extent())?;
        let marks = spread(old.marks(), n, old.extent())?;
        finish(layout, old, n, marks, contents)
    }

    /// `MPI_Type_vector`: `count` blocks of `blocklength` items, `stride` extents of `old` apart.
    pub fn vector(
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_VECTOR, form)
            .count(count)?
            .count(blocklength)?
            .count(stride)?
            .datatype(old)
            .done();
        // With at most one block the stride is never used, whatever its value.
        let bytes = if count > 1 { stride.checked_mul(old.extent()).ok_or(OVERFLOW)? } else { 0 };
        strided(count, blocklength, bytes, old, contents)
    }

    /// `MPI_Type_create_hvector`: as `vector`, with the stride in bytes.
    pub fn hvector(
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_HVECTOR, form)
            .count(count)?
            .count(blocklength)?
            .address(stride)
            .datatype(old)
            .done();
        strided(count, blocklength, stride, old, contents)
    }

    /// `MPI_Type_indexed`: blocks at displacements in extents of `old`. The arrays have one entry per block.
    pub fn indexed(
        blocklengths: Ints<'_>,
        displacements: Ints<'_>,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_INDEXED, form)
            .count(blocklengths.len() as i64)?
            .counts(blocklengths)?
            .counts(displacements)?
            .datatype(old)
            .done();
        blocks(blocklengths, &in_bytes(displacements, old.extent())?, old, contents)
    }

    /// `MPI_Type_create_hindexed`: as `indexed`, with displacements in bytes.
    pub fn hindexed(
        blocklengths: Ints<'_>,
        displacements: Ints<'_>,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_HINDEXED, form)
            .count(blocklengths.len() as i64)?
            .counts(blocklengths)?
            .addresses(displacements)
            .datatype(old)
            .done();
        blocks(blocklengths, &in_bytes(displacements, 1)?, old, contents)
    }

    /// `MPI_Type_create_indexed_block`: blocks of one length at displacements in extents of `old`.
    pub fn indexed_block(
        blocklength: i64,
        displacements: Ints<'_>,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_INDEXED_BLOCK, form)
            .count(displacements.len() as i64)?
            .count(blocklength)?
            .counts(displacements)?
            .datatype(old)
            .done();
        equal_blocks(blocklength, &in_bytes(displacements, old.extent())?, old, contents)
    }

    /// `MPI_Type_create_hindexed_block`: as `indexed_block`, with displacements in bytes.
    pub fn hindexed_block(
        blocklength: i64,
        displacements: Ints<'_>,
        old: &Arc<Datatype>,
        form: Form,
    ) -> Result<Datatype> {
        let contents = Contents::of(abi::COMBINER_HINDEXED_BLOCK, form)
            .count(displacements.len() as i64)?
            .count(blocklength)?
            .addresses(displacements)
            .datatype(old)
            .done();
        equal_blocks(blocklength, &in_bytes(displacements, 1)?, old, contents)
    }

    /// `MPI_Type_create_struct`: blocks of different types at displacements in bytes.
    pub fn create_struct(
        blocklengths: Ints<'_>,
        displacements: Ints<'_>,
        types: &[Arc<Datatype>],
        form: Form,
    ) -> Result<Datatype> {
        if blocklengths.len() != types.len() || displacements.len() != types.len() {
            return Err(UNEQUAL_ARRAYS);
        }
        let contents = Contents::of(abi::COMBINER_STRUCT, form)
            .count(types.len() as i64)?
            .counts(blocklengths)?
            .addresses(displacements)
            .datatypes(types)
            .done();
        // Many programs write an indexed type as a struct of one type.
        if types.len() > 1 && types.iter().all(|old| Arc::ptr_eq(old, &types[0])) {
            return blocks(blocklengths, &in_bytes(displacements, 1)?, &types[0], contents);
        }
        let mut members = SeqBuilder::default();
        let mut signatures = Vec::with_capacity(types.len());
        let mut marks = Marks::NONE;
        let mut align = 1;
        for (i, old) in types.iter().enumerate() {
            let n = nonnegative(blocklengths.get(i), BAD_BLOCK)?;
            if n == 0 {
                continue;
            }
            let displacement = displacements.get(i);
            members.push(&old.layout().repeated(n, old.extent())?.shifted(displacement)?)?;
            signatures.push(old.shared_signature().repeated(n)?);
            marks = union(marks, moved(spread(old.marks(), n, old.extent())?, displacement)?);
            align = align.max(old.align());
        }
        let signature = Signature::concatenated(signatures.into_iter())?;
        let parts = Parts { layout: members.finish()?, signature, marks, align };
        Datatype::build(parts, contents, Predefined::No)
    }

    /// `MPI_Type_create_resized`: the same data with new bounds, in bytes.
    pub fn resized(old: &Arc<Datatype>, lb: i64, extent: i64, form: Form) -> Result<Datatype> {
        let contents =
            Contents::of(abi::COMBINER_RESIZED, form).address(lb).address(extent).datatype(old).done();
        let ub = lb.checked_add(extent).ok_or(OVERFLOW)?;
        finish(Layout::clone(old.layout()), old, 1, Marks::both(lb, ub), contents)
    }

    /// `MPI_Type_dup`: the same type under a new object, committed if `old` is.
    pub fn dup(old: &Arc<Datatype>) -> Datatype {
        let contents = Contents::of(abi::COMBINER_DUP, Form::Classic).datatype(old).done();
        old.alias(contents, Predefined::No)
    }
}

fn strided(
    count: i64,
    blocklength: i64,
    stride: i64,
    old: &Datatype,
    contents: Contents,
) -> Result<Datatype> {
    let n = nonnegative(count, BAD_COUNT)?;
    let len = nonnegative(blocklength, BAD_BLOCK)?;
    let block = Arc::new(old.layout().repeated(len, old.extent())?);
    let marks = spread(spread(old.marks(), len, old.extent())?, n, stride)?;
    let items = n.checked_mul(len).ok_or(OVERFLOW)?;
    finish(block.repeated(n, stride)?, old, items, marks, contents)
}

fn blocks(lens: Ints<'_>, disps: &[i64], old: &Datatype, contents: Contents) -> Result<Datatype> {
    if lens.len() != disps.len() {
        return Err(UNEQUAL_ARRAYS);
    }
    let mut marks = Marks::NONE;
    let mut items = 0u64;
    for (len, &disp) in lens.iter().zip(disps) {
        let len = nonnegative(len, BAD_BLOCK)?;
        items = items.checked_add(len).ok_or(OVERFLOW)?;
        if old.marks() != Marks::NONE {
            marks = union(marks, moved(spread(old.marks(), len, old.extent())?, disp)?);
        }
    }
    let layout = Layout::blocks(disps, lens, old.extent(), old.layout())?;
    finish(layout, old, items, marks, contents)
}

fn equal_blocks(len: i64, disps: &[i64], old: &Datatype, contents: Contents) -> Result<Datatype> {
    let len = nonnegative(len, BAD_BLOCK)?;
    let mut marks = Marks::NONE;
    if old.marks() != Marks::NONE {
        let block = spread(old.marks(), len, old.extent())?;
        for &disp in disps {
            marks = union(marks, moved(block, disp)?);
        }
    }
    let items = len.checked_mul(disps.len() as u64).ok_or(OVERFLOW)?;
    let block = Arc::new(old.layout().repeated(len, old.extent())?);
    finish(Layout::each(disps, &block)?, old, items, marks, contents)
}

/// A type of `items` items of `old`.
pub(crate) fn finish(
    layout: Layout,
    old: &Datatype,
    items: u64,
    marks: Marks,
    contents: Contents,
) -> Result<Datatype> {
    let signature = old.shared_signature().repeated(items)?;
    let align = if items == 0 { 1 } else { old.align() };
    Datatype::build(Parts { layout, signature, marks, align }, contents, Predefined::No)
}

/// Displacements in units of `unit` bytes, in bytes.
fn in_bytes(displacements: Ints<'_>, unit: i64) -> Result<Vec<i64>> {
    displacements.iter().map(|d| d.checked_mul(unit).ok_or(OVERFLOW)).collect()
}

/// Explicit bounds of `count` items `stride` bytes apart.
fn spread(marks: Marks, count: u64, stride: i64) -> Result<Marks> {
    if count == 0 {
        return Ok(Marks::NONE);
    }
    let span = i128::from(stride) * i128::from(count - 1);
    let at = |mark: Option<i64>, by: i128| mark.map(|mark| narrow(i128::from(mark) + by)).transpose();
    Ok(Marks { lower: at(marks.lower, span.min(0))?, upper: at(marks.upper, span.max(0))? })
}

fn moved(marks: Marks, by: i64) -> Result<Marks> {
    let at = |mark: Option<i64>| mark.map(|mark| mark.checked_add(by).ok_or(OVERFLOW)).transpose();
    Ok(Marks { lower: at(marks.lower)?, upper: at(marks.upper)? })
}

fn union(a: Marks, b: Marks) -> Marks {
    let lower = a.lower.into_iter().chain(b.lower).min();
    Marks { lower, upper: a.upper.into_iter().chain(b.upper).max() }
}

pub(crate) fn nonnegative(value: i64, error: Error) -> Result<u64> {
    u64::try_from(value).map_err(|_| error)
}

const BAD_COUNT: Error = Error::new(abi::ERR_COUNT, "the count of a datatype constructor is negative");
const BAD_BLOCK: Error = Error::new(abi::ERR_ARG, "a block length is negative");
const UNEQUAL_ARRAYS: Error =
    Error::new(abi::ERR_ARG, "the arrays of a datatype constructor differ in length");
