//! Arguments of the C interface as Rust values.
//!
//! C hands MPI pointers whose extent only the standard knows. This crate is the one place where they become
//! references, slices and bounded writers, with the checks that can be made (NULL, negative lengths), so that the
//! crates behind it need no `unsafe` for them.
//!
//! # The contract behind every `unsafe fn` here
//!
//! An argument that the MPI caller passed is, as MPI-5.0 sections 2.3 to 2.5 demand, NULL where that is allowed
//! (or by mistake, which is found), or else a pointer to memory that is valid for what the standard says about
//! that argument: readable, writable for OUT and INOUT, of the stated extent, properly aligned, not touched by
//! others until the call returns. The constructors take that promise; the values they make live no longer than
//! the call, except where their documentation says otherwise.

mod array;
mod attribute;
mod call;
mod callback;
pub mod copies;
mod count;
pub mod origin;
mod pointer;
mod symbol;
mod text;

pub use array::{Array, ArrayMut, Weights};
pub use attribute::{Attribute, AttributeOut, Predefined};
pub use call::{Argument, Call, Given, Value};
pub use callback::*;
pub use count::{CountArray, CountMut, Counts};
pub use pointer::{in_ref, length, optional, optional_slice, out, peek, slice, slice_mut};
pub use text::{Argv, Argvs, RootText, StrOut, Strings, TextOut, c_str};
