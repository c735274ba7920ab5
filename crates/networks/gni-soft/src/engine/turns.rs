//! A turn: everything the hardware would do by itself.

use super::SoftNic;
use super::flight::Flight;
use crate::fabric::{Fabric, Landed};
use gni::{Armed, Time};

/// Turns between two looks at endpoints that owe credits.
const DEBTORS_EVERY: u64 = 32;

impl<F: Fabric> SoftNic<F> {
    pub(super) fn turn_at(&mut self, now: Time) {
        self.driven = true;
        self.now = self.now.max(now);
        self.advance();
    }

    /// A turn for a program that, as on hardware, never gives one.
    pub(super) fn advance_unasked(&mut self) {
        if !self.driven {
            self.advance();
        }
    }

    /// One turn at the time that was given last.
    pub(super) fn advance(&mut self) {
        self.turn += 1;
        while let Some(Landed { ticket, status }) = self.fabric.poll(self.now) {
            match self.flights.get(ticket.0) {
                Some(Flight::Post(_)) => self.piece_landed(ticket.0, status),
                Some(Flight::Message(_)) => self.shipment_landed(ticket.0, status),
                Some(Flight::Credit { .. }) => self.credit_landed(ticket.0, status),
                Some(Flight::Shared(_)) => self.shared_landed(ticket.0, status),
                None => {}
            }
        }
        self.take_packets();
        self.send_due_datagrams();
        if !(self.later.is_empty() && self.late.is_empty() && self.owing.is_empty()) {
            self.resume_what_is_due();
        }
        if !self.debtors.is_empty() && self.turn.is_multiple_of(DEBTORS_EVERY) {
            self.look_at_debtors();
        }
        if !self.bte.is_empty() {
            self.advance_bte();
        }
    }

    pub(super) fn arm_doorbell(&mut self) -> Option<Armed> {
        if self.needs_turns() {
            return None;
        }
        let doorbell = self.fabric.doorbell()?;
        let expected = doorbell.arm(platform::membarrier::barrier)?;
        Some(Armed { word: doorbell.address(), expected })
    }

    /// Whether there is work that nothing but turns moves on.
    pub(super) fn needs_turns(&self) -> bool {
        let begun = self.later.is_empty() && self.late.is_empty() && self.owing.is_empty();
        !(begun && self.bte.is_empty() && self.exchanges.is_idle())
    }

    fn resume_what_is_due(&mut self) {
        for key in due(&mut self.late, self.turn) {
            self.show_post(key);
        }
        for key in due(&mut self.later, self.turn) {
            match self.flights.get(key) {
                Some(Flight::Post(_)) => self.resume_post(key),
                Some(Flight::Message(_)) => self.transmit(key),
                Some(Flight::Shared(_)) => self.transmit_shared(key),
                Some(Flight::Credit { .. }) | None => {}
            }
        }
        for ep in core::mem::take(&mut self.owing) {
            self.return_credits(ep);
        }
    }
}

/// Takes out what is due at `turn`, in the order in which it became due.
fn due(list: &mut Vec<(u64, u32)>, turn: u64) -> Vec<u32> {
    let mut due: Vec<(u64, u32)> = list.extract_if(.., |&mut (when, _)| when <= turn).collect();
    due.sort_by_key(|&(when, _)| when);
    due.into_iter().map(|(_, key)| key).collect()
}
