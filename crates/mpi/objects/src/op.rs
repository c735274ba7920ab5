//! Handles of reduction operations (MPI-5.0 section 6.9).

use abi::{Error, Result};
use ffi::{UserFunction, UserFunctionC};

use crate::domain::Token;
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
    slab: Objects<Operation>,
}

const INVALID: Error = Error::new(abi::ERR_OP, "the handle names no operation");

impl Ops {
    pub const fn new() -> Ops {
        Ops { slab: Objects::new() }
    }

    pub fn get(&self, handle: abi::Op) -> Result<Operation> {
        if is_predefined(handle) {
            return Ok(Operation::Predefined(handle));
        }
        handle::key(Kind::Op, handle.0).and_then(|key| self.slab.get(key)).copied().ok_or(INVALID)
    }
}

fn is_predefined(handle: abi::Op) -> bool {
    matches!(
        handle,
        abi::SUM
            | abi::MIN
            | abi::MAX
            | abi::PROD
            | abi::BAND
            | abi::BOR
            | abi::BXOR
            | abi::LAND
            | abi::LOR
            | abi::LXOR
            | abi::MINLOC
            | abi::MAXLOC
            | abi::REPLACE
            | abi::NO_OP
    )
}

/// `MPI_Op_create`, `MPI_Op_create_c`
pub fn create(t: &mut Token, function: Function, commute: i32, op: &mut abi::Op) -> Result<()> {
    let operation = Operation::User { function, commutes: commute != 0 };
    let key = t
        .lock()
        .ops
        .slab
        .insert(operation)
        .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 operations exist"))?;
    *op = abi::Op(handle::make(Kind::Op, key));
    Ok(())
}

/// `MPI_Op_free`: operations in progress have their own copy.
pub fn free(t: &mut Token, op: &mut abi::Op) -> Result<()> {
    let mut state = t.lock();
    handle::key(Kind::Op, op.0).and_then(|key| state.ops.slab.remove(key)).ok_or(INVALID)?;
    *op = abi::OP_NULL;
    Ok(())
}

/// `MPI_Op_commutative`
pub fn commutative(t: &mut Token, op: abi::Op, commute: &mut i32) -> Result<()> {
    *commute = match t.lock().ops.get(op)? {
        Operation::Predefined(op) => i32::from(!matches!(op, abi::REPLACE | abi::NO_OP)),
        Operation::User { commutes, .. } => i32::from(commutes),
    };
    Ok(())
}
