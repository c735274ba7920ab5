//! What arrives: the walk along the match list, and what an accepted operation does.
//!
//! ```text
//!   index and access entry in range, admitted? ──no──▶ dropped
//!     │
//!     ▼ for each entry of the list, in order
//!   source and bits fit? descriptor there and active? ──no──▶ next entry
//!   operation enabled? room, or may it be cut? ───────no──▶ next entry    (a refusal is not the end)
//!     │ yes
//!     ▼
//!   offset moves on, threshold counts ── START ── data ── acknowledgement ── END ── UNLINK if that was its last
//!
//!   end of the list ──▶ dropped, counted; no event, no acknowledgement
//! ```

use super::initiator::event;
use super::{Flight, SoftNic};
use crate::fabric::{Arrival, Fabric, Header, Identity, Spot};
use mem::PeerBytes;
use portals::{EventKind, Md, Options};

/// Where an operation was accepted: the descriptor, and the part of it.
type Accepted = (Md, (usize, usize));

/// What a get-put needs.
const SWAP: Options = Options(Options::OP_PUT.0 | Options::OP_GET.0);

impl<F: Fabric> SoftNic<F> {
    /// Does what a header asks for.
    pub(super) fn take(&mut self, arrival: &Arrival) {
        let from = arrival.from;
        match arrival.header {
            Header::Put { spot, hdr_data, ack } => self.take_put(from, &spot, hdr_data, ack),
            Header::Get { spot, reply } => self.take_get(from, &spot, reply),
            Header::GetPut { spot, hdr_data, reply } => self.take_get_put(from, &spot, hdr_data, reply),
            Header::Ack { md, spot, mlength } => self.take_ack(from, md, &spot, mlength),
            Header::Reply { into, spot, mlength } => self.take_reply(from, into, &spot, mlength),
        }
    }

    /// Finds the descriptor that accepts an operation and counts the operation there; `Err`: how many entries refused it.
    fn accept(&mut self, from: Identity, spot: &Spot, wants: Options) -> Result<(Accepted, u32), u32> {
        let mut walked = 0;
        let found = self.find(from, spot, wants, &mut walked);
        self.counts.walked += u64::from(walked);
        let Some(place) = found.filter(|_| !self.faults.drops() && !self.flights.is_full()) else {
            self.counts.dropped[0] += 1;
            self.counts.dropped[1] += spot.len;
            return Err(walked);
        };
        let (md, (_, mlength)) = place;
        self.count_received(mlength as u64);
        if let Some(attached) = self.descriptors.get_mut(md.0) {
            attached.accepted(mlength);
        }
        Ok((place, walked))
    }

    fn find(&self, from: Identity, spot: &Spot, wants: Options, walked: &mut u32) -> Option<Accepted> {
        let list = self.lists.get(spot.index as usize)?;
        if wants == SWAP && spot.len > u64::from(self.limits.max_getput_md) {
            return None;
        }
        let access = (*self.access.get(spot.access as usize)?)?;
        if !access.admits(from.id, from.uid, from.jid, spot.index) {
            return None;
        }
        let mut next = list.head;
        while let Some(entry) = next.and_then(|key| self.entries.get(key)) {
            *walked += 1;
            next = entry.next;
            if !entry.fits(from.id, spot.match_bits) {
                continue;
            }
            let Some(md) = entry.md else { continue };
            let Some(attached) = self.descriptors.get(md.0).filter(|attached| attached.is_active()) else {
                continue;
            };
            if let Some(part) = attached.accepts(wants, spot.offset, spot.len) {
                return Some((md, part));
            }
        }
        None
    }

    fn take_put(&mut self, from: Identity, spot: &Spot, hdr_data: u64, ack: Option<u32>) {
        let (place, walked) = match self.accept(from, spot, Options::OP_PUT) {
            Ok(found) => found,
            Err(walked) => return self.fabric.discard(walked),
        };
        let Some(ticket) = self.arrive(EventKind::PutStart, from, spot, place, hdr_data, ack) else {
            return self.fabric.discard(walked);
        };
        self.deliver(place.0, place.1, walked, ticket);
    }

    fn take_get(&mut self, from: Identity, spot: &Spot, reply: (u32, u64)) {
        let accepted = self.accept(from, spot, Options::OP_GET);
        let (Ok((_, walked)) | Err(walked)) = accepted;
        self.fabric.discard(walked);
        let Ok(((md, (offset, len)), _)) = accepted else { return };
        let Some(ticket) = self.arrive(EventKind::GetStart, from, spot, (md, (offset, len)), 0, None) else {
            return;
        };
        let spot = Spot { offset: offset as u64, ..*spot };
        let header = Header::Reply { into: reply, spot, mlength: len as u64 };
        self.submit(from.id, &header, md, offset, len, ticket);
    }

    fn take_get_put(&mut self, from: Identity, spot: &Spot, hdr_data: u64, reply: (u32, u64)) {
        let (place, walked) = match self.accept(from, spot, SWAP) {
            Ok(found) => found,
            Err(walked) => return self.fabric.discard(walked),
        };
        let new = self.fabric.bytes(walked);
        let Some(ticket) = self.arrive(EventKind::GetPutStart, from, spot, place, hdr_data, None) else {
            return;
        };
        let (md, (offset, len)) = place;
        let old = self.swap(md, offset, &new[..len.min(new.len())]);
        let spot = Spot { offset: offset as u64, ..*spot };
        let header = Header::Reply { into: reply, spot, mlength: old.len() as u64 };
        self.send_bare(from.id, &header, &old);
        self.land(ticket, true);
    }

    /// Stores bytes into a descriptor's memory and returns what was there.
    fn swap(&mut self, md: Md, offset: usize, new: &[u8]) -> Vec<u8> {
        let Some(attached) = self.descriptors.get(md.0) else { return Vec::new() };
        let mut old = Vec::with_capacity(new.len());
        for run in attached.descriptor.memory.part(offset, new.len()) {
            let from = old.len();
            old.extend(run.as_bytes().to_vec());
            run.write(PeerBytes::of(&new[from..old.len()]));
        }
        old
    }

    /// Reports that an accepted operation begins.
    fn arrive(
        &mut self,
        kind: EventKind,
        from: Identity,
        spot: &Spot,
        (md, part): Accepted,
        hdr_data: u64,
        ack: Option<u32>,
    ) -> Option<u32> {
        let link = self.next_link();
        let event = event(kind, from, spot, (md, part), hdr_data, link, self);
        let ack = ack.filter(|_| !event.descriptor.options.has(Options::ACK_DISABLE));
        self.begin(Flight { md, event, ack })
    }
}
