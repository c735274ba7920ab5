//! Predefined reduction operations (MPI-5.0 section 6.9.2) on every predefined type they are allowed for,
//! vectorised.
//!
//! [`kernel`] looks up the loop for an operation and a type; keep the result where the same pair is used
//! again. [`reduce`] and [`combine`] look up and run. [`allowed`] states which pairs the standard permits;
//! [`reproducible`] holds sums that do not depend on the order of their terms.
//!
//! Elements are extents apart and may lie at any address. Integers wrap. `MPI_MAX` and `MPI_MIN` of a NaN
//! and a number are the right operand. Sums and products of `long double` use the x87 unit through inline
//! assembly, `REAL*16` integer arithmetic, `REAL*2` goes through `f32`.

mod half;
mod kernel;
mod kind;
mod long_double;
mod number;
mod pair;
#[cfg(target_arch = "x86_64")]
mod pair_wide;
mod quad;
pub mod reproducible;
mod table;

use abi::{Datatype, Error, Op, Result};
pub use kernel::Kernel;
pub use kind::{allowed, allowed_in_accumulate, is_predefined};

/// The kernel for a predefined operation on a predefined type. Fails with `MPI_ERR_TYPE` for a type that is
/// not predefined, with `MPI_ERR_OP` where the operation is not defined on the type.
pub fn kernel(op: Op, ty: Datatype) -> Result<Kernel> {
    let (kind, group) = kind::of(ty).ok_or(NOT_PREDEFINED)?;
    if !kind::accumulates(op, group) {
        return Err(NOT_ALLOWED);
    }
    table::kernel(op, kind).ok_or(NOT_ALLOWED)
}

/// The kernel for a predefined operation on the predefined pairs without name (`MPI_Type_get_value_index`), by the types of
/// value and index: an ordered one and an integer. Fails as [`kernel`].
pub fn pair_kernel(op: Op, value: Datatype, index: Datatype) -> Result<Kernel> {
    let ((value, _), (index, _)) =
        (kind::of(value).ok_or(NOT_PREDEFINED)?, kind::of(index).ok_or(NOT_PREDEFINED)?);
    table::pair_kernel(op, value, index).ok_or(NOT_ALLOWED)
}

/// `inoutvec[i] = invec[i] op inoutvec[i]`, as `MPI_Reduce_local` defines it.
///
/// # Safety
/// `invec` is readable and `inoutvec` writable for `count` elements of `ty`, extents apart; they are equal
/// or do not overlap.
pub unsafe fn reduce(op: Op, ty: Datatype, invec: *const u8, inoutvec: *mut u8, count: usize) -> Result<()> {
    let kernel = kernel(op, ty)?;
    // SAFETY: the caller's promise, with the right operand as the result.
    unsafe { kernel(invec, inoutvec, inoutvec, count) };
    Ok(())
}

/// `out[i] = left[i] op right[i]`, which saves the copy that [`reduce`] would need before it.
///
/// # Safety
/// See [`Kernel`].
pub unsafe fn combine(
    op: Op,
    ty: Datatype,
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) -> Result<()> {
    let kernel = kernel(op, ty)?;
    // SAFETY: the caller's promise.
    unsafe { kernel(left, right, out, count) };
    Ok(())
}

const NOT_PREDEFINED: Error =
    Error::new(abi::ERR_TYPE, "a predefined operation was given a type that is not a predefined one");
const NOT_ALLOWED: Error =
    Error::new(abi::ERR_OP, "the operation is not defined on this datatype (MPI-5.0 section 6.9.2)");
