//! The functions of the libraries keep a fixed amount of stack at each of their calls. So the distance from our return
//! address to theirs is found once for each place in them, by the unwinder (half a microsecond), and then is a look-up.

use core::ffi::{c_int, c_void};

use super::is_in_shim;
use crate::{Frame, Index};

/// The address that the program's call returns to.
pub fn of(frame: &Frame) -> usize {
    let (mut here, mut slot) = (frame.return_address, &raw const frame.return_address as usize);
    while is_in_shim(here) {
        let Some(distance) = distance(here, slot) else { break };
        slot += distance;
        // SAFETY: the frame of the library's function is as large now as when the distance was found.
        here = unsafe { *(slot as *const usize) };
    }
    here
}

/// From where a return address into a library lies to the return address of the function that it is of.
fn distance(here: usize, slot: usize) -> Option<usize> {
    static DISTANCES: Index<1024> = Index::new();
    DISTANCES.find(here as u64).or_else(|| {
        let found = unwind(here)?.checked_sub(slot).filter(|&distance| distance != 0)?;
        DISTANCES.insert(here as u64, found);
        Some(found)
    })
}

struct Walk {
    from: usize,
    passed: bool,
    found: Option<usize>,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, state: *mut c_void)
    -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// Walks up from here to the frame that `from` returns to; where the return address of that frame lies.
fn unwind(from: usize) -> Option<usize> {
    let mut walk = Walk { from, passed: false, found: None };
    // SAFETY: `step` gets the address of `walk`, which lives until the call has returned.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.found
}

extern "C" fn step(context: *mut c_void, state: *mut c_void) -> c_int {
    // SAFETY: the unwinder hands on the address of `unwind`'s own value, and its own context.
    let (walk, address, frame) =
        unsafe { (&mut *state.cast::<Walk>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    if walk.passed {
        // The frame begins behind the return address that leads to it.
        walk.found = Some(frame - size_of::<usize>());
        return STOP;
    }
    walk.passed = address == walk.from;
    GO_ON
}
