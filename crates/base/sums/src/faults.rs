//! Damage for tests.

use chance::{BadFault, Rng};
use mem::{PeerBytes, UserMem};

chance::plan! {
    /// Faults that are injected: probabilities, 0 to 1.
    pub struct FaultPlan {
        /// One bit of a frame that leaves changes.
        damage: f64,
        /// One bit of what was got or put without a copy changes.
        copy: f64,
    }
}

/// A plan at work.
#[derive(Debug)]
pub struct Faults {
    plan: FaultPlan,
    rng: Rng,
}

impl Faults {
    /// Those that `text` describes, for process `rank`. `None`: nothing goes wrong.
    ///
    /// # Errors
    /// The text describes none.
    pub fn of(text: &str, rank: u32) -> Result<Option<Faults>, BadFault> {
        let plan = FaultPlan::parse(text)?;
        let rng = Rng::new(plan.seed.wrapping_add(rank.into()));
        Ok((plan.damage + plan.copy > 0.0).then_some(Faults { plan, rng }))
    }

    /// The bit that changes of a frame of so many bits.
    pub fn of_frame(&mut self, bits: usize) -> Option<usize> {
        (bits > 0 && self.rng.chance(self.plan.damage)).then(|| self.rng.index(bits))
    }

    /// Changes a bit of what was copied into `runs`, perhaps.
    pub fn damage_copy(&mut self, runs: &[UserMem]) {
        if self.rng.chance(self.plan.copy) {
            damage_bit(runs, &mut self.rng);
        }
    }
}

/// Changes a bit of what `runs` are together.
pub fn damage_bit(runs: &[UserMem], rng: &mut Rng) {
    let run = rng.pick(runs);
    let bit = rng.index((run.len() * 8).max(1));
    let byte = run.part(bit / 8, 1);
    let mut changed = [0];
    byte.as_bytes().copy_to(&mut changed);
    changed[0] ^= 1 << (bit % 8);
    byte.write(PeerBytes::of(&changed));
}
