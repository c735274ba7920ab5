//! Faults of frames that leave, for tests.

use chance::Rng;
use dr::Time;
use mem::UserMem;

chance::plan! {
    /// Faults that are injected. All but the cut are probabilities, 0 to 1.
    pub struct FaultPlan {
        /// A frame does not leave.
        drop: f64,
        /// A frame leaves twice.
        twice: f64,
        /// One bit of a frame changes.
        damage: f64,
        /// A frame leaves after the next one.
        late: f64,
        /// One bit of what a get or put has copied changes.
        copy: f64,
        /// Nothing leaves by the fastest way from so many milliseconds after the first frame
        cut_from: u64,
        /// to so many.
        cut_to: u64,
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
    /// When the first frame left.
    began: Option<Time>,
}

impl Faults {
    /// `None`: nothing can go wrong.
    pub(crate) fn new(plan: &FaultPlan) -> Option<Faults> {
        let FaultPlan { drop, twice, damage, late, copy, cut_to, .. } = *plan;
        (drop + twice + damage + late + copy > 0.0 || cut_to > 0).then(|| Faults {
            plan: plan.clone(),
            rng: Rng::new(plan.seed),
            began: None,
        })
    }

    /// Whether nothing leaves by a path now.
    pub(crate) fn is_cut(&mut self, path: u8, now: Time) -> bool {
        let Faults { plan, began, .. } = self;
        let since = now - *began.get_or_insert(now);
        path == 0 && (plan.cut_from..plan.cut_to).contains(&(since / 1_000_000))
    }

    /// Changes a bit of what a get or put has copied, perhaps.
    pub(crate) fn damage_copy(&mut self, runs: &[UserMem]) {
        if self.rng.chance(self.plan.copy) {
            sums::damage_bit(runs, &mut self.rng);
        }
    }

    /// What becomes of the next frame, of so many bits.
    pub(crate) fn draw(&mut self, bits: usize) -> Fate {
        let Faults { plan, rng, .. } = self;
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
