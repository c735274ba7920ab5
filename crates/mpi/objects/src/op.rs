//! The calls on reduction operations (MPI-5.0 section 6.9).

use abi::{Error, Result};

use crate::domain::Token;
use crate::handle::{self, Kind};
use crate::tables::operations::INVALID;

pub use crate::tables::operations::{Function, Operation};

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
