//! For how long calls wait, as the library measures it.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::ask;

/// The library measures.
static MEASURED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the library had measured of this thread when its last call ended.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// Has the library measure for how long calls wait; whether it can. [`crate::Call::waited`] is 0 before.
pub fn measure() -> bool {
    let can = ask::measure_waits();
    MEASURED.store(can, Relaxed);
    can
}

/// Nanoseconds for which this thread has waited since its last call ended: threads wait in calls alone, so it was in the one
/// that ends now. Calls within it, by functions of the program that it called, have taken their part.
#[inline]
pub fn since_last_call() -> u64 {
    if !MEASURED.load(Relaxed) {
        return 0;
    }
    let now = ask::waited();
    now.saturating_sub(SEEN.replace(now))
}
