//! Transactions of this NIC: done from here where the peer's memory can be reached, else by its owner.

use super::link::{Handed, Link};
use super::nic::{HostNic, Who};
use super::node_segment::SLOTS;
use super::own::{About, Landing};
use super::peer::{Destination, Direct};
use super::wire::{Ask, Request};
use crate::fabric::{Action, Fabric, PeerIndex, Source, Submit, Tx};
use gni::{HwStatus, Time};
use mem::{PeerBytes, UserMem};
use std::sync::Arc;

impl HostNic {
    /// Does a transaction, whichever way there is.
    pub(super) fn carry_out(&mut self, now: Time, tx: &Tx<'_>) -> Submit {
        if let Action::Write { from: Source::Registered(memory, handle), addr, flag } = tx.action
            && let Some(bytes) = self.own.held_bytes(handle, memory)
        {
            let action = Action::Write { from: Source::Bytes(&bytes), addr, flag };
            return self.carry_out(now, &Tx { action, ..*tx });
        }
        match self.submit_direct(tx) {
            Direct::Done(status) => Submit::Done(status),
            Direct::NeedsOwner => self.submit_to_owner(now, tx),
        }
    }

    /// Tries to do the transaction from here.
    fn submit_direct(&mut self, tx: &Tx<'_>) -> Direct {
        let own = Arc::clone(&self.own);
        let peer = &mut self.peers[tx.peer.0 as usize];
        let who = peer.who;
        let Some(mapped) = &mut peer.mapped else { return Direct::NeedsOwner };
        if mapped.is_gone() {
            return Direct::Done(HwStatus::RequestTimeout);
        }
        let place = |addr| Destination { who, handle: tx.handle, addr, event: tx.event };
        match tx.action {
            Action::Write { from, addr, flag } => mapped.write(&own, &place(addr), bytes_of(&from), flag),
            Action::Message { image, addr } => mapped.message(&own, &place(addr), image),
            Action::Store { addr, value } => mapped.store(&own, &place(addr), value),
            Action::Read { into, local, addr } if own.holds(local) => {
                let mut stage = vec![0u8; into.len()];
                // SAFETY: `stage` is ours and outlives the call.
                let view = unsafe { UserMem::new(stage.as_mut_ptr() as usize, stage.len()) };
                match mapped.read(&own, &place(addr), view) {
                    Direct::Done(HwStatus::Ok) => Direct::Done(
                        own.land(&Landing { memory: into, handle: local }, PeerBytes::of(&stage)),
                    ),
                    other => other,
                }
            }
            Action::Read { into, addr, .. } => mapped.read(&own, &place(addr), into),
            Action::Atomic { command, first, second, addr, into } => {
                mapped.atomic(&own, &place(addr), (command, first, second), into.map(|(into, _)| into))
            }
            Action::Event => mapped.event(&own, &place(0)),
            Action::Shared { tag, bytes } if who.0 == own.pe => {
                match own.node.put(own.pe, own.inst, tag, bytes) {
                    Some(slot) if mapped.push_shared(&own, who, slot % SLOTS) => Direct::Done(HwStatus::Ok),
                    Some(slot) => {
                        own.node.get(slot);
                        Direct::Done(HwStatus::MddInvalid)
                    }
                    None => Direct::Done(HwStatus::RequestTimeout),
                }
            }
            Action::Shared { .. } => Direct::NeedsOwner,
        }
    }

    /// Has the owner do it, over a socket.
    fn submit_to_owner(&mut self, now: Time, tx: &Tx<'_>) -> Submit {
        let Some(link) = self.link(tx.peer.0) else { return Submit::Done(HwStatus::RequestTimeout) };
        let mut into = None;
        let mut data: PeerBytes<'_> = PeerBytes::of(&[]);
        let mut addr = 0;
        let ask = match &tx.action {
            Action::Write { from, addr: to, flag } => {
                (data, addr) = (bytes_of(from), *to);
                Ask::Write { flag: *flag }
            }
            Action::Message { image, addr: to } => {
                (data, addr) = (PeerBytes::of(image), *to);
                Ask::Message
            }
            Action::Store { addr: to, value } => {
                addr = *to;
                Ask::Store { value: *value }
            }
            Action::Read { into: memory, local, addr: from } => {
                (into, addr) = (Some(Landing { memory: *memory, handle: *local }), *from);
                Ask::Read { len: memory.len() as u32 }
            }
            Action::Atomic { command, first, second, addr: to, into: local } => {
                (into, addr) = (local.map(|(memory, handle)| Landing { memory, handle }), *to);
                Ask::Atomic { command: *command, first: *first, second: *second }
            }
            Action::Event => Ask::Event,
            Action::Shared { tag, bytes } => {
                (data, addr) =
                    (PeerBytes::of(bytes), u64::from(self.own.pe.0) << 32 | u64::from(self.own.inst.0));
                Ask::Shared { tag: *tag }
            }
        };
        let request =
            Request { ask, id: 0, data: data.len() as u32, handle: tx.handle, addr, event: tx.event };
        match link.send(now, request, data, Some((About::Ticket(tx.ticket), into))) {
            Handed::Sent => {
                self.wake_for(&link);
                Submit::Pending
            }
            Handed::Busy => Submit::Busy,
            Handed::Dead => Submit::Done(HwStatus::RequestTimeout),
        }
    }

    /// The service has to look at a link with output left, and at one that now waits for a response.
    fn wake_for(&self, link: &Link) {
        if link.has_output() {
            self.service.wake();
        }
    }

    pub(super) fn send_request(
        &mut self,
        who: Who,
        request: Request,
        data: &[u8],
        about: Option<About>,
    ) -> Option<()> {
        let PeerIndex(index) = self.resolve(who.0, who.1)?;
        let link = self.link(index)?;
        let sent = link.send(self.now, request, PeerBytes::of(data), about.map(|about| (about, None)));
        self.wake_for(&link);
        (sent == Handed::Sent).then_some(())
    }
}

/// The bytes to be stored, wherever they are.
fn bytes_of<'a>(from: &'a Source<'_>) -> PeerBytes<'a> {
    match from {
        Source::Bytes(bytes) => PeerBytes::of(bytes),
        Source::Window(memory) | Source::Registered(memory, _) => memory.as_bytes(),
    }
}
