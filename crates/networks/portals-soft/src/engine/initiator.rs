//! Operations that this process begins, and the answers to them.

use super::queues::{reports, reports_something};
use super::{Flight, SoftNic};
use crate::fabric::{Data, Fabric, Header, Identity, Sent, Spot};
use portals::{Ack, Error, Event, EventKind, Failure, Jid, Md, Options, ProcessId, Result, Target, Uid};

impl<F: Fabric> SoftNic<F> {
    /// Checks what every operation needs: an active descriptor, a region within it, a process that exists, room.
    fn may_begin(&mut self, md: Md, offset: usize, len: usize, to: ProcessId) -> Result<()> {
        let attached = self.descriptor(md)?;
        if !attached.is_active() {
            return Err(Error::MdInvalid);
        }
        if offset.checked_add(len).is_none_or(|end| end > attached.len) {
            return Err(Error::MdIllegal);
        }
        if !self.fabric.knows(to) {
            return Err(Error::ProcessInvalid);
        }
        if self.fabric.waiting() >= self.operations as usize
            || self.flights.is_full()
            || self.faults.has_no_space()
        {
            return Err(Error::NoSpace);
        }
        Ok(())
    }

    /// Counts an operation on an initiator's descriptor and reports that it begins.
    fn depart(&mut self, md: Md, event: Event, ack: Option<u32>) -> Option<u32> {
        let attached = self.descriptors.get_mut(md.0)?;
        attached.count();
        attached.pending += 1;
        let descriptor = attached.descriptor.clone();
        self.begin(Flight { md, event: Event { descriptor, ..event }, ack })
    }

    /// Posts the START event of an operation and keeps it until its END.
    pub(super) fn begin(&mut self, flight: Flight) -> Option<u32> {
        let (options, eq) = (flight.event.descriptor.options, flight.event.descriptor.eq);
        if reports(options, true) {
            self.post(flight.event.clone());
        }
        if reports(options, false) {
            Self::open(&mut self.rings, eq, 1);
        }
        self.flights.insert(flight).ok()
    }

    /// Hands a header and a part of a descriptor's memory to the fabric.
    pub(super) fn submit(
        &mut self,
        to: ProcessId,
        header: &Header,
        md: Md,
        offset: usize,
        len: usize,
        ticket: u32,
    ) {
        let mut runs = core::mem::take(&mut self.runs);
        runs.clear();
        if let Some(attached) = self.descriptors.get(md.0) {
            runs.extend(attached.descriptor.memory.part(offset, len));
        }
        let sent = self.fabric.send(to, header, Data::Runs(&runs), ticket);
        self.runs = runs;
        self.count_sent(len as u64);
        match sent {
            Sent::Done => self.land(ticket, true),
            Sent::Unreachable => self.land(ticket, false),
            Sent::Pending => {}
        }
    }

    pub(super) fn count_sent(&mut self, bytes: u64) {
        self.counts.sent[0] += 1;
        self.counts.sent[1] += bytes;
    }

    pub(super) fn begin_put(
        &mut self,
        md: Md,
        (offset, len): (usize, usize),
        ack: Ack,
        target: &Target,
        hdr_data: u64,
    ) -> Result<()> {
        self.may_begin(md, offset, len, target.id)?;
        let spot = spot(target, len);
        let event = self.own_event(EventKind::SendStart, target, md, (offset, len), hdr_data);
        let ticket = self.depart(md, event, None).ok_or(Error::NoSpace)?;
        if self.faults.fails() {
            self.finish(ticket, Some(Failure::Injected));
            return Ok(());
        }
        let ack = (ack == Ack::Wanted).then_some(md.0);
        self.submit(target.id, &Header::Put { spot, hdr_data, ack }, md, offset, len, ticket);
        Ok(())
    }

    /// A get has no event when it leaves, and does not count: its reply does.
    pub(super) fn begin_get(&mut self, md: Md, offset: usize, len: usize, target: &Target) -> Result<()> {
        self.may_begin(md, offset, len, target.id)?;
        let header = Header::Get { spot: spot(target, len), reply: (md.0, offset as u64) };
        self.send_bare(target.id, &header, &[]);
        Ok(())
    }

    pub(super) fn begin_get_put(&mut self, get: Md, put: Md, target: &Target, hdr_data: u64) -> Result<()> {
        let (into, from) = (self.descriptor(get)?.len, self.descriptor(put)?.len);
        if into != from || from > self.limits.max_getput_md as usize {
            return Err(Error::MdIllegal);
        }
        self.may_begin(get, 0, into, target.id)?;
        self.may_begin(put, 0, from, target.id)?;
        let event = self.own_event(EventKind::SendStart, target, put, (0, from), hdr_data);
        let ticket = self.depart(put, event, None).ok_or(Error::NoSpace)?;
        let header = Header::GetPut { spot: spot(target, from), hdr_data, reply: (get.0, 0) };
        self.submit(target.id, &header, put, 0, from, ticket);
        Ok(())
    }

    /// Sends a header, with few bytes; its leaving is not reported.
    pub(super) fn send_bare(&mut self, to: ProcessId, header: &Header, bytes: &[u8]) {
        self.count_sent(bytes.len() as u64);
        // No flight has this number.
        self.fabric.send(to, header, Data::Bytes(bytes), u32::MAX);
    }

