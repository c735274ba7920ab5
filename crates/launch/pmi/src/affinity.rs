//! Which processors this process may use, as a bit mask.

use platform::processor::{self, MOST};

/// A set of processors, 64 in each word.
pub(crate) type Mask = [u64; MOST as usize / 64];

/// The processors that this process may use. None where the system does not report them.
pub(crate) fn allowed() -> Mask {
    let mut mask = Mask::default();
    processor::allowed().into_iter().for_each(|cpu| mask[cpu as usize / 64] |= 1 << (cpu % 64));
    mask
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
