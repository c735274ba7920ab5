//! Where a call comes from: a Fortran program's calls come through `libmpifort_abi`, and its own place is meant.
//!
//! The functions of that library keep a fixed amount of stack at each of their calls. So the distance from our return address
//! to theirs is found once for each place in it, by the unwinder (half a microsecond), and then is a look-up.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The library between Fortran programs and C's functions, by the beginning of its file's name.
const SHIM: &str = "libmpifort_abi.so";

/// Where it lies; an empty range where it is not loaded.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Looks for the libraries that calls come through. Called at the first call of the process.
pub fn find_shims() {
    if let Some(module) = platform::image::library(SHIM) {
        // Relaxed: an entry is asked for after this has returned in the same thread, or for the next call.
        END.store(module.range.end as usize, Ordering::Relaxed);
        BEGIN.store(module.range.start as usize, Ordering::Relaxed);
    }
}

fn is_in_shim(address: usize) -> bool {
    (BEGIN.load(Ordering::Relaxed)..END.load(Ordering::Relaxed)).contains(&address)
}

/// The address that the program's call returns to; `place` is where the wrapper's own return address lies.
pub fn of(place: &usize) -> usize {
    let here = *place;
    if !is_in_shim(here) {
        return here;
    }
    let slot = core::ptr::from_ref(place) as usize;
    if let Some(distance) = DISTANCES.find(here) {
        // SAFETY: the frame of the library's function is as large now as when the distance was found.
        return unsafe { *((slot + distance) as *const usize) };
    }
    let Some(found) = unwind(here) else { return here };
    // Through several functions of the library the distance may differ from call to call.
    if found.frames == 1 && found.slot > slot {
        DISTANCES.insert(here, found.slot - slot);
    }
    found.address
}

/// Distances by return address: open addressing, filled once and never emptied.
struct Distances {
    keys: [AtomicUsize; SIZE],
    values: [AtomicUsize; SIZE],
}

const SIZE: usize = 1024;

static DISTANCES: Distances =
    Distances { keys: [const { AtomicUsize::new(0) }; SIZE], values: [const { AtomicUsize::new(0) }; SIZE] };

impl Distances {
    fn places(key: usize) -> impl Iterator<Item = usize> {
        let first = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        (0..8).map(move |step| (first + step) % SIZE)
    }

    fn find(&self, key: usize) -> Option<usize> {
        let place = Self::places(key).find(|&place| self.keys[place].load(Ordering::Acquire) == key)?;
        // Acquire above: the value was written before its key. Zero: another thread is about to write it.
        Some(self.values[place].load(Ordering::Acquire)).filter(|&value| value != 0)
    }

    /// Keeps a distance, unless its neighbourhood is full.
    fn insert(&self, key: usize, value: usize) {
        for place in Self::places(key) {
            let taken = self.keys[place].compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() || taken == Err(key) {
                return self.values[place].store(value, Ordering::Release);
            }
        }
    }
}

/// The first caller outside of the library.
struct Found {
    /// Frames of the library before it.
    frames: usize,
    /// Where the return address to it lies.
    slot: usize,
    address: usize,
}

struct Walk {
    from: usize,
    frames: usize,
    found: Option<Found>,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, state: *mut c_void)
    -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// Walks up from here to the frame that `from` returns to, and on to the first one outside of the library.
fn unwind(from: usize) -> Option<Found> {
    let mut walk = Walk { from, frames: 0, found: None };
    // SAFETY: `step` gets the address of `walk`, which lives until the call has returned.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.found
}

extern "C" fn step(context: *mut c_void, state: *mut c_void) -> c_int {
    // SAFETY: the unwinder hands on the address of `unwind`'s own value, and its own context.
    let (walk, address, frame) =
        unsafe { (&mut *state.cast::<Walk>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    if walk.frames == 0 && address != walk.from {
        return GO_ON;
    }
    if is_in_shim(address) {
        walk.frames += 1;
        return GO_ON;
    }
    walk.found = Some(Found { frames: walk.frames, slot: frame - size_of::<usize>(), address });
    STOP
}
