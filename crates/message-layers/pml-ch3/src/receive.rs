//! Receives, probes, and messages that meet them.

use crate::Ch3;
use crate::lanes::{Early, EarlyBody};
use crate::matching::{Body, Kept};
use crate::packet::{Kind, Packet};
use crate::request::{Receive, State, TransferKind};
use abi::{Error, Result, Status};
use btl::{Arrival, Btl, Peer, Receiver};
use mem::{PeerBytes, UserMem};
use pml::{Data, Done, Envelope, LayerState, MessageId, Pattern, Receives, ReqId};

/// A message at the moment of its match.
struct Matched<'a> {
    peer: Peer,
    envelope: Envelope,
    total: u64,
    sender: u32,
    body: MatchedBody<'a>,
}

enum MatchedBody<'a> {
    Whole { bytes: PeerBytes<'a>, sync: bool },
    Offered(Option<btl::RemoteKey>),
}

impl Kept {
    fn matched(&self) -> Matched<'_> {
        let body = match &self.body {
            Body::Whole { sync, .. } => MatchedBody::Whole { bytes: self.bytes(), sync: *sync },
            Body::Offered(key) => MatchedBody::Offered(*key),
        };
        let Kept { peer, envelope, total, sender, .. } = *self;
        Matched { peer, envelope, total, sender, body }
    }

    fn status(&self) -> Status {
        Status::new(self.envelope.source, self.envelope.tag, self.total)
    }
}

impl<B: Btl> Receives<B> for Ch3 {
    fn irecv(&mut self, btl: &mut B, pattern: &Pattern, into: Data) -> Result<ReqId> {
        let id = self.insert(pattern.owner, State::Posted { pattern: *pattern, into })?;
        match self.unexpected.take(pattern) {
            Some(kept) => self.meet(btl, id, &kept.matched()),
            None if pattern.peer.is_some_and(|peer| self.lanes.is_lost(peer)) => {
                self.finish(id, Done::lost(pattern.owner));
            }
            None => self.posted.push_back(id),
        }
        Ok(id)
    }

    fn recv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<Done> {
        let found = self.unexpected.find(pattern)?;
        if matches!(found.body, Body::Offered(_)) {
            return None;
        }
        let kept = self.unexpected.take(pattern)?;
        let stored = into.write(kept.bytes()) as u64;
        if let Body::Whole { sync: true, .. } = kept.body {
            self.tell_matched(btl, kept.peer, kept.sender);
        }
        Some(Done::received(&kept.envelope, stored, kept.total, pattern.owner))
    }

    fn accept_for(
        &mut self,
        btl: &mut B,
        arrival: &Arrival,
        pattern: &Pattern,
        into: UserMem,
    ) -> Option<Done> {
        self.accept(btl, arrival);
        self.recv_now(btl, pattern, into)
    }

    fn iprobe(&mut self, _btl: &mut B, pattern: &Pattern) -> Option<Status> {
        self.unexpected.find(pattern).map(Kept::status)
    }

    fn improbe(&mut self, _btl: &mut B, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
        if self.claimed.is_full() {
            return Err(Error::new(abi::ERR_NO_MEM, "2^23 messages are claimed, which is all there are"));
        }
        let Some(kept) = self.unexpected.take(pattern) else { return Ok(None) };
        let status = kept.status();
        Ok(self.claimed.insert(kept).ok().map(|key| (MessageId(key), status)))
    }

    fn imrecv(&mut self, btl: &mut B, message: MessageId, owner: u32, into: Data) -> Result<ReqId> {
        if self.claimed.get(message.0).is_none() {
            return Err(Error::new(abi::ERR_REQUEST, "there is no such message"));
        }
        let pattern = Pattern { context: 0, source: 0, tag: 0, peer: None, owner };
        let id = self.insert(owner, State::Posted { pattern, into })?;
        if let Some(kept) = self.claimed.remove(message.0) {
            self.meet(btl, id, &kept.matched());
        }
        Ok(id)
    }

    fn take_awaited(&mut self, btl: &mut B, id: ReqId, polls: u32) -> Option<Done> {
        for _ in 0..polls {
            if self.is_complete(id) != Some(false) {
                break;
            }
            let peer = match &self.requests.get(id.0)?.state {
                State::Posted { pattern, .. } => pattern.peer,
                _ => None,
            };
            let Some(arrival) = peer.and_then(|peer| btl.next_arrival_from(peer)) else { continue };
            self.accept(btl, &arrival);
            btl.release(arrival);
        }
        self.take(id)
    }
}

