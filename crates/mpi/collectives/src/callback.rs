//! A reduction by the program's own function.

use std::sync::Arc;

use abi::Address;
use datatype::Datatype;

use objects::domain::Token;
use objects::op::Function;
use objects::types::with_live_handle;

/// A reduction that the program must do, outside the lock.
pub struct Callback {
    /// The composite request that waits for it; `None` in a blocking call.
    pub key: Option<u32>,
    pub function: Function,
    pub left: Address,
    pub inout: Address,
    pub count: u64,
    /// As the program named it when the collective began.
    pub datatype: abi::Datatype,
    /// The type itself, where the program may have freed its handle since. `MPI_Wait` goes on with what was begun as a
    /// blocking call would, so this is not known from the call.
    pub derived: Option<Arc<Datatype>>,
    /// Distance of elements in bytes.
    pub extent: i64,
}

impl Callback {
    pub(super) fn call(&self, t: &mut Token) {
        let Callback { function, left, inout, count, datatype, extent, .. } = *self;
        let call = |t: &mut Token, datatype| call_user(t, function, left, inout, count, datatype, extent);
        match &self.derived {
            Some(derived) => {
                with_live_handle(t, datatype, derived, call).unwrap_or_else(|_| call(t, datatype))
            }
            None => call(t, datatype),
        }
    }
}

/// Calls the program's function: `inout = left op inout`. Takes the token: the function may call MPI.
pub(super) fn call_user(
    _unlocked: &mut Token,
    function: Function,
    left: Address,
    inout: Address,
    count: u64,
    datatype: abi::Datatype,
    extent: i64,
) {
    let mut datatype = datatype;
    match function {
        Function::Large(function) => {
            function.call(left, inout, &mut (count as i64), &mut datatype);
        }
        Function::Int(function) => {
            // A function that counts in int sees a longer vector in pieces.
            let mut done = 0;
            while done < count {
                let piece = (count - done).min(i32::MAX as u64);
                let at = |start: Address| {
                    Address(start.0.wrapping_add_signed((done as i64).wrapping_mul(extent) as isize))
                };
                function.call(at(left), at(inout), &mut (piece as i32), &mut datatype);
                done += piece;
            }
        }
    }
}
