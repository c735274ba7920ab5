//! Numbers from keys, without a state.

/// Step from one key to the next, and the multiplier that spreads small seeds: 2^64 over the golden ratio.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads the bits of a word over all of it (the finalizer of SplitMix64).
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The number that belongs to `key`: keys that differ a little give numbers that have nothing in common (SplitMix64).
pub const fn drawn(key: u64) -> u64 {
    mix(key.wrapping_add(1).wrapping_mul(STEP))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The first two outputs of the published generator for seed 0.
        assert_eq!([super::drawn(0), super::drawn(1)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }
}
