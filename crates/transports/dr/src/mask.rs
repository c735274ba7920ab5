//! Which of the 256 frames after the last acknowledged one have been delivered.

/// Frames that a mask tells of.
pub(crate) const BITS: u64 = 256;
const WORDS: usize = 4;

/// Bit `i` stands for the frame `i + 1` after the acknowledged ones; bit 0 is never set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mask(pub(crate) [u64; WORDS]);

impl Mask {
    pub(crate) fn has(&self, bit: u64) -> bool {
        self.0.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit below [`BITS`].
    pub(crate) fn set(&mut self, bit: u64) {
        self.0[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Takes the ones at the beginning out; how many they were.
    pub(crate) fn take_leading(&mut self) -> u64 {
        let mut taken = 0;
        while self.0[0] & 1 == 1 {
            let ones = u64::from((!self.0[0]).trailing_zeros());
            self.shift(ones);
            taken += ones;
        }
        taken
    }

    /// Moves all bits down, by 64 at most.
    fn shift(&mut self, by: u64) {
        for index in 0..WORDS {
            let next = self.0.get(index + 1).copied().unwrap_or(0);
            self.0[index] = match by {
                64 => next,
                _ => self.0[index] >> by | next.checked_shl(64 - by as u32).unwrap_or(0),
            };
        }
    }

    /// The words up to the last one that is not 0.
    pub(crate) fn words(&self) -> &[u64] {
        let used = self.0.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        &self.0[..used]
    }

    /// The highest bit that is set.
    pub(crate) fn highest(&self) -> Option<u64> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some(word as u64 * 64 + 63 - u64::from(self.0[word].leading_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::{BITS, Mask};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_list_of_bits(bits in proptest::collection::vec(0..BITS, 0..300)) {
            let (mut mask, mut list) = (Mask::default(), vec![false; BITS as usize]);
            for bit in bits {
                mask.set(bit);
                list[bit as usize] = true;
                prop_assert_eq!(mask.highest(), list.iter().rposition(|&set| set).map(|bit| bit as u64));
            }
            let ones = list.iter().take_while(|&&set| set).count();
            prop_assert_eq!(mask.take_leading(), ones as u64);
            list.drain(..ones);
            for (bit, &set) in list.iter().enumerate() {
                prop_assert_eq!(mask.has(bit as u64), set);
            }
            prop_assert!(!mask.has(BITS - ones as u64) && !mask.has(BITS) && !mask.has(u64::MAX));
        }
    }

    #[test]
    fn full_it_is_taken_whole() {
        let mut mask = Mask([u64::MAX; 4]);
        assert_eq!(mask.words().len(), 4);
        assert_eq!(mask.take_leading(), BITS);
        assert_eq!((mask, mask.words().len(), mask.highest()), (Mask::default(), 0, None));
    }
}
