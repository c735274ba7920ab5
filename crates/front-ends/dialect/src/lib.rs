//! What the front-ends of other libraries' ABIs share.
//!
//! A front-end is a library with the names of another MPI library (`libmpi.so.12`, `libmpi.so.40`). Its entry points are
//! generated (`dialect-table`); here are the way to the engine, and the places for what a standard function gives back until
//! it has the dialect's form.

pub mod callback;
pub mod cxx;
pub mod engine;
pub mod entry;
pub mod extent;
mod generated;
pub mod handle;
pub mod list;
pub mod origin;
pub mod status;
pub mod text;
pub mod value;

/// An address of the program.
pub type P = *mut core::ffi::c_void;
