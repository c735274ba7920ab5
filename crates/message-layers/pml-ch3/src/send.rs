//! Sends: which protocol, and what waits for room.

use crate::Ch3;
use crate::lanes::Out;
use crate::packet::{self, Kind, NO_REQUEST, Packet};
use crate::request::{Phase, Request, Send, State};
use crate::staging::{Staged, WORD};
use abi::{Error, Result};
use btl::{Access, Btl, Busy, Peer, Refusal};
use mem::UserMem;
use pml::{Data, Done, FastMessages, Mode, Origin, ReqId, SendTo, Sends, Sent};

impl<B: Btl> Sends<B> for Ch3 {
    fn isend(&mut self, btl: &mut B, to: &SendTo, mut data: Data, mode: Mode) -> Result<Option<ReqId>> {
        let sync = mode == Mode::Synchronous;
        if !sync && self.sends_at_once(btl, to.peer, data.total()) && self.send_eager(btl, to, &mut data) {
            return Ok(None);
        }
        let send = Send {
            peer: to.peer,
            envelope: to.envelope(),
            data,
            sync,
            phase: Phase::Waiting,
            key: None,
            puts: 0,
        };
        let id = self.insert(to.owner, State::Send(send))?;
        self.unfinished += 1;
        if self.lanes.is_lost(to.peer) {
            self.finish(id, Done::lost(to.owner));
        } else if self.lanes.is_waiting(to.peer) || self.launch(btl, id).is_err() {
            self.lanes.push(to.peer, Out::First(id));
        }
        Ok(Some(id))
    }

    fn begin_send(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        self.isend(btl, to, data, mode)
    }
}

impl<B: Btl> FastMessages<B> for Ch3 {
    fn send_short(&mut self, btl: &mut B, to: Peer, origin: Origin, tag: i32, data: UserMem) -> Sent {
        let (context, source) = (packet::high(origin.context_above()), origin.source_below() as u32);
        let to = SendTo { peer: to, context, source, tag, owner: 0 };
        if self.send_now(btl, &to, data) { Sent::Awake } else { Sent::Refused }
    }

    fn send_now(&mut self, btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        self.sends_at_once(btl, to.peer, data.len() as u64)
            && self.send_eager(btl, to, &mut Data::Contiguous(data))
    }
}

/// A protocol's refusal to carry a message; the next one takes it.
struct Next;

impl Ch3 {
    /// Longest payload of one packet.
    pub(crate) fn packet_payload<B: Btl>(&self, btl: &B, peer: Peer) -> usize {
        let on_node = self.lanes.get(peer).is_some_and(|lane| lane.on_node);
        let limit = if on_node { self.config.cells } else { self.config.vshort };
        limit.min(btl.limits(peer).max_send)
    }

    /// Whether a message of `len` bytes goes by E0, before anything else.
    fn sends_at_once<B: Btl>(&self, btl: &B, peer: Peer, len: u64) -> bool {
        len <= self.packet_payload(btl, peer) as u64
            && !self.lanes.is_waiting(peer)
            && !self.lanes.is_lost(peer)
    }

    /// Sends by E0, without a request.
    fn send_eager<B: Btl>(&mut self, btl: &mut B, to: &SendTo, data: &mut Data) -> bool {
        let len = data.total();
        let packet = Packet::message(Kind::Eager, &to.envelope(), NO_REQUEST, len, false);
        let sent = self.send_ordered(btl, to.peer, packet, data, len as usize).is_ok();
        self.counts.eager_sends += u64::from(sent);
        sent
    }

