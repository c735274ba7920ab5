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
use crate::fabric::{Fabric, Packet, PacketKind, Undeliverable};
use gni::{Datagram, Ep, Error, InstId, PeAddr, PostState, Result, Time, limits};
use std::collections::VecDeque;

type Who = (PeAddr, InstId);
/// A datagram's bytes and how many of them count.
type Data = ([u8; limits::DATAGRAM_MAX], u8);

/// Answers that are kept for requests that come again.
const ANSWERS: usize = 64;
/// Longest pause before a request is sent again.
const LONGEST_PAUSE: Time = Time::from_millis(1000);

/// All exchanges of one NIC.
#[derive(Default)]
pub(super) struct Exchanges {
    records: Vec<Record>,
    /// Requests that came before anything was posted for them, oldest first.
    held: VecDeque<Offer>,
    /// What was answered to the latest requests.
    answered: VecDeque<(Offer, Data)>,
    next_sequence: u32,
}

/// A post of this side.
struct Record {
    ep: u32,
    id: Option<u64>,
    /// The peer; `None` for a wildcard that has not matched.
    peer: Option<Who>,
    wildcard: bool,
    state: PostState,
    sequence: u32,
    out: Data,
    back: Data,
    tries: u32,
    /// When to send again; `None`: never.
    again: Option<Time>,
}

/// A peer's request.
#[derive(Clone, Copy)]
struct Offer {
    from: Who,
    sequence: u32,
    data: Data,
}

impl Exchanges {
    pub(super) fn is_idle(&self) -> bool {
        self.records.iter().all(|record| record.again.is_none())
    }

    /// Whether an exchange of `ep` exists.
    pub(super) fn names(&self, ep: u32) -> bool {
        self.records.iter().any(|record| record.ep == ep)
    }

    fn find(&self, ep: u32, id: Option<u64>) -> Result<usize> {
        self.records.iter().position(|record| (record.ep, record.id) == (ep, id)).ok_or(Error::NoMatch)
    }

    fn take_held(&mut self, peer: Option<Who>) -> Option<Offer> {
        let at = self.held.iter().position(|offer| peer.is_none_or(|peer| offer.from == peer))?;
        self.held.remove(at)
    }

    fn remember(&mut self, offer: Offer, answer: Data) {
        if self.answered.len() == ANSWERS {
            self.answered.pop_front();
        }
        self.answered.push_back((offer, answer));
    }
}

