//! Faults of frames that leave, for tests.

use chance::Rng;

chance::plan! {
    /// Faults that are injected. All are probabilities, 0 to 1.
    pub struct FaultPlan {
        /// A frame does not leave.
        drop: f64,
        /// A frame leaves twice.
        twice: f64,
        /// One bit of a frame changes.
        damage: f64,
        /// A frame leaves after the next one.
        late: f64,
    }
}

/// What becomes of a frame.
pub(crate) enum Fate {
    /// It leaves so often, 0 to 2 times.
    Leaves(u32),
    /// It leaves with this bit changed.
    Damaged(usize),
    /// It leaves after the next one.
    Late,
}

/// A plan at work.
#[derive(Debug)]
pub(crate) struct Faults {
    plan: FaultPlan,
    rng: Rng,
}

impl Faults {
    /// `None`: nothing can go wrong.
    pub(crate) fn new(plan: &FaultPlan) -> Option<Faults> {
        let FaultPlan { drop, twice, damage, late, .. } = *plan;
        (drop + twice + damage + late > 0.0).then(|| Faults { plan: plan.clone(), rng: Rng::new(plan.seed) })
    }

    /// What becomes of the next frame, of so many bits.
    pub(crate) fn draw(&mut self, bits: usize) -> Fate {
        let Faults { plan, rng } = self;
        if rng.chance(plan.drop) {
            Fate::Leaves(0)
        } else if rng.chance(plan.damage) {
            Fate::Damaged(rng.index(bits))
        } else if rng.chance(plan.twice) {
            Fate::Leaves(2)
        } else if rng.chance(plan.late) {
            Fate::Late
        } else {
            Fate::Leaves(1)
        }
    }
}
