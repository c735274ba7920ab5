//! Faults on demand: what the NIC is to do wrong, and how often.

use chance::Rng;

chance::plan! {
    /// Faults that a NIC injects into what it initiates. All probabilities are per transaction, 0 to 1.
    pub struct FaultPlan {
        /// The request is lost: nothing happens at the target, the initiator times out (recoverable).
        drop: f64,
        /// The answer is lost: it happens at the target, the initiator times out all the same. Not for atomics,
        /// which cannot be repeated.
        lost_ack: f64,
        /// The transaction fails for good, before anything happened.
        fatal: f64,
        /// A post in PERFORMANCE delivery is overtaken by later ones.
        reorder: f64,
        /// A block transfer's completion is seen some turns late.
        delay: f64,
        /// A message's arrival entry is seen before the message itself.
        early_event: f64,
        /// The target's queue loses an arrival entry and is marked as overrun.
        overrun: f64,
        /// A datagram packet is lost.
        datagram: f64,
        /// Arrival queues get at most this many entries; 0: as many as asked for.
        cq_entries: u32,
        /// This NIC may use at most this many memory descriptors; 0: as many as the node has.
        mdds: u32,
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
    /// Whether any transaction can go wrong; false keeps the fast path short.
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

    /// Draws one transaction's fate; `repeatable`: it may be delivered twice.
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