impl Ch3 {
    /// Takes a packet of the sequence, whose payload is the arrival's.
    pub(crate) fn accept_ordered<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        packet: Packet,
        payload: PeerBytes<'_>,
    ) {
        let lane = self.lanes.of(peer);
        let (seq, next) = (packet.seq, lane.next_in);
        if seq.wrapping_sub(next) as i32 >= 0 && packet.kind != Kind::Staged && seq == next {
            lane.next_in = next.wrapping_add(1);
            self.handle(btl, peer, &packet, payload);
            return self.handle_early(btl, peer);
        }
        if (seq.wrapping_sub(next) as i32) < 0 || lane.early.contains_key(&seq) {
            self.counts.bad_frames += 1;
            return;
        }
        self.counts.parked_arrivals += u64::from(seq != next);
        let body = if packet.kind == Kind::Staged {
            match self.fetch(btl, peer, &packet) {
                Some(fetch) => EarlyBody::Fetching(fetch),
                None => return self.counts.bad_frames += 1,
            }
        } else {
            EarlyBody::Here(payload.to_vec())
        };
        self.lanes.of(peer).early.insert(seq, Early { packet, body });
        self.handle_early(btl, peer);
    }

    /// Handles the packets whose turn it is.
    pub(crate) fn handle_early<B: Btl>(&mut self, btl: &mut B, peer: Peer) {
        loop {
            let lane = self.lanes.of(peer);
            let next = lane.next_in;
            match lane.early.get(&next).map(|early| &early.body) {
                None => return,
                Some(&EarlyBody::Fetching(fetch)) => {
                    if self.fetches.get(fetch).is_some_and(|fetch| fetch.left > 0) {
                        return;
                    }
                }
                Some(EarlyBody::Here(_)) => {}
            }
            let lane = self.lanes.of(peer);
            lane.next_in = next.wrapping_add(1);
            let Some(Early { packet, body }) = lane.early.remove(&next) else { return };
            match body {
                EarlyBody::Here(bytes) => self.handle(btl, peer, &packet, PeerBytes::of(&bytes)),
                EarlyBody::Fetching(name) => {
                    let Some(fetch) = self.fetches.remove(name) else { continue };
                    let Some(buffer) = fetch.buffer else { continue };
                    let memory = self.incoming.memory(buffer, fetch.len);
                    btl.expect_packing(peer, memory.address()..memory.address() + memory.len(), 1);
                    self.handle(btl, peer, &packet, memory.as_bytes());
                    self.incoming.give(buffer);
                }
            }
        }
    }

    /// Handles a packet of the sequence.
    fn handle<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet, payload: PeerBytes<'_>) {
        let (envelope, sender) = (packet.envelope(), packet.request());
        let body = match packet.kind {
            Kind::Cancel => return self.drop_cancelled(btl, peer, sender),
            Kind::Offer => MatchedBody::Offered(packet.key()),
            _ => MatchedBody::Whole { bytes: payload, sync: packet.sync },
        };
        let total = if packet.kind == Kind::Offer { packet.words[2] } else { payload.len() as u64 };
        let matched = Matched { peer, envelope, total, sender, body };
        let receives = |id: &ReqId| {
            let state = self.requests.get(id.0).map(|request| &request.state);
            matches!(state, Some(State::Posted { pattern, .. }) if pattern.matches(&envelope))
        };
        let Some(place) = self.posted.iter().position(receives) else { return self.keep(matched) };
        if let Some(id) = self.posted.remove(place) {
            self.meet(btl, id, &matched);
        }
    }

    fn keep(&mut self, matched: Matched<'_>) {
        let Matched { peer, envelope, total, sender, body } = matched;
        let body = match body {
            MatchedBody::Whole { bytes, sync } => Body::Whole { bytes: bytes.to_vec(), sync },
            MatchedBody::Offered(key) => Body::Offered(key),
        };
        self.counts.unexpected_arrivals += 1;
        self.changes = self.changes.wrapping_add(1);
        self.notices.add(&envelope, total);
        self.unexpected.push(Kept { peer, envelope, total, sender, body });
    }

    /// A posted receive meets its message.
    fn meet<B: Btl>(&mut self, btl: &mut B, id: ReqId, message: &Matched<'_>) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let owner = request.owner;
        let State::Posted { into, .. } = &mut request.state else { return };
        match message.body {
            MatchedBody::Whole { bytes, sync } => {
                into.announce(btl, message.peer);
                let stored = into.pour(0, bytes);
                self.finish(id, Done::received(&message.envelope, stored, message.total, owner));
                if sync {
                    self.tell_matched(btl, message.peer, message.sender);
                }
            }
            MatchedBody::Offered(_) if self.lanes.is_lost(message.peer) => {
                self.finish(id, Done::lost(owner));
            }
            MatchedBody::Offered(key) => {
                let into = std::mem::replace(into, Data::Contiguous(UserMem::EMPTY));
                let wanted = into.total().min(message.total);
                let receive = Receive {
                    peer: message.peer,
                    envelope: message.envelope,
                    into,
                    sender: message.sender,
                    total: message.total,
                    wanted,
                    key,
                    way: TransferKind::Get,
                    asked: 0,
                    arrived: 0,
                    gets: 0,
                    failed: false,
                    open: Vec::new(),
                };
                request.state = State::Receive(receive);
                self.unfinished += 1;
                self.begin_receive(btl, id);
            }
        }
    }

    fn tell_matched<B: Btl>(&mut self, btl: &mut B, peer: Peer, sender: u32) {
        if !self.lanes.is_lost(peer) {
            self.send_packet(btl, peer, Packet::about(Kind::Matched, sender, 0, 0, 0));
        }
    }
}
