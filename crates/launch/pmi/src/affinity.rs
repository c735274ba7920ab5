//! Which processors this process may use, as a bit mask.

/// Processors a mask has room for.
const MAX_CPUS: usize = 1024;

/// A set of processors, 64 in each word.
pub(crate) type Mask = [u64; MAX_CPUS / 64];

/// The processors that this process may use. None where the system does not report them.
pub(crate) fn allowed() -> Mask {
    let mut mask = [0; MAX_CPUS / 64];
    // SAFETY: the mask is writable and its size in bytes is passed; 0 is the calling thread.
    let rc = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if rc < 0 { Mask::default() } else { mask }
}

/// Adds the processors of `other` to `union`.
pub(crate) fn add(union: &mut Mask, other: &Mask) {
    union.iter_mut().zip(other).for_each(|(to, from)| *to |= from);
}

/// Number of processors in `mask`.
pub(crate) fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_counts_each_processor_once() {
        let (mut union, mut other) = (Mask::default(), Mask::default());
        (union[0], other[0], other[1]) = (0b11, 0b10, 1);
        add(&mut union, &other);
        assert_eq!(count(&union), 3);
        assert!(count(&allowed()) > 0);
    }
}
