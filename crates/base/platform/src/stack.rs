//! The calling thread's stack.

use std::ffi::{c_int, c_void};

/// Return addresses of the calling thread, the innermost first, `most` at most: as far as the frames of the program can be
/// walked. Takes microseconds, and perhaps the loader's lock; not to be called from a signal handler.
pub fn return_addresses(most: usize) -> Vec<u64> {
    let mut walk = Walk { found: Vec::with_capacity(most), most };
    // SAFETY: the callback gets the pointer that is given here, which lives as long as the call.
    unsafe { _Unwind_Backtrace(next, (&raw mut walk).cast()) };
    walk.found
}

struct Walk {
    found: Vec<u64>,
    most: usize,
}

/// `_URC_NO_REASON`, and any other code ends the walk.
const GO_ON: c_int = 0;
const STOP: c_int = 5;

unsafe extern "C" fn next(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: `return_addresses` passes its walk, which nothing else uses meanwhile.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    // SAFETY: the unwinder's own context, for the time of this call.
    let address = unsafe { _Unwind_GetIP(context) };
    if address == 0 || walk.found.len() == walk.most {
        return STOP;
    }
    walk.found.push(address as u64);
    GO_ON
}

// Every Rust program and library has the unwinder: libgcc_s, which the standard library links.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stack_leads_to_this_function() {
        let frames = super::return_addresses(64);
        let here = super::return_addresses as *const () as u64;
        assert!(frames.len() > 2 && frames.len() <= 64, "{frames:x?}");
        let own = crate::image::module_at(here).unwrap().range;
        assert!(frames.iter().take(3).all(|frame| own.contains(frame)));
        assert_eq!(super::return_addresses(2).len(), 2);
    }
}
