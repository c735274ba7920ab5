//! Addresses with a meaning of their own.

use crate::P;

const UNWEIGHTED: usize = 2;
const WEIGHTS_EMPTY: usize = 3;
const ALL_HANDLES: isize = -1;

/// A buffer of a collective call, or one that is attached: `MPI_IN_PLACE` is the same, and there is no automatic buffer.
#[inline(always)]
pub fn buffer(it: P) -> P {
    it
}

/// What a program is given for an automatic buffer, which it cannot have made.
pub const AUTOMATIC: usize = abi::BUFFER_AUTOMATIC;

/// Has the program see the automatic buffer that was detached by its own name.
///
/// # Safety
/// Null, or the program's place with what was detached.
pub unsafe fn detached(place: P) {
    // SAFETY: the caller's promise.
    if !place.is_null() && unsafe { *place.cast::<usize>() } == abi::BUFFER_AUTOMATIC {
        // SAFETY: as above.
        unsafe { *place.cast::<usize>() = AUTOMATIC };
    }
}

/// Whether a buffer is not looked at.
pub fn is_in_place(it: P) -> bool {
    it.addr() == abi::IN_PLACE
}

/// Weights of edges.
pub fn weights(it: P) -> P {
    match it.addr() {
        UNWEIGHTED => abi::UNWEIGHTED as P,
        WEIGHTS_EMPTY => abi::WEIGHTS_EMPTY as P,
        _ => it,
    }
}

/// The handle of a performance variable.
pub fn pvar(it: P) -> P {
    if it.addr() as isize == ALL_HANDLES { abi::T_PVAR_ALL_HANDLES as P } else { it }
}

/// An address that the program reads by name.
#[repr(transparent)]
pub struct Pointer(*const i32);

// SAFETY: the address of a static, never written.
unsafe impl Sync for Pointer {}

static IGNORED: [i32; 6] = [0; 6];

impl Pointer {
    /// To a status that nothing writes.
    pub const fn of_ignored() -> Pointer {
        Pointer(&raw const IGNORED[0])
    }
}
