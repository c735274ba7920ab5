//! Reduction operations.

use abi::{Error, Result};
use ffi::{UserFunction, UserFunctionC};

use crate::handle::{self, Kind, Objects};

/// A reduction function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// From `MPI_Op_create`.
    Int(UserFunction),
    /// From `MPI_Op_create_c`.
    Large(UserFunctionC),
}

/// An operation as collectives use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One of the standard's.
    Predefined(abi::Op),
    /// A function of the program.
    User { function: Function, commutes: bool },
}

/// Operations made by the program, by handle.
pub struct Ops {
    pub(crate) slab: Objects<Operation>,
}

pub(crate) const INVALID: Error = Error::new(abi::ERR_OP, "the handle names no operation");

impl Ops {
    pub const fn new() -> Ops {
        Ops { slab: Objects::new() }
    }

    pub fn get(&self, handle: abi::Op) -> Result<Operation> {
        if op::is_predefined(handle) {
            return Ok(Operation::Predefined(handle));
        }
        handle::key(Kind::Op, handle.0).and_then(|key| self.slab.get(key)).copied().ok_or(INVALID)
    }
}