impl Record {
    fn complete(&mut self, with: Who, back: Data) {
        self.peer = Some(with);
        self.back = back;
        self.state = PostState::Completed;
        self.again = None;
    }
}

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
        let twice = self.exchanges.records.iter().any(|record| {
            let same_peer = peer.is_some() && record.peer == peer && record.id == id && !record.wildcard;
            !record.state.is_terminal() && same_peer || (record.ep, record.id) == (ep.0, id)
        });
        if twice {
            return Err(Error::Resource);
        }
        let sequence = self.exchanges.next_sequence;
        self.exchanges.next_sequence = sequence.wrapping_add(1);
        let mut record = Record {
            ep: ep.0,
            id,
            peer,
            wildcard: peer.is_none(),
            state: PostState::Pending,
            sequence,
            out,
            back: ([0; limits::DATAGRAM_MAX], 0),
            tries: 0,
            again: peer.map(|_| self.now),
        };
        if let Some(offer) = self.exchanges.take_held(peer) {
            record.complete(offer.from, offer.data);
            self.answer(offer, out);
        }
        self.exchanges.records.push(record);
        self.send_due_datagrams();
        Ok(())
    }

    pub(super) fn test_datagram(&mut self, ep: Ep, id: Option<u64>) -> Result<Datagram> {
        self.ep_mut(ep)?;
        self.advance_unasked();
        let at = self.exchanges.find(ep.0, id)?;
        let record = &self.exchanges.records[at];
        let (pe, inst) = record.peer.unwrap_or_default();
        let datagram = Datagram::new(record.state, pe, inst, &record.back.0[..usize::from(record.back.1)]);
        if record.state.is_terminal() {
            self.exchanges.records.remove(at);
        }
        Ok(datagram)
    }

    pub(super) fn cancel_datagram(&mut self, ep: Ep, id: Option<u64>) -> Result<()> {
        self.ep_mut(ep)?;
        let at = self.exchanges.find(ep.0, id)?;
        let record = &mut self.exchanges.records[at];
        if record.state.is_terminal() {
            return Ok(());
        }
        record.state = PostState::Terminated;
        record.again = None;
        let (sequence, peer) = (record.sequence, record.peer);
        match peer {
            None => drop(self.exchanges.records.remove(at)),
            Some(peer) => drop(self.send_packet(PacketKind::Cancel, peer, sequence, &([0; 128], 0))),
        }
        Ok(())
    }

    /// The first terminal exchange that has an id, or has none.
    pub(super) fn probe_datagram(&mut self, with_id: bool) -> Result<(Who, Option<u64>)> {
        let terminal = |record: &&Record| record.state.is_terminal() && record.id.is_some() == with_id;
        if !self.exchanges.records.iter().any(|record| terminal(&record)) {
            self.advance_unasked();
        }
        let record = self.exchanges.records.iter().find(terminal).ok_or(Error::NoMatch)?;
        Ok((record.peer.unwrap_or_default(), record.id))
    }

    fn answer(&mut self, offer: Offer, with: Data) {
        // A lost answer is given again when the peer asks again.
        let _ = self.send_packet(PacketKind::Reply, offer.from, offer.sequence, &with);
        self.exchanges.remember(offer, with);
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
        for at in 0..self.exchanges.records.len() {
            let record = &self.exchanges.records[at];
            let (Some(again), Some(peer)) = (record.again, record.peer) else { continue };
            if again > self.now {
                continue;
            }
            let (sequence, out, tries) = (record.sequence, record.out, record.tries + 1);
            let sent = self.send_packet(PacketKind::Request, peer, sequence, &out);
            let pause = self.config.datagram_interval.0.saturating_mul(u64::from(tries).pow(2));
            let limit = self.config.datagram_tries;
            let now = self.now;
            let record = &mut self.exchanges.records[at];
            // A peer without room is there; that does not count as a try, but the pause grows all the same.
            if sent == Err(Undeliverable::Full) && tries >= limit {
                record.tries = limit - 1;
            } else {
                record.tries = tries;
            }
            record.again = Some(now + Time(pause.min(LONGEST_PAUSE.0)));
            if record.tries >= limit {
                record.state = PostState::Timeout;
                record.again = None;
            }
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
                    if let Some(record) = self.waiting_record(from, packet.sequence) {
                        record.complete(from, data);
                    }
                }
                PacketKind::Held => {
                    let later = self.now + LONGEST_PAUSE;
                    if let Some(record) = self.waiting_record(from, packet.sequence) {
                        // The peer is there and has it; but its answer may be lost one day, so ask now and then.
                        (record.tries, record.again) = (0, Some(later));
                    }
                }
                PacketKind::Cancel => {
                    self.exchanges
                        .held
                        .retain(|offer| (offer.from, offer.sequence) != (from, packet.sequence));
                }
            }
        }
    }

    fn waiting_record(&mut self, peer: Who, sequence: u32) -> Option<&mut Record> {
        self.exchanges.records.iter_mut().find(|record| {
            record.state == PostState::Pending && record.peer == Some(peer) && record.sequence == sequence
        })
    }

    fn take_request(&mut self, offer: Offer) {
        let same = |other: &Offer| (other.from, other.sequence) == (offer.from, offer.sequence);
        if let Some((_, answer)) = self.exchanges.answered.iter().find(|(other, _)| same(other)) {
            let answer = *answer;
            let _ = self.send_packet(PacketKind::Reply, offer.from, offer.sequence, &answer);
            return;
        }
        let pending = |record: &&mut Record| record.state == PostState::Pending;
        let records = &mut self.exchanges.records;
        let exact = records.iter_mut().filter(pending).position(|record| record.peer == Some(offer.from));
        let matched = match exact {
            Some(nth) => records.iter_mut().filter(pending).nth(nth),
            None => records.iter_mut().filter(pending).find(|record| record.wildcard),
        };
        if let Some(record) = matched {
            record.complete(offer.from, offer.data);
            let out = record.out;
            return self.answer(offer, out);
        }
        if !self.exchanges.held.iter().any(same) {
            self.exchanges.held.push_back(offer);
        }
        let _ = self.send_packet(PacketKind::Held, offer.from, offer.sequence, &([0; 128], 0));
    }
}
