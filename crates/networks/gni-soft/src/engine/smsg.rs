//! Short messages: mailboxes, credits, retransmission.
//!
//! ```text
//!   sender                                           receiver
//!   slot n ← header, message; sequence last  ──────▶ get_next reads sequence n + 1
//!   local entry once delivered                       release: n is free
//!   credit known                             ◀────── in the next message back, or, when half the mailbox is
//!                                                    owed or it is full, by a store of its own with an entry
//! ```

use super::SoftNic;
use super::flight::{Flight, Shipment};
use super::mailboxes::{Mailboxes, fill_slot};
use crate::access::Want;
use crate::fabric::{Action, Class, Fabric, LOST_EVENT, PeerIndex, Submit, Ticket, Tx, Window};
use crate::fault::Mishap;
use crate::mailbox::{self, SLOT_HEADER, Shape};
use gni::{
    ANY_TAG, CqEntry, Ep, Error, EventType, HwStatus, MemHandle, Result, SmsgAttr, SmsgMessage, SmsgType,
};
use mem::{PeerBytes, PeerSpace, Source, UserMem};

/// Endpoints looked at together for credits that they owe.
const DEBTORS_AT_ONCE: usize = 64;

impl<F: Fabric> SoftNic<F> {
    pub(super) fn init_smsg(&mut self, ep: Ep, local: &SmsgAttr, remote: &SmsgAttr) -> Result<()> {
        let endpoint = self.ep_mut(ep)?;
        if endpoint.bound.is_none() || endpoint.mailboxes.is_some() {
            return Err(Error::InvalidState);
        }
        let needed = mailbox::size(local)?;
        let same =
            (local.kind, local.credits, local.max_size) == (remote.kind, remote.credits, remote.max_size);
        if !same || local.size < needed || remote.size < needed || remote.handle.unpack().is_none() {
            return Err(Error::InvalidParam);
        }
        let (shape, peer_shape) = (Shape::of(local), Shape::of(remote));
        if !shape.base.is_multiple_of(64) || !peer_shape.base.is_multiple_of(64) {
            return Err(Error::InvalidParam);
        }
        // SAFETY: nothing is accessed through this view; it only names the range to be checked.
        let memory = unsafe { UserMem::new(shape.base as usize, needed as usize) };
        self.check_local(local.handle, Some(memory), Want::Write)?;
        self.use_memory(local.handle);
        self.ep_mut(ep)?.mailboxes = Some(Box::new(Mailboxes {
            kind: local.kind,
            max_size: local.max_size,
            local: shape,
            local_handle: local.handle,
            remote: peer_shape,
            remote_handle: remote.handle,
            sent: 0,
            acked: 0,
            send_slot: peer_shape.slot(0),
            received: 0,
            receive_slot: shape.slot(0),
            returned: 0,
            last_slot: shape.before(shape.slot(0)),
            current: false,
            lost_returns: 0,
            watched: false,
        }));
        Ok(())
    }

