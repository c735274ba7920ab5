//! Statuses that procedures of the program fill: those of the C library, of which Fortran has the same bytes.

use abi::Status as Ours;

#[cfg(not(dialect))]
pub use abi::Status;
#[cfg(dialect = "mpich")]
#[path = "../../mpich/src/status.rs"]
mod layout;
#[cfg(dialect = "open-mpi")]
#[path = "../../open-mpi/src/status.rs"]
mod layout;
#[cfg(dialect)]
pub use layout::Status;

/// Has `call` fill a status.
#[cfg(not(dialect))]
pub fn given(ours: &mut Ours, call: impl FnOnce(*mut Status)) {
    call(ours);
}

/// Has `call` fill a status of the dialect.
#[cfg(dialect)]
pub fn given(ours: &mut Ours, call: impl FnOnce(*mut Status)) {
    use dialect::status::{Layout, fill};
    let mut theirs = Status::ZERO;
    fill(&mut theirs, ours);
    call(&raw mut theirs);
    *ours = theirs.ours();
}
