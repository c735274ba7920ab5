//! Pointers to one value, and to as many values as another argument counts.

use abi::{ERR_ARG, Error, Result};

#[cold]
fn null(what: &'static str) -> Error {
    Error::new(ERR_ARG, what)
}

/// An OUT or INOUT argument that must be there.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL; `what` becomes the error's text.
///
/// # Safety
/// The contract of this crate, for one `T`.
#[inline(always)]
pub unsafe fn out<'a, T>(pointer: *mut T, what: &'static str) -> Result<&'a mut T> {
    // SAFETY: NULL is answered by `None`, anything else is valid by the contract.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(what))
}

/// An OUT or INOUT argument that may be NULL, such as a status (`MPI_STATUS_IGNORE`).
///
/// # Safety
/// The contract of this crate, for one `T`.
#[inline(always)]
pub unsafe fn optional<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL is answered by `None`, anything else is valid by the contract.
    unsafe { pointer.as_mut() }
}

/// An IN argument passed by address.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL.
///
/// # Safety
/// The contract of this crate, for one `T`.
#[inline(always)]
pub unsafe fn in_ref<'a, T>(pointer: *const T, what: &'static str) -> Result<&'a T> {
    // SAFETY: NULL is answered by `None`, anything else is valid by the contract.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// The handle at `pointer`, to know on which object an error is raised; `absent` for NULL.
///
/// # Safety
/// The contract of this crate, for one `T`.
#[inline(always)]
pub unsafe fn peek<T: Copy>(pointer: *const T, absent: T) -> T {
    // SAFETY: NULL is answered by `None`, anything else is valid by the contract.
    unsafe { pointer.as_ref() }.copied().unwrap_or(absent)
}

/// A length argument as Rust counts.
///
/// # Errors
/// `class` for a negative length.
#[inline(always)]
pub fn length(length: i64, class: i32, what: &'static str) -> Result<usize> {
    usize::try_from(length).map_err(|_| negative(class, what))
}

#[cold]
fn negative(class: i32, what: &'static str) -> Error {
    Error::new(class, what)
}

/// An IN array of `len` values; NULL only when empty.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL with a length.
///
/// # Safety
/// The contract of this crate, for `len` values.
#[inline(always)]
pub unsafe fn slice<'a, T>(pointer: *const T, len: usize, what: &'static str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL, and valid for `len` values by the contract.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// An OUT or INOUT array of `len` values; NULL only when empty.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL with a length.
///
/// # Safety
/// The contract of this crate, for `len` values.
#[inline(always)]
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, len: usize, what: &'static str) -> Result<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL, and valid for `len` values by the contract.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

/// An OUT array of `len` values that the caller may decline, such as `MPI_STATUSES_IGNORE`.
///
/// # Safety
/// The contract of this crate, for `len` values.
#[inline(always)]
pub unsafe fn optional_slice<'a, T>(pointer: *mut T, len: usize) -> Option<&'a mut [T]> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL, and valid for `len` values by the contract.
    Some(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}
