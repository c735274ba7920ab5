//! Random draws that depend on nothing but their key, so that equal runs draw equally in whatever order they ask.

/// A draw from the exponential distribution with mean 1.
pub fn exponential(key: u64) -> f64 {
    let share = (chance::drawn(key) >> 11) as f64 / (1u64 << 53) as f64;
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
