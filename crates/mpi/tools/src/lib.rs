//! The tool information interface, MPI_T (MPI-5.0 section 15.3).
//!
//! Control variables are the MCA parameters, one for one: index, name, description, scope and verbosity come from
//! the declaration. Performance variables are the counts that the crates keep anyway. A category is a crate, with the
//! parameters, variables and events whose names begin with its name.
//!
//! No function here raises an error; the class of an `Err` is the MPI_T code that the function returns.
#![deny(unsafe_code)]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of the MPI call")]

mod category;
mod cvar;
mod enumeration;
mod event;
mod events;
mod memory;
mod pvar;
mod variables;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use abi::{Error, Result};
use mca::Registry;

use objects::domain::Token;

pub use category::*;
pub use cvar::*;
pub use enumeration::*;
pub use event::*;
pub use events::{COMM_CREATED, COMM_FREED, raise};
pub use pvar::*;

/// All parameters; the index of one is its control variable.
static REGISTRY: LazyLock<Registry> = LazyLock::new(parameters::registry);

/// How often `MPI_T_init_thread` was called more than `MPI_T_finalize`.
static USERS: AtomicU32 = AtomicU32::new(0);

/// `MPI_T_init_thread`: every call counts, and each wants its `MPI_T_finalize`.
pub fn init_thread(_t: &mut Token, required: i32, provided: Option<&mut i32>) -> Result<()> {
    USERS.fetch_add(1, SeqCst);
    if let Some(provided) = provided {
        *provided = required.clamp(abi::THREAD_SINGLE, abi::THREAD_MULTIPLE);
    }
    Ok(())
}

/// `MPI_T_finalize`
pub fn finalize(_t: &mut Token) -> Result<()> {
    USERS.fetch_update(SeqCst, SeqCst, |users| users.checked_sub(1)).map(drop).map_err(|_| CLOSED)
}

const CLOSED: Error = Error::new(abi::T_ERR_NOT_INITIALIZED, "MPI_T_init_thread was not called");
const NO_INDEX: Error = Error::new(abi::T_ERR_INVALID_INDEX, "no variable or category has this index");
const NO_NAME: Error = Error::new(abi::T_ERR_INVALID_NAME, "nothing has this name");
const NO_HANDLE: Error = Error::new(abi::T_ERR_INVALID_HANDLE, "the handle is not one of the tool interface");

/// Every function but the two above needs the interface to be initialised.
fn open() -> Result<()> {
    if USERS.load(SeqCst) == 0 { Err(CLOSED) } else { Ok(()) }
}

/// Writes an output that the caller may have declined.
fn put<T>(place: Option<&mut T>, value: T) {
    if let Some(place) = place {
        *place = value;
    }
}

/// The element that an index argument names.
fn at<T>(elements: &[T], index: i32) -> Result<&T> {
    usize::try_from(index).ok().and_then(|index| elements.get(index)).ok_or(NO_INDEX)
}
