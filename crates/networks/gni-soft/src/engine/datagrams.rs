//! Datagram exchanges, after the kernel driver's rules.
//!
//! ```text
//!   poster                                         the other side
//!   Request ───────────────────────────────────▶   posted for this peer?   complete both, Reply
//!                                                  a wildcard posted?      complete both, Reply
//!   ask now and then    ◀──────────────── Held     neither: keep it until something is posted
//!   complete            ◀─────────────── Reply     posted later: complete at once
//! ```
//!
//! Two requests that cross complete each other. A request is sent again until it is answered or its tries are
//! used up; the answers to the last few are remembered, so that a repeated request is answered the same way.

use super::SoftNic;
use super::exchanges::{Data, Offer, Tries, Who};
use crate::fabric::{Fabric, Packet, PacketKind, Undeliverable};
use gni::{Datagram, Ep, Error, PostState, Result, Time, limits};

/// Longest pause before a request is sent again.
const LONGEST_PAUSE: Time = Time::from_millis(1000);
/// The bytes of packets that carry none.
const NOTHING: Data = ([0; limits::DATAGRAM_MAX], 0);

fn data_of(bytes: &[u8]) -> Result<Data> {
    let mut data = [0; limits::DATAGRAM_MAX];
    data.get_mut(..bytes.len()).ok_or(Error::Size)?.copy_from_slice(bytes);
    Ok((data, bytes.len() as u8))
}

impl<F: Fabric> SoftNic<F> {
    pub(super) fn post_datagram(&mut self, ep: Ep, bytes: &[u8], id: Option<u64>) -> Result<()> {
        let bound = self.ep_mut(ep)?.bound;
        if id == Some(u64::MAX) {
            return Err(Error::InvalidParam);
        }
        if bound.is_none() && id.is_none() {
            return Err(Error::InvalidState);
        }
        let out = data_of(bytes)?;
        let peer = bound.map(|bound| (bound.pe, bound.inst));
        let number = self.exchanges.post(ep.0, id, peer, out, self.now)?;
        if let Some(offer) = self.exchanges.take_held(peer) {
            self.exchanges.complete(number, offer.from, offer.data);
            self.answer(offer, out);
        }
        self.send_due_datagrams();
        Ok(())
    }

    pub(super) fn test_datagram(&mut self, ep: Ep, id: Option<u64>) -> Result<Datagram> {
        self.ep_mut(ep)?;
        self.advance_unasked();
        let number = self.exchanges.find(ep.0, id)?;
        let record = self.exchanges.get(number).ok_or(Error::NoMatch)?;
        let (pe, inst) = record.peer.unwrap_or_default();
        let datagram = Datagram::new(record.state, pe, inst, &record.back.0[..usize::from(record.back.1)]);
        if record.state.is_terminal() {
            self.exchanges.remove(number);
        }
        Ok(datagram)
    }

    pub(super) fn cancel_datagram(&mut self, ep: Ep, id: Option<u64>) -> Result<()> {
        self.ep_mut(ep)?;
        let number = self.exchanges.find(ep.0, id)?;
        let record = self.exchanges.get(number).ok_or(Error::NoMatch)?;
        if record.state.is_terminal() {
            return Ok(());
        }
        match record.peer {
            None => self.exchanges.remove(number),
            Some(peer) => {
                self.exchanges.end(number, PostState::Terminated);
                // A lost cancellation leaves the peer with a request that no NIC waits for.
                let _ = self.send_packet(PacketKind::Cancel, peer, number, &NOTHING);
            }
        }
        Ok(())
    }

    /// The first terminal exchange that has an id, or has none.
    pub(super) fn probe_datagram(&mut self, with_id: bool) -> Result<(Who, Option<u64>)> {
        if self.exchanges.first_over(with_id).is_none() {
            self.advance_unasked();
        }
        let record = self.exchanges.first_over(with_id).ok_or(Error::NoMatch)?;
        Ok((record.peer.unwrap_or_default(), record.id))
    }

    fn answer(&mut self, offer: Offer, with: Data) {
        // A lost answer is given again when the peer asks again.
        let _ = self.send_packet(PacketKind::Reply, offer.from, offer.sequence, &with);
        self.exchanges.remember(offer.from, offer.sequence, &with);
    }

    fn send_packet(
        &mut self,
        kind: PacketKind,
        to: Who,
        sequence: u32,
        data: &Data,
    ) -> core::result::Result<(), Undeliverable> {
        let packet = Packet {
            kind,
            pe: self.fabric.pe(),
            inst: self.fabric.inst(),
            key: self.fabric.key(),
            sequence,
            len: data.1,
            data: data.0,
        };
        if self.faults.loses_packet() {
            return Ok(());
        }
        self.fabric.send_packet(self.now, to, &packet)
    }

    /// Sends the requests whose time has come, for the first time or again.
    pub(super) fn send_due_datagrams(&mut self) {
        for number in self.exchanges.due(self.now) {
            let Some(record) = self.exchanges.get(number) else { continue };
            let (Some(peer), out, mut tries) = (record.peer, record.out, record.tries) else { continue };
            if tries.unanswered >= self.config.datagram_tries {
                self.exchanges.end(number, PostState::Timeout);
                continue;
            }
            match self.send_packet(PacketKind::Request, peer, number, &out) {
                Err(Undeliverable::Full) => tries.refused += 1,
                // No try will be answered.
                Err(Undeliverable::Gone) => {
                    self.exchanges.end(number, PostState::Timeout);
                    continue;
                }
                Ok(()) | Err(Undeliverable::Absent) => tries.unanswered += 1,
            }
            let count = u64::from(tries.unanswered) + u64::from(tries.refused);
            let pause = self.config.datagram_interval.0.saturating_mul(count.saturating_pow(2));
            self.exchanges.try_again(number, tries, self.now + Time(pause.min(LONGEST_PAUSE.0)));
        }
    }

    pub(super) fn take_packets(&mut self) {
        while let Some(packet) = self.fabric.next_packet(self.now) {
            if packet.key != self.fabric.key() || usize::from(packet.len) > limits::DATAGRAM_MAX {
                continue;
            }
            let from = (packet.pe, packet.inst);
            let data = (packet.data, packet.len);
            match packet.kind {
                PacketKind::Request => self.take_request(Offer { from, sequence: packet.sequence, data }),
                PacketKind::Reply => {
                    if self.exchanges.is_pending(from, packet.sequence) {
                        self.exchanges.complete(packet.sequence, from, data);
                    }
                }
                PacketKind::Held => {
                    if self.exchanges.is_pending(from, packet.sequence) {
                        // The peer is there and has it; but its answer may be lost one day, so ask now and then.
                        self.exchanges.try_again(packet.sequence, Tries::default(), self.now + LONGEST_PAUSE);
                    }
                }
                PacketKind::Cancel => self.exchanges.drop_held(from, packet.sequence),
            }
        }
    }

    fn take_request(&mut self, offer: Offer) {
        let (from, sequence) = (offer.from, offer.sequence);
        if let Some(answer) = self.exchanges.answer_to(from, sequence) {
            let _ = self.send_packet(PacketKind::Reply, from, sequence, &answer);
            return;
        }
        let matched = self.exchanges.matching(from);
        if let Some((number, record)) = matched.and_then(|number| Some((number, self.exchanges.get(number)?)))
        {
            let out = record.out;
            self.exchanges.complete(number, from, offer.data);
            return self.answer(offer, out);
        }
        self.exchanges.hold(offer);
        let _ = self.send_packet(PacketKind::Held, from, sequence, &NOTHING);
    }
}
