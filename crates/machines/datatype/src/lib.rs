//! MPI datatypes (MPI-5.0 chapter 5) without communication and without handles.
//!
//! ```text
//!   constructors ──> Datatype ── layout ────> Convertor ──> pack, unpack, runs (iovecs)
//!                       │        (pack program)     └─────> external32
//!                       ├─────── signature ─> elements, hash
//!                       └─────── contents ──> envelope, decoding
//! ```
//!
//! A [`Datatype`] is immutable and shared by reference count. Building one also builds its *pack program*: a small tree
//! of loops and tables that names where the bytes lie in pack order (`layout`), from those of the types it is made of.
//! A [`Convertor`] joins a type, a count and a buffer address into a stream of bytes that can be read or written
//! from any position in pieces of any size, straight into or out of a transport's cells.
//!
//! Source of all rules: MPI-5.0 chapter 5, sections 6.9.4 (pairs), 15.5.2 (external32), 19.1.9 (Fortran kinds).

mod array;
mod basic;
mod codec;
mod compact;
mod construct;
mod contents;
mod convertor;
mod datatype;
mod description;
mod external;
mod kernel;
#[cfg(test)]
mod kernel_tests;
mod layout;
#[cfg(test)]
mod layout_tests;
mod packer;
mod predefined;
mod represented;
mod signature;
mod tables;
mod tiles;
mod walk;

pub use basic::{
    Basic, FIRST_HANDLE, HANDLES, Kind, NAMED_PAIRS, NamedPair, SIZE, predefined_dense_size, predefined_size,
};
pub use compact::Ints;
pub use contents::{Contents, Envelope, Form};
pub use convertor::{Convertor, Run, pack, transfer, unpack};
pub use datatype::{Datatype, as_int, count_of, total_size};
pub use external::{external_size, pack_external, unpack_external, unpack_external_part};
pub use signature::{Signature, Summary};
pub use tiles::{Order, Tiles};
