//! Whose a call and a callback are.
//!
//! A program's function is called in the convention, and gets handles, codes and values in the terms, of the front-end that it
//! came through. What differs between front-ends and must outlive a call is one value, the [`Origin`]: operations, error
//! handlers, keys of attributes, generalized requests and data representations keep it with the functions themselves.
//!
//! ```text
//!   MPI_Op_create     function, standard          ── called as it is
//!   MPI_OP_CREATE     function, Fortran's table   ── called by the table's `reduce`, which gets its address
//! ```
//!
//! The standard C interface has no table, so nothing is looked up for it. No code is made at run time: the address of the
//! program's function is an argument of the table's.
//!
//! # Front-ends in libraries of their own
//!
//! Fortran's procedures call the C functions, where a tool sees them. They state the origin of the call that follows beside
//! it: for this thread, and for the call that has one certain place of memory among its arguments ([`state`]). A call that a
//! tool makes in between has other places.

use core::cell::Cell;

use crate::callback::Origin;

thread_local! {
    /// A place among the arguments of the call that follows, and whose call it is.
    static STATED: Cell<(usize, Origin)> = const { Cell::new((0, Origin::STANDARD)) };
}

/// States the origin of the next call of this thread that has `place` among its arguments; 0 takes that back.
pub fn state(place: usize, origin: Origin) {
    STATED.set((place, origin));
}

/// The origin of the call that has `place` among its arguments.
pub fn of_call<T>(place: *const T) -> Origin {
    match STATED.get() {
        (stated, origin) if stated != 0 && stated == place.addr() => origin,
        _ => Origin::STANDARD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::Callers;

    #[test]
    fn a_call_is_known_by_its_place_until_that_is_taken_back() {
        static TABLE: Callers = Callers::STANDARD;
        let (mine, other) = (0_u64, 0_u64);
        state((&raw const mine).addr(), Origin::of(&TABLE));
        assert_eq!(of_call(&raw const other), Origin::STANDARD);
        assert_eq!(of_call(&raw const mine), Origin::of(&TABLE));
        assert_eq!(of_call::<u64>(core::ptr::null()), Origin::STANDARD);
        state(0, Origin::STANDARD);
        assert_eq!(of_call(&raw const mine), Origin::STANDARD);
    }
}