    /// Sends the next packet of the sequence, with the first `len` bytes of `data`.
    pub(crate) fn send_ordered<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        mut packet: Packet,
        data: &mut Data,
        len: usize,
    ) -> std::result::Result<(), Busy> {
        packet.seq = self.lanes.of(peer).next_out;
        let (words, count) = packet.encode();
        data.send_part(btl, peer, &words[..count], 0, len)?;
        let lane = self.lanes.of(peer);
        lane.next_out = lane.next_out.wrapping_add(1);
        Ok(())
    }

    /// Sends the first packet of a request.
    pub(crate) fn launch<B: Btl>(&mut self, btl: &mut B, id: ReqId) -> std::result::Result<(), Busy> {
        let Some(request) = self.requests.get_mut(id.0) else { return Ok(()) };
        let owner = request.owner;
        let State::Send(send) = &mut request.state else { return Ok(()) };
        let (peer, total, sync, envelope) = (send.peer, send.data.total(), send.sync, send.envelope);
        // The buffer is the caller's until the request is complete, and this one is not.
        let mut data = std::mem::replace(&mut send.data, Data::Contiguous(UserMem::EMPTY));
        let name = if sync { id.0 } else { NO_REQUEST };
        let launched = if total <= self.packet_payload(btl, peer) as u64 {
            let packet = Packet::message(Kind::Eager, &envelope, name, total, sync);
            self.send_ordered(btl, peer, packet, &mut data, total as usize).map(|()| Phase::Eager)
        } else {
            match self.stage(
                btl,
                peer,
                Packet::message(Kind::Staged, &envelope, name, total, sync),
                &mut data,
            ) {
                Ok(staged) => staged.map(|()| Phase::Eager),
                Err(Next) => self.offer(btl, id, peer, &envelope, &mut data).map(|()| Phase::Offered),
            }
        };
        if let Some(Request { state: State::Send(send), .. }) = self.requests.get_mut(id.0) {
            send.data = data;
            send.phase = launched.unwrap_or(Phase::Waiting);
        }
        match launched? {
            Phase::Eager if sync => self.counts.sync_sends += 1,
            Phase::Eager => {
                self.counts.eager_sends += 1;
                self.finish(id, Done::sent(owner));
            }
            _ => self.counts.offers += 1,
        }
        Ok(())
    }

    /// E1: copies the message into a buffer and sends its key.
    fn stage<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        mut packet: Packet,
        data: &mut Data,
    ) -> std::result::Result<std::result::Result<(), Busy>, Next> {
        let (len, limits) = (data.total() as usize, *btl.limits(peer));
        let on_node = self.lanes.of(peer).on_node;
        if len > self.config.eager || on_node || !limits.get || limits.get_align > WORD {
            return Err(Next);
        }
        let buffer = self.outgoing.take(false).ok_or(Next)?;
        let memory = self.outgoing.memory(buffer, len.next_multiple_of(WORD));
        let key = match btl.expose(peer, memory, Access::Read) {
            Ok(key) => key,
            Err(refusal) => {
                self.outgoing.give(buffer);
                return if refusal == Refusal::Busy { Ok(Err(Busy)) } else { Err(Next) };
            }
        };
        let staged = self.staged.insert(Staged { peer, buffer, key, len });
        if let Ok(staged) = staged {
            let bounds = memory.address()..memory.address() + len;
            btl.expect_packing(peer, bounds, 1);
            pack(data, memory.part(0, len));
            packet.words[2] = packet::pair(staged, len as u32);
            let sent = self.send_ordered(
                btl,
                peer,
                packet.with_key(Some(key)),
                &mut Data::Contiguous(UserMem::EMPTY),
                0,
            );
            if sent.is_ok() {
                return Ok(sent);
            }
            self.staged.remove(staged);
        }
        btl.conceal(peer, key);
        self.outgoing.give(buffer);
        if staged.is_ok() { Ok(Err(Busy)) } else { Err(Next) }
    }

    /// R0 and R1: offers the message, with the key of its memory if that can be had.
    fn offer<B: Btl>(
        &mut self,
        btl: &mut B,
        id: ReqId,
        peer: Peer,
        envelope: &pml::Envelope,
        data: &mut Data,
    ) -> std::result::Result<(), Busy> {
        let key = match data.contiguous().map(|memory| btl.expose(peer, memory, Access::Read)) {
            Some(Err(Refusal::Busy)) => return Err(Busy),
            exposed => exposed.and_then(std::result::Result::ok),
        };
        let packet = Packet::message(Kind::Offer, envelope, id.0, data.total(), false).with_key(key);
        let sent = self.send_ordered(btl, peer, packet, &mut Data::Contiguous(UserMem::EMPTY), 0);
        match (sent, self.requests.get_mut(id.0)) {
            (Ok(()), Some(Request { state: State::Send(send), .. })) => send.key = key,
            _ => key.into_iter().for_each(|key| btl.conceal(peer, key)),
        }
        sent
    }

    /// Sends what waits for room, as far as there is any; how much.
    pub(crate) fn send_waiting<B: Btl>(&mut self, btl: &mut B) -> usize {
        let mut sent = 0;
        for peer in self.lanes.waiting() {
            while let Some(out) = self.lanes.pop(peer) {
                match self.send_out(btl, peer, out) {
                    Ok(()) => sent += 1,
                    Err(rest) => {
                        self.lanes.push_front(peer, rest);
                        break;
                    }
                }
            }
        }
        sent
    }

    /// Sends a packet without a place in the sequence, now or when there is room.
    pub(crate) fn send_packet<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: Packet) {
        let out = Out::Packet(packet);
        if self.lanes.is_waiting(peer) {
            self.lanes.push(peer, out);
        } else if let Err(rest) = self.send_out(btl, peer, out) {
            self.lanes.push(peer, rest);
        }
    }

    /// As [`Ch3::send_packet`], of fragments.
    pub(crate) fn send_fragments<B: Btl>(&mut self, btl: &mut B, peer: Peer, out: Out) {
        if let Err(rest) = self.send_out(btl, peer, out) {
            self.lanes.push(peer, rest);
        }
    }

    /// Sends what waited; what is left of it waits on.
    fn send_out<B: Btl>(&mut self, btl: &mut B, peer: Peer, out: Out) -> std::result::Result<(), Out> {
        let nothing = &mut Data::Contiguous(UserMem::EMPTY);
        match out {
            Out::First(id) => self.launch(btl, id).map_err(|Busy| Out::First(id)),
            Out::Packet(packet) if packet.is_ordered() => {
                self.send_ordered(btl, peer, packet, nothing, 0).map_err(|Busy| Out::Packet(packet))
            }
            Out::Packet(packet) => {
                let (words, count) = packet.encode();
                nothing.send_part(btl, peer, &words[..count], 0, 0).map_err(|Busy| Out::Packet(packet))
            }
            Out::Fragments { send, receive, mut offset, mut len } => {
                let most = self.packet_payload(btl, peer).max(1) as u64;
                let Some(Request { state: State::Send(request), .. }) = self.requests.get_mut(send) else {
                    return Ok(());
                };
                while len > 0 {
                    let piece = len.min(most);
                    let (words, count) = Packet::about(Kind::Data, receive, 0, offset, piece).encode();
                    let sent = request.data.send_part(btl, peer, &words[..count], offset, piece as usize);
                    sent.map_err(|Busy| Out::Fragments { send, receive, offset, len })?;
                    (offset, len) = (offset + piece, len - piece);
                }
                self.counts.copies += 1;
                Ok(())
            }
            Out::Pieces { staged, fetch, mut offset } => {
                let most = self.packet_payload(btl, peer).max(1) as u64;
                let Some(&Staged { buffer, len, .. }) = self.staged.get(staged) else { return Ok(()) };
                let mut data = Data::Contiguous(self.outgoing.memory(buffer, len));
                while offset < len as u64 {
                    let piece = most.min(len as u64 - offset);
                    let (words, count) = Packet::about(Kind::Piece, fetch, 0, offset, piece).encode();
                    let sent = data.send_part(btl, peer, &words[..count], offset, piece as usize);
                    sent.map_err(|Busy| Out::Pieces { staged, fetch, offset })?;
                    offset += piece;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn insert(&mut self, owner: u32, state: State) -> Result<ReqId> {
        match self.requests.insert(Request::new(owner, state)) {
            Ok(key) => {
                self.changes = self.changes.wrapping_add(1);
                Ok(ReqId(key))
            }
            Err(_) => Err(Error::new(abi::ERR_NO_MEM, "2^23 requests are in use, which is all there are")),
        }
    }

    /// Ends a request: nothing uses its memory any more, its result can be had.
    pub(crate) fn finish(&mut self, id: ReqId, done: Done) {
        self.changes = self.changes.wrapping_add(1);
        let Some(request) = self.requests.get_mut(id.0) else { return };
        if matches!(request.state, State::Send(_) | State::Receive(_)) {
            self.unfinished -= 1;
        }
        request.state = State::Done(done);
        if request.detached {
            self.requests.remove(id.0);
        }
    }
}

/// Copies a whole message.
fn pack(data: &mut Data, into: UserMem) {
    match data {
        Data::Contiguous(memory) => {
            memory.copy_to(into);
        }
        Data::Typed(stream) => {
            stream.seek(0);
            stream.fill(into.as_space());
        }
    }
}