    #[inline]
    pub(super) fn send_message<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        let SoftNic { eps, fabric, faults, stats, .. } = self;
        let endpoint = eps.get_mut(ep.0).ok_or(Error::InvalidParam)?;
        let peer = endpoint.peer(fabric);
        let mailboxes = endpoint.mailboxes.as_deref_mut().ok_or(Error::InvalidState)?;
        let len = header.len() + data.remaining();
        if len > mailboxes.max_size as usize {
            return Err(Error::Resource);
        }
        if endpoint.requests >= endpoint.request_limit {
            stats.request_stalls += 1;
            return Err(Error::NotDone);
        }
        if !mailboxes.has_credit() {
            stats.credit_stalls += 1;
            return Err(Error::NotDone);
        }
        // Straight into the peer's mailbox where the fabric can show it to us.
        let bytes = SLOT_HEADER + len;
        let peer = peer.filter(|_| !faults.active);
        let window = peer.and_then(|peer| {
            fabric
                .window(peer, mailboxes.remote_handle, mailboxes.send_slot, bytes)
                .map(|window| (peer, window))
        });
        let Some((peer, Window { space, queue })) = window else {
            return self.ship(ep.0, header, data, msg_id, tag);
        };
        let head = mailboxes.next_header(len, tag);
        mailboxes.note_sent();
        fill_slot(&space, head, header, data);
        self.note_message(ep.0, peer, queue, msg_id);
        Ok(())
    }

    /// Makes the entries of a message that can be seen already: this happens while it crosses to the reader.
    #[inline(never)]
    fn note_message(&mut self, ep: u32, peer: PeerIndex, queue: Option<u32>, msg_id: u32) {
        self.stats.messages += 1;
        let own = self.fabric.inst();
        let Some(endpoint) = self.eps.get_mut(ep) else { return };
        if let Some(queue) = queue {
            let word = endpoint.remote_word(own);
            let entry = CqEntry::new(EventType::Smsg, HwStatus::Ok, word.into(), 0);
            self.fabric.push_event(peer, queue, entry.raw());
        }
        if let Some(source) = endpoint.source {
            endpoint.requests += 1;
            let word = endpoint.local_word();
            let entry = CqEntry::new(EventType::Smsg, HwStatus::Ok, word.into(), msg_id);
            self.push_local(Some(source), entry, Some(ep));
        }
    }

    /// Copies the message and sends the copy, which stays until it is delivered.
    #[cold]
    fn ship<S: Source>(&mut self, ep: u32, header: &[u8], data: &mut S, msg_id: u32, tag: u8) -> Result<()> {
        let endpoint = self.eps.get_mut(ep).ok_or(Error::InvalidParam)?;
        let mailboxes = endpoint.mailboxes.as_mut().ok_or(Error::InvalidState)?;
        let len = header.len() + data.remaining();
        let mut image = vec![0u8; SLOT_HEADER + len];
        image[..SLOT_HEADER].copy_from_slice(&mailboxes.next_header(len, tag).to_bytes());
        image[SLOT_HEADER..SLOT_HEADER + header.len()].copy_from_slice(header);
        let number = mailboxes.sent;
        data.fill(PeerSpace::of(&mut image[SLOT_HEADER + header.len()..]));
        mailboxes.note_sent();
        endpoint.requests += 1;
        let shipment = Shipment { ep, number, msg_id, image: image.into(), tries: 0, spoiled: false };
        let key = self.insert_flight(Flight::Message(Box::new(shipment)))?;
        self.stats.messages += 1;
        if self.faults.early_event() {
            self.announce(ep);
            self.later.push((self.turn + 2, key));
        } else {
            self.transmit(key);
        }
        Ok(())
    }

    /// Makes the peer's arrival entry alone: a message's, seen before the message.
    fn announce(&mut self, ep: u32) {
        let Some(peer) = self.peer_of(ep) else { return };
        let Some((handle, event)) = self.message_event(ep) else { return };
        let tx = Tx {
            peer,
            ticket: Ticket(u32::MAX),
            class: Class::Message,
            ordered: false,
            handle,
            action: Action::Event,
            event: Some(event),
        };
        self.fabric.submit(self.now, &tx);
    }

    /// The peer's mailbox handle and the entry that messages make there.
    fn message_event(&self, ep: u32) -> Option<(MemHandle, u64)> {
        let endpoint = self.eps.get(ep)?;
        let word = endpoint.remote_word(self.fabric.inst());
        let handle = endpoint.mailboxes.as_ref()?.remote_handle;
        Some((handle, CqEntry::new(EventType::Smsg, HwStatus::Ok, word.into(), 0).raw()))
    }

    /// Sends a shipment, for the first time or again.
    pub(super) fn transmit(&mut self, key: u32) {
        let Some(Flight::Message(shipment)) = self.flights.get_mut(key) else { return };
        shipment.spoiled = false;
        let (ep, number) = (shipment.ep, shipment.number);
        if self.is_released(ep, number) {
            return self.shipment_landed(key, HwStatus::Ok);
        }
        let mishap = self.faults.draw(true);
        let loses = self.faults.loses_entry();
        let (Some(peer), Some((handle, event))) = (self.peer_of(ep), self.message_event(ep)) else {
            return self.shipment_landed(key, HwStatus::RequestTimeout);
        };
        if mishap == Mishap::Drop {
            return self.shipment_landed(key, HwStatus::RequestTimeout);
        }
        let Some(Flight::Message(shipment)) = self.flights.get_mut(key) else { return };
        shipment.spoiled = mishap == Mishap::LostAck;
        let Some(mailboxes) = self.eps.get(ep).and_then(|endpoint| endpoint.mailboxes.as_ref()) else {
            return;
        };
        let tx = Tx {
            peer,
            ticket: Ticket(key),
            class: Class::Message,
            ordered: false,
            handle,
            action: Action::Message { image: &shipment.image, addr: mailboxes.remote.slot(number) },
            event: Some(if loses { LOST_EVENT } else { event }),
        };
        match self.fabric.submit(self.now, &tx) {
            Submit::Busy => self.later.push((self.turn + 1, key)),
            Submit::Pending => {}
            Submit::Done(status) => self.shipment_landed(key, status),
        }
    }

    /// Whether the peer has released a message, so that it must have arrived; its slot may hold another now.
    fn is_released(&mut self, ep: u32, number: u64) -> bool {
        let Some(mailboxes) = self.eps.get_mut(ep).and_then(|endpoint| endpoint.mailboxes.as_mut()) else {
            return false;
        };
        mailboxes.refresh();
        mailboxes.acked > number
    }

    pub(super) fn shipment_landed(&mut self, key: u32, status: HwStatus) {
        let Some(Flight::Message(shipment)) = self.flights.get_mut(key) else { return };
        let status =
            if shipment.spoiled && status == HwStatus::Ok { HwStatus::RequestTimeout } else { status };
        let (ep, msg_id) = (shipment.ep, shipment.msg_id);
        let Some(endpoint) = self.eps.get(ep) else { return };
        let again = endpoint.mailboxes.as_ref().is_some_and(|m| m.kind == SmsgType::MboxAutoRetransmit);
        if status != HwStatus::Ok {
            self.stats.failures += 1;
            if again && status.is_recoverable() && shipment.tries < self.max_retransmissions {
                shipment.tries += 1;
                self.stats.retransmissions += 1;
                self.later.push((self.turn + 1, key));
                return;
            }
        }
        let (source, word) = (endpoint.source, endpoint.local_word());
        self.flights.remove(key);
        self.push_local(source, CqEntry::new(EventType::Smsg, status, word.into(), msg_id), Some(ep));
    }

    #[inline]
    pub(super) fn next_message(&mut self, ep: Ep, tag: u8) -> Result<SmsgMessage> {
        let endpoint = self.eps.get_mut(ep.0).ok_or(Error::InvalidParam)?;
        let mailboxes = endpoint.mailboxes.as_mut().ok_or(Error::InvalidState)?;
        let head = mailboxes.head().ok_or(Error::NotDone)?;
        mailboxes.note_returned(head.returned);
        if u32::from(head.len) > mailboxes.max_size {
            return Err(Error::InvalidState);
        }
        if tag != ANY_TAG && tag != head.tag {
            return Err(Error::NoMatch);
        }
        mailboxes.current = true;
        let data = mailboxes.receive_slot + SLOT_HEADER as u64;
        // SAFETY: the length was checked against the slot's; the mailbox stays registered, hence mapped, until
        // the endpoint lets go of it, and the program releases the message before that.
        let bytes = unsafe { PeerBytes::new(data as *const u8, head.len.into()) };
        Ok(SmsgMessage { tag: head.tag, bytes })
    }

    #[inline]
    pub(super) fn release_message(&mut self, ep: Ep) -> Result<()> {
        let endpoint = self.eps.get_mut(ep.0).ok_or(Error::InvalidParam)?;
        let mailboxes = endpoint.mailboxes.as_mut().ok_or(Error::InvalidState)?;
        if !mailboxes.current {
            return Err(Error::NotDone);
        }
        mailboxes.current = false;
        mailboxes.received += 1;
        mailboxes.receive_slot = mailboxes.local.after(mailboxes.receive_slot);
        if mailboxes.should_return() {
            self.return_credits(ep.0);
        } else if !mailboxes.watched {
            mailboxes.watched = true;
            self.debtors.push_back(ep.0);
        }
        Ok(())
    }

    /// Looks again at some of the endpoints that owed credits when their last message was released: the sender may
    /// have used up its credits since. All have their turn, however many there are.
    pub(super) fn look_at_debtors(&mut self) {
        for _ in 0..self.debtors.len().min(DEBTORS_AT_ONCE) {
            let Some(ep) = self.debtors.pop_front() else { return };
            let Some(mailboxes) = self.eps.get_mut(ep).and_then(|endpoint| endpoint.mailboxes.as_mut())
            else {
                continue;
            };
            mailboxes.watched = mailboxes.received > mailboxes.returned && !mailboxes.should_return();
            if mailboxes.watched {
                self.debtors.push_back(ep);
            } else if mailboxes.received > mailboxes.returned {
                self.return_credits(ep);
            }
        }
    }

    /// Reports to the peer how many of its messages have been released, with an entry in its queue.
    pub(super) fn return_credits(&mut self, ep: u32) {
        let (Some(peer), Some((handle, event))) = (self.peer_of(ep), self.message_event(ep)) else { return };
        let Some(mailboxes) = self.eps.get_mut(ep).and_then(|endpoint| endpoint.mailboxes.as_mut()) else {
            return;
        };
        mailboxes.note_told();
        let (addr, value) = (mailboxes.remote.base, mailboxes.received as u32);
        self.stats.credit_returns += 1;
        let Ok(key) = self.insert_flight(Flight::Credit { ep }) else { return self.owing.push(ep) };
        if self.faults.draw(true) != Mishap::None {
            return self.credit_landed(key, HwStatus::RequestTimeout);
        }
        let tx = Tx {
            peer,
            ticket: Ticket(key),
            class: Class::Message,
            ordered: false,
            handle,
            action: Action::Store { addr, value },
            event: Some(event),
        };
        match self.fabric.submit(self.now, &tx) {
            Submit::Pending => {}
            Submit::Busy => self.credit_landed(key, HwStatus::RequestTimeout),
            Submit::Done(status) => self.credit_landed(key, status),
        }
    }

    pub(super) fn credit_landed(&mut self, key: u32, status: HwStatus) {
        let Some(Flight::Credit { ep }) = self.flights.remove(key) else { return };
        let most = self.max_retransmissions;
        let Some(mailboxes) = self.eps.get_mut(ep).and_then(|endpoint| endpoint.mailboxes.as_mut()) else {
            return;
        };
        if status == HwStatus::Ok {
            mailboxes.lost_returns = 0;
        } else if status.is_recoverable() && mailboxes.lost_returns < most {
            mailboxes.lost_returns += 1;
            self.stats.retransmissions += 1;
            self.owing.push(ep);
        }
    }
}
