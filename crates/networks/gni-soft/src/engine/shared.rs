//! The node's shared message queue.

use super::SoftNic;
use super::flight::{Flight, Joined, Sending};
use crate::fabric::{Action, Class, Fabric, Submit, Ticket, Tx};
use crate::fault::Mishap;
use gni::{Cq, CqEntry, Ep, Error, EventType, HwStatus, MemHandle, MsgqAttr, MsgqMessage, PeAddr, Result};
use mem::{PeerSpace, Source};

/// Bytes that the queue keeps for one message: its sender, tag and length, and the message.
fn slot(attr: &MsgqAttr) -> u64 {
    u64::from(attr.max_message + 16).next_multiple_of(64)
}

impl<F: Fabric> SoftNic<F> {
    pub(super) fn shared_size(attr: &MsgqAttr) -> Result<u64> {
        if attr.is_valid() { Ok(u64::from(attr.pool) * slot(attr)) } else { Err(Error::InvalidParam) }
    }

    pub(super) fn join_shared(&mut self, attr: &MsgqAttr, source: Cq) -> Result<()> {
        if self.msgq.is_some() {
            return Err(Error::InvalidState);
        }
        if !attr.is_valid() {
            return Err(Error::InvalidParam);
        }
        self.use_local_cq(source)?;
        if let Err(error) = self.fabric.shared_join(attr) {
            self.unuse_cq(source);
            return Err(error);
        }
        self.msgq = Some(Joined { attr: *attr, source });
        Ok(())
    }

    pub(super) fn connect_shared(&mut self, pe: PeAddr) -> Result<()> {
        if self.msgq.is_none() { Err(Error::InvalidState) } else { self.fabric.shared_connect(pe) }
    }

    pub(super) fn send_shared<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        let bound = self.ep_mut(ep)?.bound.ok_or(Error::InvalidState)?;
        let joined = self.msgq.as_ref().ok_or(Error::InvalidState)?;
        if header.len() + data.remaining() > joined.attr.max_message as usize {
            return Err(Error::Size);
        }
        self.fabric.shared_take_credit(bound.pe)?;
        let mut bytes = vec![0; header.len() + data.remaining()];
        bytes[..header.len()].copy_from_slice(header);
        data.fill(PeerSpace::of(&mut bytes[header.len()..]));
        let sending = Sending { ep: ep.0, pe: bound.pe, msg_id, tag, bytes: bytes.into(), tries: 0 };
        let key = self.insert_flight(Flight::Shared(Box::new(sending)))?;
        self.stats.messages += 1;
        self.transmit_shared(key);
        Ok(())
    }

    /// Sends a message of the shared queue, for the first time or again. A message is either put into the
    /// target's queue or not, so a repeated one is never there twice.
    pub(super) fn transmit_shared(&mut self, key: u32) {
        let Some(Flight::Shared(sending)) = self.flights.get(key) else { return };
        let ep = sending.ep;
        let lost = self.faults.draw(false) != Mishap::None;
        let Some(peer) = self.peer_of(ep) else { return self.shared_landed(key, HwStatus::RequestTimeout) };
        if lost {
            return self.shared_landed(key, HwStatus::RequestTimeout);
        }
        let Some(Flight::Shared(sending)) = self.flights.get(key) else { return };
        let tx = Tx {
            peer,
            ticket: Ticket(key),
            class: Class::Message,
            ordered: false,
            handle: MemHandle::default(),
            action: Action::Shared { tag: sending.tag, bytes: &sending.bytes },
            event: None,
        };
        match self.fabric.submit(self.now, &tx) {
            Submit::Busy => self.later.push((self.turn + 1, key)),
            Submit::Pending => {}
            Submit::Done(status) => self.shared_landed(key, status),
        }
    }

    pub(super) fn shared_landed(&mut self, key: u32, status: HwStatus) {
        let Some(Flight::Shared(sending)) = self.flights.get_mut(key) else { return };
        let (ep, pe, msg_id) = (sending.ep, sending.pe, sending.msg_id);
        if status != HwStatus::Ok {
            self.stats.failures += 1;
            if status.is_recoverable() && sending.tries < self.max_retransmissions {
                sending.tries += 1;
                self.stats.retransmissions += 1;
                self.later.push((self.turn + 1, key));
                return;
            }
            self.fabric.shared_return_credit(pe);
        }
        self.flights.remove(key);
        let word = self.eps.get(ep).map_or(0, |endpoint| endpoint.local_word());
        let source = self.msgq.as_ref().map(|joined| joined.source);
        self.push_local(source, CqEntry::new(EventType::Msgq, status, word.into(), msg_id), None);
    }

    pub(super) fn next_shared(&mut self) -> Result<MsgqMessage> {
        if self.msgq.is_none() {
            return Err(Error::InvalidState);
        }
        if let Some(message) = self.fabric.shared_next() {
            return Ok(message);
        }
        self.advance_unasked();
        self.fabric.shared_next().ok_or(Error::NotDone)
    }
}
