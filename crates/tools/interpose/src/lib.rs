//! What tools see of a program's MPI calls: one set of wrappers, made from the function table, serves them all.
//!
//! ```text
//!   program ── MPI_Send ──▶ preload: one entry a function ──▶ each tool's enter ──▶ PMPI_Send of libmpi_abi
//!                                                        ◀── each tool's leave ◀──
//! ```
//!
//! The wrappers stand on MPI's profiling interface (MPI-5.0 section 15.2): a library that is loaded before `libmpi_abi`. So a
//! job without tools pays nothing, and the MPI library knows of none. Calls of Fortran programs come through the C names
//! once; their place is that of the Fortran call ([`Call::site`]). Calls of programs with other ABIs are seen when their
//! arguments are the standard's ([`front_end`]).
//!
//! Here are the functions as data ([`FUNCTIONS`]), a call with its arguments ([`Call`]), and questions to the library that
//! several tools ask ([`ask`]). A tool is a [`Tool`]; the crate `preload` lists them and exports the wrappers.

pub mod ask;
mod call;
mod caller;
pub mod clock;
pub mod front_end;
mod function;
pub mod groups;
mod index;
pub mod messages;
mod real;
pub mod shared;
mod stack;
mod thread;
pub mod waits;

pub use call::{Call, Frame, IN_REGISTERS};
pub use caller::{find_shims, of as place_of_call};
pub use function::{Argument, Direction, FRONT_END_VERSION, FUNCTIONS, Function, Kind, OTHERS, Shape};
pub use index::{Index, key_of_call};
pub use real::Real;
pub use stack::Stack;
pub use thread::thread;

/// A tool over the wrappers.
pub trait Tool: Sync {
    /// Whether the tool is wanted in this process; asked once, at the first call.
    fn begin(&self) -> bool;
    /// Whether it reads statuses: those that the program ignores are written, too.
    fn reads_statuses(&self) -> bool {
        false
    }
    /// Whether standard sends are to wait for their receive.
    fn delays_sends(&self) -> bool {
        false
    }
    /// A call begins. The word comes back in [`Tool::leave`]; where an error handler throws, that is never called.
    fn enter(&self, call: &Call<'_>) -> usize;
    /// The call has ended with this error code.
    fn leave(&self, call: &Call<'_>, word: usize, code: i32);
}