    fn own_event(
        &mut self,
        kind: EventKind,
        target: &Target,
        md: Md,
        (offset, len): (usize, usize),
        hdr_data: u64,
    ) -> Event {
        let link = self.next_link();
        let identity = Identity { id: self.who.id, uid: self.who.uid, jid: self.who.jid };
        let spot = Spot { offset: offset as u64, ..spot(target, len) };
        event(kind, identity, &spot, (md, (offset, len)), hdr_data, link, self)
    }

    /// A put of this process was accepted.
    pub(super) fn take_ack(&mut self, from: Identity, md: u32, spot: &Spot, mlength: u64) {
        self.fabric.discard(0);
        let Some(attached) = self.descriptors.get_mut(md).filter(|attached| attached.is_active()) else {
            return;
        };
        attached.count();
        let reported = reports_something(attached.descriptor.options);
        let link = self.next_link();
        let (offset, mlength) = (spot.offset as usize, mlength as usize);
        let event = event(EventKind::Ack, from, spot, (Md(md), (offset, mlength)), 0, link, self);
        self.count_received(0);
        if reported {
            self.post(event.clone());
        }
        self.retire(Md(md), &event);
    }

    /// What this process asked for.
    pub(super) fn take_reply(&mut self, from: Identity, (md, at): (u32, u64), spot: &Spot, mlength: u64) {
        let place = self.descriptors.get(md).filter(|attached| attached.is_active()).and_then(|attached| {
            let room = (attached.len as u64).checked_sub(at)?;
            let truncates = attached.descriptor.options.has(Options::TRUNCATE);
            (mlength <= room || truncates).then(|| (at as usize, mlength.min(room) as usize))
        });
        let Some((offset, len)) = place else {
            self.fabric.discard(0);
            return;
        };
        let link = self.next_link();
        let start = event(EventKind::ReplyStart, from, spot, (Md(md), (offset, len)), 0, link, self);
        self.count_received(len as u64);
        let Some(ticket) = self.depart(Md(md), start, None) else {
            self.fabric.discard(0);
            return;
        };
        self.deliver(Md(md), (offset, len), 0, ticket);
    }

    pub(super) fn count_received(&mut self, bytes: u64) {
        self.counts.received[0] += 1;
        self.counts.received[1] += bytes;
    }

    /// Has the fabric put data into a part of a descriptor's memory.
    pub(super) fn deliver(&mut self, md: Md, (offset, len): (usize, usize), walked: u32, ticket: u32) {
        let mut runs = core::mem::take(&mut self.runs);
        runs.clear();
        if let Some(attached) = self.descriptors.get(md.0) {
            runs.extend(attached.descriptor.memory.part(offset, len));
        }
        let done = self.fabric.deliver(&runs, walked, ticket);
        self.runs = runs;
        if done {
            self.land(ticket, true);
        }
    }

    /// An operation is over: acknowledges, posts the END event, and lets the descriptor go if that was its last one.
    pub(super) fn finish(&mut self, ticket: u32, failure: Option<Failure>) {
        let Some(Flight { md, mut event, ack }) = self.flights.remove(ticket) else { return };
        if let Some(attached) = self.descriptors.get_mut(md.0) {
            attached.pending -= 1;
            event.descriptor.threshold = attached.descriptor.threshold;
        }
        if let (Some(initiators_md), None) = (ack, failure) {
            let spot = Spot {
                index: event.index,
                access: 0,
                match_bits: event.match_bits,
                offset: event.offset as u64,
                len: event.rlength as u64,
            };
            let header = Header::Ack { md: initiators_md, spot, mlength: event.mlength as u64 };
            self.send_bare(event.initiator, &header, &[]);
        }
        event.kind = end_of(event.kind);
        event.failure = failure;
        let (options, eq) = (event.descriptor.options, event.descriptor.eq);
        if reports(options, false) {
            Self::open(&mut self.rings, eq, -1);
            self.post(event.clone());
        }
        self.retire(md, &event);
    }
}

fn spot(target: &Target, len: usize) -> Spot {
    Spot {
        index: target.index,
        access: target.access,
        match_bits: target.match_bits,
        offset: target.offset as u64,
        len: len as u64,
    }
}

/// The event that belongs to the START of an operation.
fn end_of(kind: EventKind) -> EventKind {
    match kind {
        EventKind::GetStart => EventKind::GetEnd,
        EventKind::PutStart => EventKind::PutEnd,
        EventKind::GetPutStart => EventKind::GetPutEnd,
        EventKind::ReplyStart => EventKind::ReplyEnd,
        EventKind::SendStart => EventKind::SendEnd,
        other => other,
    }
}

/// An event about the part (offset, length) of a descriptor.
pub(super) fn event<F: Fabric>(
    kind: EventKind,
    Identity { id, uid, jid }: Identity,
    spot: &Spot,
    (md, (offset, mlength)): (Md, (usize, usize)),
    hdr_data: u64,
    link: u64,
    nic: &SoftNic<F>,
) -> Event {
    let descriptor = match nic.descriptors.get(md.0) {
        Some(attached) => attached.descriptor.clone(),
        None => portals::Descriptor::of(mem::UserMem::EMPTY),
    };
    let (uid, jid): (Uid, Jid) = (uid, jid);
    Event {
        kind,
        initiator: id,
        uid,
        jid,
        index: spot.index,
        match_bits: spot.match_bits,
        rlength: spot.len as usize,
        mlength,
        offset,
        md,
        descriptor,
        hdr_data,
        link,
        sequence: 0,
        failure: None,
    }
}
