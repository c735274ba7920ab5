//! Time since the machine started: monotonic, the same for all processes of a node.

use core::time::Duration;

/// A time as the system's calls take it.
pub(crate) fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// Seconds and nanoseconds of `CLOCK_MONOTONIC`, as `(seconds, nanoseconds)`.
fn monotonic() -> (i64, i64) {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the timespec is ours and writable; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    (now.tv_sec, now.tv_nsec)
}

/// The monotonic time in nanoseconds.
pub fn nanoseconds() -> u64 {
    let (seconds, nanoseconds) = monotonic();
    seconds as u64 * 1_000_000_000 + nanoseconds as u64
}

/// Nanoseconds, as of the system's last tick: a few milliseconds old at most, and cheaper.
pub fn tick() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the timespec is ours and writable; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Seconds, for `MPI_Wtime`.
pub fn seconds() -> f64 {
    let (seconds, nanoseconds) = monotonic();
    seconds as f64 + nanoseconds as f64 * 1e-9
}
