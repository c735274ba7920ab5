//! Addresses with a meaning of their own.

use crate::P;

/// An address that the program reads by name, and may have a copy of.
#[repr(transparent)]
pub struct Pointer(*const i32);

// SAFETY: the address of a static, never written.
unsafe impl Sync for Pointer {}

impl Pointer {
    /// To a status that nothing writes.
    pub const fn of_ignored() -> Pointer {
        Pointer(&raw const PLACES[3])
    }
}

/// What the addresses point to: each has a place that no array of a program has.
static PLACES: [i32; 8] = [0; 8];

macro_rules! pointers {
    ($($name:ident = $at:literal;)*) => { $(
        #[unsafe(no_mangle)]
        #[used]
        pub static $name: Pointer = Pointer(&raw const PLACES[$at]);
    )* };
}

pointers! {
    MPI_UNWEIGHTED = 0;
    MPI_WEIGHTS_EMPTY = 1;
    MPI_T_PVAR_ALL_HANDLES = 2;
}

const IN_PLACE: isize = -1;
const BUFFER_AUTOMATIC: isize = -2;

/// A buffer of a collective call, or one that is attached.
#[inline(always)]
pub fn buffer(it: P) -> P {
    match it as isize {
        IN_PLACE => abi::IN_PLACE as P,
        BUFFER_AUTOMATIC => abi::BUFFER_AUTOMATIC as P,
        _ => it,
    }
}

/// The address that a program of this ABI knows as our `MPI_BUFFER_AUTOMATIC`.
pub const AUTOMATIC: usize = BUFFER_AUTOMATIC as usize;

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
    it as isize == IN_PLACE
}

/// Weights of edges.
pub fn weights(it: P) -> P {
    let is = |at: usize| core::ptr::eq(it.cast(), &raw const PLACES[at]);
    if is(0) {
        abi::UNWEIGHTED as P
    } else if is(1) {
        abi::WEIGHTS_EMPTY as P
    } else {
        it
    }
}

/// The handle of a performance variable.
pub fn pvar(it: P) -> P {
    if core::ptr::eq(it.cast(), &raw const PLACES[2]) { abi::T_PVAR_ALL_HANDLES as P } else { it }
}
