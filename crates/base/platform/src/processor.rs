//! The processor that the calling thread is on.

/// Its number, at the time of the call; 0 where the kernel does not say.
pub fn current() -> u32 {
    // SAFETY: takes no arguments and touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}
