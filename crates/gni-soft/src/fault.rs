//! Faults on demand: what the NIC is to do wrong, and how often.

use crate::rng::Rng;
use core::fmt;

/// Faults that a NIC injects into what it initiates. All probabilities are per transaction, 0 to 1.
///
/// Seeded: the same plan and the same calls give the same faults.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultPlan {
    /// Seed of the choices.
    pub seed: u64,
    /// The request is lost: nothing happens at the target, the initiator times out (recoverable).
    pub drop: f64,
    /// The answer is lost: it happens at the target, the initiator times out all the same. Not for atomics,
    /// which cannot be repeated.
    pub lost_ack: f64,
    /// The transaction fails for good, before anything happened.
    pub fatal: f64,
    /// A post in PERFORMANCE delivery is overtaken by later ones.
    pub reorder: f64,
    /// A block transfer's completion is seen some turns late.
    pub delay: f64,
    /// A message's arrival entry is seen before the message itself.
    pub early_event: f64,
    /// The target's queue loses an arrival entry and is marked as overrun.
    pub overrun: f64,
    /// A datagram packet is lost.
    pub datagram: f64,
    /// Arrival queues get at most this many entries; 0: as many as asked for.
    pub cq_entries: u32,
    /// This NIC may use at most this many memory descriptors; 0: as many as the node has.
    pub mdds: u32,
}

/// A fault description that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadFault {
    /// The part in question.
    pub part: String,
}

impl fmt::Display for BadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "reading the description of NIC faults failed\n\
             seen: \"{}\"\n\
             write name=value pairs separated by commas, for instance \"seed=1,drop=0.01,mdds=8\"; names are \
             seed, drop, lost_ack, fatal, reorder, delay, early_event, overrun, datagram, cq_entries, mdds",
            self.part
        )
    }
}

impl core::error::Error for BadFault {}

impl FaultPlan {
    /// Reads `name=value,…` with the names of the fields; an empty text is a plan without faults.
    ///
    /// # Errors
    /// [`BadFault`] for an unknown name, a value that is no number, or a probability outside 0 to 1.
    pub fn parse(text: &str) -> Result<FaultPlan, BadFault> {
        let mut plan = FaultPlan::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            plan.set(part).ok_or_else(|| BadFault { part: part.to_owned() })?;
        }
        Ok(plan)
    }

    fn set(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let probability = || value.parse::<f64>().ok().filter(|p| (0.0..=1.0).contains(p));
        match name {
            "seed" => self.seed = value.parse().ok()?,
            "drop" => self.drop = probability()?,
            "lost_ack" => self.lost_ack = probability()?,
            "fatal" => self.fatal = probability()?,
            "reorder" => self.reorder = probability()?,
            "delay" => self.delay = probability()?,
            "early_event" => self.early_event = probability()?,
            "overrun" => self.overrun = probability()?,
            "datagram" => self.datagram = probability()?,
            "cq_entries" => self.cq_entries = value.parse().ok()?,
            "mdds" => self.mdds = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}

/// What is to go wrong with one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mishap {
    None,
    /// Not delivered, times out.
    Drop,
    /// Delivered, times out.
    LostAck,
    /// Not delivered, fails for good.
    Fatal,
}

/// A plan at work.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) plan: FaultPlan,
    /// Whether any transaction can go wrong; false keeps the straight path straight.
    pub(crate) active: bool,
    rng: Rng,
}

impl Faults {
    pub(crate) fn new(plan: FaultPlan) -> Faults {
        let chances = [
            plan.drop,
            plan.lost_ack,
            plan.fatal,
            plan.reorder,
            plan.delay,
            plan.early_event,
            plan.overrun,
            plan.datagram,
        ];
        Faults { active: chances.iter().any(|&p| p > 0.0), rng: Rng::new(plan.seed), plan }
    }

    /// Draws one transaction's fate; `repeatable` says whether it may be delivered twice.
    pub(crate) fn draw(&mut self, repeatable: bool) -> Mishap {
        if !self.active {
            Mishap::None
        } else if self.rng.chance(self.plan.drop) {
            Mishap::Drop
        } else if self.rng.chance(self.plan.lost_ack) && repeatable {
            Mishap::LostAck
        } else if self.rng.chance(self.plan.fatal) {
            Mishap::Fatal
        } else {
            Mishap::None
        }
    }

    /// Turns by which a post is overtaken; 0: not at all.
    pub(crate) fn hold_back(&mut self) -> u32 {
        if self.active && self.rng.chance(self.plan.reorder) { self.rng.up_to(4) } else { 0 }
    }

    /// Turns by which a completion is late; 0: not at all.
    pub(crate) fn late(&mut self) -> u32 {
        if self.active && self.rng.chance(self.plan.delay) { self.rng.up_to(8) } else { 0 }
    }

    pub(crate) fn early_event(&mut self) -> bool {
        self.active && self.rng.chance(self.plan.early_event)
    }

    pub(crate) fn loses_entry(&mut self) -> bool {
        self.active && self.rng.chance(self.plan.overrun)
    }

    pub(crate) fn loses_packet(&mut self) -> bool {
        self.active && self.rng.chance(self.plan.datagram)
    }

    /// Entries that a queue really gets.
    pub(crate) fn queue_entries(&self, wanted: u32) -> u32 {
        if self.plan.cq_entries == 0 { wanted } else { wanted.min(self.plan.cq_entries) }
    }
}

#[cfg(test)]
mod tests {
    use super::FaultPlan;

    #[test]
    fn a_description_sets_what_it_names() {
        let plan = FaultPlan::parse("seed=7, drop=0.01,mdds=8").expect("valid");
        assert_eq!(plan, FaultPlan { seed: 7, drop: 0.01, mdds: 8, ..FaultPlan::default() });
        assert_eq!(FaultPlan::parse(""), Ok(FaultPlan::default()));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for bad in ["drop=2", "drop", "colour=1", "mdds=-1"] {
            let error = FaultPlan::parse(&format!("seed=1,{bad}")).expect_err(bad);
            assert_eq!(error.part, bad);
        }
    }
}
