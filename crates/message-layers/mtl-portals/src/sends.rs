//! Sends: copies, puts from the user's memory, long messages.

use crate::blocks::{LONG, MESSAGES, SHORT};
use crate::device::Long;
use crate::events::{Operation, word};
use crate::network::PortalsMtl;
use mem::UserMem;
use mtl::{Busy, Event, Peer};
use portals::{
    Ack, Descriptor, Eq, Error, EventKind, Md, Me, NewEntry, Options, Portals, Position, Result, Target,
    Threshold, Unlink,
};

/// Index of the portal table for long messages that wait to be fetched, as Open MPI had it.
pub(crate) const READ: u32 = 33;

/// Buffers that short messages leave from.
pub(crate) struct CopyBlocks {
    blocks: Vec<(UserMem, Md)>,
    free: Vec<u32>,
}

impl CopyBlocks {
    pub(crate) fn new<N: Portals>(nic: &mut N, count: usize, len: usize, eq: Eq) -> Result<CopyBlocks> {
        let make = |number: usize| {
            let memory = portals::lasting(len);
            let user = word(Operation::Copy, number as u32);
            let options = Options::EVENT_START_DISABLE;
            let descriptor = Descriptor { options, user, eq: Some(eq), ..Descriptor::of(memory) };
            nic.md_bind(&descriptor, Unlink::Retain).map(|md| (memory, md))
        };
        let blocks: Vec<_> = (0..count).map(make).collect::<Result<_>>()?;
        Ok(CopyBlocks { blocks, free: (0..count as u32).rev().collect() })
    }

    pub(crate) fn free(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// A send from the user's memory.
pub(crate) struct Send {
    pub(crate) to: Peer,
    /// `None`: no request waits for its end.
    cookie: Option<u64>,
    /// Of a long message: its entry on [`READ`].
    entry: Option<Me>,
    /// Events that are still to come.
    left: u32,
    eq: Eq,
}

impl<N: Portals> PortalsMtl<N> {
    fn target(&self, to: Peer, match_bits: u64) -> Target {
        Target { id: self.ids[to.0 as usize], index: MESSAGES, access: 0, match_bits, offset: 0 }
    }

    pub(crate) fn copy_out(
        &mut self,
        to: Peer,
        bits: u64,
        data: u64,
        payload: UserMem,
    ) -> core::result::Result<(), Busy> {
        if self.copies.free.is_empty() {
            self.take_events();
        }
        let number = self.copies.free.pop().ok_or(Busy)?;
        let (memory, md) = self.copies.blocks[number as usize];
        payload.copy_to(memory);
        let target = self.target(to, bits | SHORT);
        let hdr_data = u64::from(data as u32);
        let put = self.nic.put_region(md, 0, payload.len(), Ack::None, &target, hdr_data);
        put.map_err(|_| {
            self.copies.free.push(number);
            Busy
        })
    }

    pub(crate) fn begin_send(
        &mut self,
        to: Peer,
        bits: u64,
        data: u64,
        payload: UserMem,
        cookie: Option<u64>,
    ) -> core::result::Result<(), Busy> {
        if self.sends.len() >= self.most_sends {
            self.take_events();
            if self.sends.len() >= self.most_sends {
                return Err(Busy);
            }
        }
        let long = payload.len() > self.device.eager_limit;
        let left = if long { 2 } else { 1 };
        let eq = self.queues.open(&mut self.nic).map_err(|_| Busy)?;
        let Ok(number) = self.sends.insert(Send { to, cookie, entry: None, left, eq }) else {
            self.queues.close(&mut self.nic, eq);
            return Err(Busy);
        };
        let descriptor = Descriptor {
            threshold: Threshold::Count(1),
            options: Options::EVENT_START_DISABLE,
            user: word(Operation::Send, number),
            eq: Some(eq),
            ..Descriptor::of(payload)
        };
        let begun = if long {
            self.put_long(to, bits, data, descriptor, number)
        } else {
            self.put_short(to, bits, data, &descriptor)
        };
        begun.map_err(|_| {
            let entry = self.sends.remove(number).and_then(|send| send.entry);
            entry.into_iter().for_each(|me| self.unlink(me));
            self.queues.close(&mut self.nic, eq);
            Busy
        })
    }

    fn put_short(&mut self, to: Peer, bits: u64, data: u64, descriptor: &Descriptor) -> Result<()> {
        let md = self.nic.md_bind(descriptor, Unlink::Unlink)?;
        let target = self.target(to, bits | SHORT);
        let put = self.nic.put(md, Ack::None, &target, u64::from(data as u32));
        if put.is_err() {
            // Nothing was begun on it.
            let _ = self.nic.md_unlink(md);
        }
        put
    }

    /// One descriptor sends the message, or its header, and lets it be fetched, should no receive wait for it.
    fn put_long(
        &mut self,
        to: Peer,
        bits: u64,
        data: u64,
        descriptor: Descriptor,
        number: u32,
    ) -> Result<()> {
        let source = self.ids[to.0 as usize].into();
        let me = self.nic.me_attach(
            READ,
            NewEntry::new(source, number.into(), 0, Unlink::Retain),
            Position::After,
        )?;
        if let Some(send) = self.sends.get_mut(number) {
            send.entry = Some(me);
        }
        let options = descriptor.options | Options::OP_GET | Options::MANAGE_REMOTE;
        let descriptor = Descriptor { threshold: Threshold::Infinite, options, ..descriptor };
        let len = descriptor.memory.len();
        let md = self.nic.md_attach(me, &descriptor, Unlink::Retain)?;
        let target = self.target(to, bits | LONG);
        let entry = u64::from(number) << 32;
        match self.device.long {
            Long::Eager => self.nic.put(md, Ack::Wanted, &target, u64::from(data as u32) | entry),
            Long::Rendezvous => self.nic.put_region(md, 0, 0, Ack::None, &target, len as u64 | entry),
        }
    }

    /// An event of a send's descriptor: of a long one, any two of SEND_END, ACK and GET_END show that it is over. After
    /// a header alone there is no ACK.
    pub(crate) fn on_send(&mut self, number: u32, event: &portals::Event) {
        let Some(send) = self.sends.get_mut(number) else { return };
        if event.failure.is_some() {
            return self.end_send(number, true);
        }
        if matches!(event.kind, EventKind::SendEnd | EventKind::Ack | EventKind::GetEnd) {
            send.left -= 1;
            if send.left == 0 {
                self.end_send(number, false);
            }
        }
    }

    pub(crate) fn end_send(&mut self, number: u32, failed: bool) {
        let Some(Send { cookie, entry, eq, .. }) = self.sends.remove(number) else { return };
        entry.into_iter().for_each(|me| self.unlink(me));
        self.queues.close(&mut self.nic, eq);
        let Some(cookie) = cookie else { return };
        self.events.push_back(if failed { Event::Failed(cookie) } else { Event::Sent(cookie) });
    }

    /// Removes an entry, later if an operation on it is under way.
    pub(crate) fn unlink(&mut self, me: Me) {
        if self.nic.me_unlink(me) == Err(Error::MeInUse) {
            self.leaving.push(me);
        }
    }
}
