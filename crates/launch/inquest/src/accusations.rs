//! Which of two that do not reach each other any more has to go, in a job that goes on after failures.
//!
//! Where a network breaks between two hosts, ranks of both accuse ranks of the other one. Were both believed, both hosts would lose
//! ranks. So the side is believed that accuses first, and the other one is not for the rest of the job.

use std::collections::BTreeSet;

/// What was believed so far. Sides have numbers: ranks, or hosts.
#[derive(Default)]
pub struct Accusations(BTreeSet<(u32, u32)>);

impl Accusations {
    /// Side `by` does not reach the side `accused`. Whether it is believed.
    pub fn believes(&mut self, by: u32, accused: u32) -> bool {
        let is_credible = !self.0.contains(&(accused, by));
        if is_credible {
            self.0.insert((by, accused));
        }
        is_credible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_is_believed() {
        let mut all = Accusations::default();
        assert_eq!([(1, 2), (2, 1), (1, 2)].map(|(by, of)| all.believes(by, of)), [true, false, true]);
        assert_eq!([(2, 3), (3, 1)].map(|(by, of)| all.believes(by, of)), [true, true]);
    }
}
