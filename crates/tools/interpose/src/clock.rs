//! Times of this host.

use std::time::{SystemTime, UNIX_EPOCH};

/// `CLOCK_MONOTONIC` in nanoseconds: one clock for all processes of a host.
pub use platform::clock::nanoseconds as now;

/// Processor time of the calling thread in nanoseconds.
pub fn thread_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds since 1970 (UTC).
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
