//! How much the computing between calls varies from one phase to the next: the source of the cost `jitter`.

use super::Job;

/// Triples of phases below which there is no figure.
const LEAST: usize = 20;

impl Job {
    /// Standard deviation of the processor times of phases that repeat, as a share of their mean; `None`: too few repeat.
    ///
    /// The phases of a rank that count are those of the usual length: as much of its computing is in longer ones as
    /// in shorter ones; up to twice as long or short. From each three in a row the middle one's distance from the
    /// mean of the others is taken, so that a program whose phases slowly become longer is not taken for an uneven
    /// one.
    pub fn unevenness(&self) -> Option<f64> {
        let rank = |script: &std::sync::Arc<[super::Call]>| {
            distances(&script.iter().map(|call| call.computed).collect::<Vec<_>>())
        };
        let distances: Vec<f64> = self.scripts.iter().flat_map(rank).collect();
        (distances.len() >= LEAST).then(|| root_mean_square(&distances))
    }
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// For each three usual phases in a row: how far the middle one is off, in units such that independent phases'
/// distances have their own deviation, as a share of their mean.
fn distances(phases: &[u64]) -> Vec<f64> {
    let usual = usual(phases);
    let long: Vec<f64> =
        phases.iter().filter(|&&phase| 2 * phase >= usual).map(|&phase| phase as f64).collect();
    let whole = long.windows(3).filter(|three| three.iter().all(|&phase| phase <= 2.0 * usual as f64));
    let distance = |three: &[f64]| {
        let around = (three[0] + three[2]) / 2.0;
        // The variance of the difference is that of a phase, and half of that again.
        (three[1] - around) / (1.5f64.sqrt() * around.max(1.0))
    };
    whole.map(distance).collect()
}

/// The length for which as much time is in longer phases as in shorter ones.
fn usual(phases: &[u64]) -> u64 {
    let mut sorted = phases.to_vec();
    sorted.sort_unstable();
    let half = sorted.iter().sum::<u64>() / 2;
    let mut sum = 0;
    sorted
        .into_iter()
        .find(|phase| {
            sum += phase;
            sum > half
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distances, root_mean_square};
    use crate::Jitter;

    fn deviation(phases: &[u64]) -> f64 {
        root_mean_square(&distances(phases))
    }

    /// Phases become longer, short ones lie between them, each twentieth takes five times as long.
    fn program(jitter: Jitter) -> Vec<u64> {
        let phase = |step: u32| {
            let mean = if step % 20 == 19 { 5e8 } else { 1e8 + 1e5 * f64::from(step) };
            [1_000, jitter.drawn(mean, 0, step).0, 2_000]
        };
        (0..400).flat_map(phase).collect()
    }

    #[test]
    fn the_deviation_is_found_and_slow_change_is_not_taken_for_it() {
        assert!(deviation(&program(Jitter::NONE)) < 1e-4);
        for parts in [1, 16] {
            let found = deviation(&program(Jitter { deviation: 0.02, parts, seed: 3 }));
            assert!((0.017..0.023).contains(&found), "{found}");
        }
    }

    #[test]
    fn what_does_not_repeat_says_nothing() {
        assert_eq!(distances(&[]), []);
        assert_eq!(distances(&[5, 10_000, 7]), []);
    }
}
