//! Values of attributes: integers in Fortran, pointers in C (MPI-5.0 section 19.3.7).
//!
//! What Fortran has set reads in C as a pointer to the integer. Alhena's C library keeps which language has set a value.
//! Others do not: there each integer that Fortran sets has a place, and a value that is the address of such a place was set by
//! Fortran. There is one place for each number, for the rest of the process: attributes are copied and deleted where this
//! library does not see it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::origin;
use crate::place::P;

#[derive(Default)]
struct Places {
    of_number: HashMap<i64, usize>,
    all: HashSet<usize>,
}

static PLACES: Mutex<Option<Places>> = Mutex::new(None);

fn places() -> MutexGuard<'static, Option<Places>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What C gets for a number of Fortran: its place, whose number C keeps, or a place that stays.
pub fn given(number: &i64) -> P {
    if origin::is_kept() { core::ptr::from_ref(number).cast_mut().cast() } else { keep(*number) }
}

/// The value that C keeps for a number of Fortran.
pub fn keep(number: i64) -> P {
    let mut places = places();
    let Places { of_number, all } = places.get_or_insert_default();
    let place = *of_number.entry(number).or_insert_with(|| {
        let place = core::ptr::from_mut(Box::leak(Box::new(number))).expose_provenance();
        all.insert(place);
        place
    });
    place as P
}

/// The number that a value of C is in Fortran: what Fortran has set, or the address.
pub fn number(value: P) -> i64 {
    let address = value as usize;
    let by_fortran = places().as_ref().is_some_and(|places| places.all.contains(&address));
    match by_fortran {
        // SAFETY: places are never freed.
        true => unsafe { *value.cast::<i64>() },
        false => address as i64,
    }
}

/// The number under a key. Values of predefined keys are pointers to integers in C.
///
/// # Safety
/// The value is what C has answered for the key.
pub unsafe fn read(key: i32, value: P) -> i64 {
    if origin::is_kept() {
        return value as i64;
    }
    match key {
        abi::TAG_UB
        | abi::IO
        | abi::HOST
        | abi::WTIME_IS_GLOBAL
        | abi::APPNUM
        | abi::LASTUSEDCODE
        | abi::UNIVERSE_SIZE
        | abi::WIN_DISP_UNIT
        | abi::WIN_CREATE_FLAVOR
        // SAFETY: the caller's promise.
        | abi::WIN_MODEL => i64::from(unsafe { *value.cast::<i32>() }),
        // SAFETY: as above.
        abi::WIN_SIZE => unsafe { *value.cast::<isize>() as i64 },
        abi::WIN_BASE => value as i64,
        _ => number(value),
    }
}
