//! Random draws that depend on nothing but their key, so that equal runs draw equally in whatever order they ask.

/// The bits of `key`, mixed: keys that differ a little give numbers that have nothing in common (SplitMix64).
pub fn mixed(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A draw from the exponential distribution with mean 1.
pub fn exponential(key: u64) -> f64 {
    let share = (mixed(key) >> 11) as f64 / (1u64 << 53) as f64;
    -(1.0 - share).ln()
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn draws_have_their_mean_and_their_tail() {
        let draws = || (0..100_000).map(exponential);
        let mean = draws().sum::<f64>() / 1e5;
        assert!((0.98..1.02).contains(&mean), "{mean}");
        // Of so many one in e^7 exceeds 7.
        let beyond = draws().filter(|&draw| draw > 7.0).count();
        assert!((60..125).contains(&beyond), "{beyond}");
    }
}
