//! Arrays whose length only the library knows: one element per process of a communicator, per dimension of a
//! topology, per edge of a graph.

use std::marker::PhantomData;

use abi::{Result, UNWEIGHTED};

use crate::pointer::{slice, slice_mut};

/// An IN array of the caller whose length follows from other arguments.
///
/// It may be NULL where the standard does not look at it (at ranks that are not the root, with `MPI_IN_PLACE`);
/// nothing is read before [`Array::first`].
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, T> {
    pointer: *const T,
    what: &'static str,
    lifetime: PhantomData<&'a [T]>,
}

impl<'a, T> Array<'a, T> {
    /// Takes the pointer; `what` becomes the text of the error should it be NULL when it is needed.
    ///
    /// # Safety
    /// The contract of this crate, for as many elements as the standard defines for the argument. Callers of
    /// [`Array::first`] ask for exactly that many.
    #[inline(always)]
    pub unsafe fn new(pointer: *const T, what: &'static str) -> Array<'a, T> {
        Array { pointer, what, lifetime: PhantomData }
    }

    /// The first `len` elements, `len` being the number that the standard defines for the argument.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for NULL with a length.
    pub fn first(&self, len: usize) -> Result<&'a [T]> {
        // SAFETY: the constructor's promise covers the number of elements that the standard defines.
        unsafe { slice(self.pointer, len, self.what) }
    }
}

/// An OUT array of the caller whose length follows from other arguments.
#[derive(Debug)]
pub struct ArrayMut<'a, T> {
    pointer: *mut T,
    what: &'static str,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<'a, T> ArrayMut<'a, T> {
    /// Takes the pointer; `None` for NULL, which declines the output.
    ///
    /// # Safety
    /// As [`Array::new`], and writable.
    #[inline(always)]
    pub unsafe fn optional(pointer: *mut T, what: &'static str) -> Option<ArrayMut<'a, T>> {
        (!pointer.is_null()).then_some(ArrayMut { pointer, what, lifetime: PhantomData })
    }

    /// The first `len` elements, `len` being the number that the standard defines for the argument.
    ///
    /// # Errors
    /// None for an array made by [`ArrayMut::optional`].
    pub fn first(&mut self, len: usize) -> Result<&mut [T]> {
        // SAFETY: the constructor's promise covers the number of elements that the standard defines; `&mut self`
        // makes this the only slice.
        unsafe { slice_mut(self.pointer, len, self.what) }
    }
}

/// Edge weights of a distributed graph (MPI-5.0 section 8.5.4).
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// `MPI_UNWEIGHTED`: the graph has no weights.
    Unweighted,
    /// One weight per edge; `MPI_WEIGHTS_EMPTY` where there is no edge.
    Given(Array<'a, i32>),
}

impl<'a> Weights<'a> {
    /// Takes the pointer or its magic value.
    ///
    /// # Safety
    /// As [`Array::new`].
    pub unsafe fn new(pointer: *const i32, what: &'static str) -> Weights<'a> {
        match pointer as usize {
            UNWEIGHTED => Weights::Unweighted,
            // SAFETY: passed on to the caller. `MPI_WEIGHTS_EMPTY` comes with no edges, so it is never read.
            _ => Weights::Given(unsafe { Array::new(pointer, what) }),
        }
    }

    /// Weights to be written: `None` when the caller passed `MPI_UNWEIGHTED`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for NULL with a length.
    ///
    /// # Safety
    /// The contract of this crate, for `len` values.
    pub unsafe fn out(pointer: *mut i32, len: usize, what: &'static str) -> Result<Option<&'a mut [i32]>> {
        match pointer as usize {
            UNWEIGHTED => Ok(None),
            // SAFETY: passed on to the caller.
            _ => unsafe { slice_mut(pointer, len, what) }.map(Some),
        }
    }
}
