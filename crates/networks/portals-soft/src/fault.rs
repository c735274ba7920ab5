//! Faults on demand: what the NIC is to do wrong, and how often.

use chance::Rng;

chance::plan! {
    /// Faults that a NIC injects. All are probabilities, 0 to 1.
    pub struct FaultPlan {
        /// A put or get that arrives is dropped and counted, as if nothing had accepted it.
        drop: f64,
        /// A put leaves nowhere; its SEND_END event reports the failure.
        fail: f64,
        /// The END of an operation comes some turns after its data.
        defer: f64,
        /// An event is lost, as when its queue is full.
        overrun: f64,
        /// An operation is refused with `NO_SPACE`.
        no_space: f64,
    }
}

/// A plan at work.
#[derive(Debug)]
pub(crate) struct Faults {
    plan: FaultPlan,
    /// Whether anything can go wrong at all.
    active: bool,
    rng: Rng,
}

impl Faults {
    pub(crate) fn new(plan: FaultPlan) -> Faults {
        let chances = [plan.drop, plan.fail, plan.defer, plan.overrun, plan.no_space];
        Faults { active: chances.iter().any(|&chance| chance > 0.0), rng: Rng::new(plan.seed), plan }
    }

    fn draw(&mut self, chance: fn(&FaultPlan) -> f64) -> bool {
        self.active && self.rng.chance(chance(&self.plan))
    }

    pub(crate) fn drops(&mut self) -> bool {
        self.draw(|plan| plan.drop)
    }

    pub(crate) fn fails(&mut self) -> bool {
        self.draw(|plan| plan.fail)
    }

    pub(crate) fn loses_event(&mut self) -> bool {
        self.draw(|plan| plan.overrun)
    }

    pub(crate) fn has_no_space(&mut self) -> bool {
        self.draw(|plan| plan.no_space)
    }

    /// Turns by which the END of an operation is late; 0: not at all.
    pub(crate) fn late(&mut self) -> u32 {
        if self.draw(|plan| plan.defer) { self.rng.up_to(8) } else { 0 }
    }
}
