//! Ranks that do not compute for equally long.
//!
//! ```text
//!   time of a phase = mean × (1 + jitter × N)    N: mean 0 and deviation 1, drawn for each rank and phase
//!   N = (E1 + … + Ek - k) / √k                   E: exponential with mean 1; k: jitter_parts
//! ```
//!
//! One part is an exponential draw: most phases are a little shorter than the mean, a few much longer. Many parts
//! come near a normal one. A draw depends on the seed, the rank and the phase alone: equal runs draw equally, in
//! whatever order ranks have turns. That draws do not depend on each other is an assumption: what disturbs a node
//! meets its ranks together, and a slow node stays slow.

use crate::setup::Setup;
use chance::drawn;
use gni::Time;
use gni_timed::draw::exponential;

/// The jitter of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Jitter {
    /// Standard deviation of computing times, as a share of their mean.
    pub deviation: f64,
    /// Exponential parts of a draw; at least one.
    pub parts: u32,
    /// Which of many runs.
    pub seed: u64,
}

impl Jitter {
    /// All ranks compute for equally long.
    pub const NONE: Jitter = Jitter { deviation: 0.0, parts: 1, seed: 0 };

    /// That of a machine.
    pub fn of(setup: &Setup) -> Jitter {
        let parts = setup.software.jitter_parts.round().clamp(1.0, 64.0) as u32;
        Jitter { deviation: setup.software.jitter, parts, seed: setup.seed }
    }

    /// How long `rank` computes in its phase of this number, where ranks compute for `mean` nanoseconds on average.
    pub fn drawn(&self, mean: f64, rank: u32, phase: u32) -> Time {
        if self.deviation == 0.0 {
            return Time(mean as u64);
        }
        let key = drawn(self.seed) ^ drawn(u64::from(rank) << 32 | u64::from(phase));
        let sum: f64 = (0..self.parts).map(|part| exponential(key.wrapping_add(u64::from(part)))).sum();
        let parts = f64::from(self.parts);
        Time((mean * (1.0 + self.deviation * (sum - parts) / parts.sqrt())).max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    #[test]
    fn mean_deviation_and_skew_are_as_declared() {
        for (parts, skew) in [(1, 2.0), (16, 0.5)] {
            let jitter = Jitter { deviation: 0.1, parts, seed: 7 };
            let draws: Vec<f64> =
                (0..100_000).map(|rank| jitter.drawn(1e9, rank, 3).0 as f64 / 1e9 - 1.0).collect();
            let moment = |power| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / draws.len() as f64;
            let (mean, deviation) = (moment(1), moment(2).sqrt());
            assert!(mean.abs() < 0.002 && (deviation - 0.1).abs() < 0.002, "{mean} {deviation}");
            assert!((moment(3) / deviation.powi(3) - skew).abs() < 0.15, "{}", moment(3) / deviation.powi(3));
        }
        assert_eq!(Jitter::NONE.drawn(1e6, 5, 9).0, 1_000_000);
    }

    #[test]
    fn seed_rank_and_phase_choose_the_draw() {
        let drawn = |seed, rank, phase| Jitter { deviation: 0.1, parts: 2, seed }.drawn(1e9, rank, phase);
        assert_eq!(drawn(1, 2, 3), drawn(1, 2, 3));
        for other in [drawn(0, 2, 3), drawn(1, 3, 3), drawn(1, 2, 4)] {
            assert_ne!(drawn(1, 2, 3), other);
        }
    }
}
