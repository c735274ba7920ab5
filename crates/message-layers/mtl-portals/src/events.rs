//! The NIC's events; the owner's word of its descriptor names what an event is about.

use crate::blocks::{CATCH_ALL, LONG, LONG_ENTRY, USER_BITS};
use crate::device::Long;
use crate::network::{Exhausted, PortalsMtl};
use mtl::{Event, Message, Peer};
use portals::{EventKind, Portals};

/// What a descriptor of the expected queue is for; the lower half of its owner's word is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Operation {
    Copy = 1 << 32,
    Send = 2 << 32,
    Receive = 3 << 32,
    Fetch = 4 << 32,
}

/// The owner's word of an operation's descriptor.
pub(crate) fn word(operation: Operation, number: u32) -> u64 {
    operation as u64 | u64::from(number)
}

impl<N: Portals> PortalsMtl<N> {
    /// The message that an event is about.
    pub(crate) fn message(&self, event: &portals::Event) -> Message {
        let from = self.peers.get(&event.initiator).copied().unwrap_or(Peer(u32::MAX));
        let (bits, word) = (event.match_bits & USER_BITS, event.hdr_data & u64::from(u32::MAX));
        let (data, len) = match self.device.long {
            Long::Eager => (word, event.rlength as u64),
            Long::Rendezvous if event.match_bits & LONG != 0 => (0, word),
            Long::Rendezvous => (0, event.rlength as u64),
        };
        Message { from, bits, data, len }
    }

    /// Takes all events that there are.
    pub(crate) fn take_events(&mut self) {
        self.take_unexpected();
        while let Some(taken) = self.queues.next(&mut self.nic) {
            if taken.dropped {
                self.run_out("events of its receives and sends", self.device.parameters.expected);
            }
            self.on_expected(&taken.event);
        }
        self.fetch_again();
        while let Some(id) = self.nic.lost() {
            if let Some(&peer) = self.peers.get(&id) {
                self.lose(peer);
            }
        }
        if !self.leaving.is_empty() {
            let nic = &mut self.nic;
            self.leaving.retain(|&me| nic.me_unlink(me) == Err(portals::Error::MeInUse));
        }
        self.queues.close_leaving(&mut self.nic);
    }

    /// Takes the events of messages without a receive; whether there were any.
    pub(crate) fn take_unexpected(&mut self) -> bool {
        let mut any = false;
        while let Ok(taken) = self.nic.eq_get(self.queues.unexpected) {
            any = true;
            if taken.dropped {
                self.run_out("events of messages without a receive", self.device.parameters.unexpected);
            }
            self.on_unexpected(&taken.event);
        }
        any
    }

    fn on_expected(&mut self, event: &portals::Event) {
        let user = event.descriptor.user;
        let number = user as u32;
        match user & !u64::from(u32::MAX) {
            kind if kind == Operation::Copy as u64 => {
                if event.kind == EventKind::SendEnd {
                    self.copies.free(number);
                }
            }
            kind if kind == Operation::Send as u64 => self.on_send(number, event),
            kind if kind == Operation::Receive as u64 => self.on_receive(number, event),
            _ => self.on_fetch(number, event),
        }
    }

    fn on_unexpected(&mut self, event: &portals::Event) {
        match (event.kind, event.descriptor.user) {
            (EventKind::PutStart, CATCH_ALL) => {
                self.run_out("memory for messages without a receive", self.device.parameters.memory);
            }
            (EventKind::PutStart, LONG_ENTRY) => self.long_came(event),
            (EventKind::PutStart, _) => self.short_came(event),
            (EventKind::PutEnd, LONG_ENTRY | CATCH_ALL) => {}
            (EventKind::PutEnd, _) => self.short_is_here(event),
            (EventKind::Unlink, block) => {
                let filled = self.blocks.filled(&mut self.nic, block);
                self.need_entry(filled);
            }
            _ => {}
        }
    }

    /// A block could not be put back into the list.
    pub(crate) fn need_entry(&mut self, posted: portals::Result<()>) {
        if posted.is_err() {
            self.run_out("match entries", "portals_accelerated");
        }
    }

    /// Messages are lost, or would be: nothing can be relied on any more.
    pub(crate) fn run_out(&mut self, of: &'static str, parameter: &'static str) {
        self.exhausted.get_or_insert(Exhausted { of, parameter });
        for peer in 0..self.ids.len() as u32 {
            self.lose(Peer(peer));
        }
    }

    /// A peer is gone.
    pub(crate) fn lose(&mut self, peer: Peer) {
        if core::mem::replace(&mut self.lost[peer.0 as usize], true) {
            return;
        }
        // The owner knows that before it learns which operations have ended for it.
        self.events.push_back(Event::PeerLost(peer));
        self.end_all_with(peer);
    }
}
