//! Times of this host.

/// `CLOCK_MONOTONIC` in nanoseconds: one clock for all processes of a host.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread in nanoseconds.
pub fn thread_time() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds since 1970 (UTC).
pub fn unix_time() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes one `timespec`.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
