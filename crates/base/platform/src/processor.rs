//! Processors: the one that the calling thread is on, and those that it may use.

/// The number of the processor that the thread is on, at the time of the call; 0 where the kernel does not say.
pub fn current() -> u32 {
    // SAFETY: takes no arguments and touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// Processors that a mask of the kernel has room for here.
pub const MOST: u32 = 1024;

/// The processors that the calling thread may use, ascending; none where the kernel does not say.
pub fn allowed() -> Vec<u32> {
    let mut mask = [0u64; MOST as usize / 64];
    // SAFETY: the kernel writes at most the length of the mask into it.
    let got = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if got != 0 {
        return Vec::new();
    }
    (0..MOST).filter(|&cpu| mask[cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_is_on_a_processor_that_it_may_use() {
        let allowed = super::allowed();
        assert!(allowed.is_sorted() && allowed.contains(&super::current()));
    }
}
