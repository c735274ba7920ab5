//! Sending: the fast path, the first frame of each protocol, the receiver's answers.

use btl::{Access, Busy, FastPath, Limits, Peer, RemoteKey};
use mem::UserMem;
use pml::{Counters, Data, Done, FastMessages, LayerState, Mode, Origin, ReqId, SendTo, Sends};

use crate::cut::Cutting;
use crate::frame::{self, Body, Exposed, Rendezvous, Sequenced};
use crate::peers::{ENVELOPE, PeerState, Queued};
use crate::request::{Cancel, Pieces, SERIALS, Send, SendStage, State};
use crate::{Ob1, sending};

impl<B: FastPath> Sends<B> for Ob1 {
    fn isend(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> abi::Result<Option<ReqId>> {
        if let (Data::Contiguous(memory), false) = (&data, mode == Mode::Synchronous)
            && self.send_now(btl, to, *memory)
        {
            return Ok(None);
        }
        self.begin_send(btl, to, data, mode)
    }

    #[inline(never)]
    fn begin_send(
        &mut self,
        btl: &mut B,
        to: &SendTo,
        mut data: Data,
        mode: Mode,
    ) -> abi::Result<Option<ReqId>> {
        let total = data.total();
        if self.needs_poll(to.peer, &data, false) {
            self.renew_allowance(btl, to.peer);
        }
        let peer = self.peers.entry(to.peer);
        if peer.lost {
            return self.insert(to.owner, State::Done(Done::lost(to.owner))).map(Some);
        }
        if !self.revoked.is_empty() && self.revoked.contains(&to.context) {
            return self.insert(to.owner, State::Done(Done::revoked(to.owner))).map(Some);
        }
        peer.learn(btl, to.peer);
        let mut waits = peer.is_waiting();
        let eager = data.is_eager(btl, to.peer, peer) && !btl.congested(to.peer);
        if !waits && mode != Mode::Synchronous && eager {
            let header = first_frame(to, peer.next_send(), Body::Eager);
            for _ in 0..=self.config.eager_retries {
                if data.send_part(btl, to.peer, header.words(), 0, total as usize).is_ok() {
                    peer.charge(total);
                    peer.sent();
                    self.counts.eager_sends += 1;
                    return Ok(None);
                }
                core::hint::spin_loop();
            }
            waits = true;
        }
        let stage = SendStage::Queued;
        let answer = matches!(mode, Mode::Blocking | Mode::Synchronous) && peer.answers();
        let send = Send { to: *to, mode, data, stage, answer, cancel: Cancel::No, exposed: None, head: 0 };
        let id = self.insert(to.owner, State::Send(Box::new(send)))?;
        if waits || self.launch(btl, id).is_err() {
            self.enqueue(to.peer, Queued::First(id));
        }
        Ok(Some(id))
    }
}

impl Ob1 {
    /// Allows the peer's share of payload before the next poll; none while payload is refused there.
    pub(crate) fn renew_allowance<B: FastPath>(&mut self, btl: &mut B, peer: Peer) {
        let allowance = if btl.congested(peer) { 0 } else { self.config.allowance() };
        self.peers.entry(peer).allow(allowance);
    }

    /// Sends the first frame of a queued send. The protocol is chosen here, as late as can be, since the peer may
    /// have become congested while the message waited.
    pub(crate) fn launch<B: FastPath>(&mut self, btl: &mut B, id: ReqId) -> Result<(), Busy> {
        let Some(send) = sending(&mut self.requests, id) else { return Ok(()) };
        let to = send.to;
        let total = send.data.total();
        let peer = self.peers.entry(to.peer);
        let accepted = !peer.congested && !btl.congested(to.peer);
        let eager = accepted && send.data.is_eager(btl, to.peer, peer);
        let synchronous = send.mode == Mode::Synchronous;
        let body = match (eager, synchronous) {
            (true, false) => Body::Eager,
            (true, true) => Body::Sync { sender: id.0 },
            (false, _) => Body::Rendezvous(send.offer(btl, id)),
        };
        let payload = match body {
            Body::Rendezvous(Rendezvous { exposed: None, .. }) if accepted => send.head(btl.limits(to.peer)),
            Body::Rendezvous(_) => 0,
            _ => total,
        };
        let header = first_frame(&to, peer.next_send(), body);
        send.data.send_part(btl, to.peer, header.words(), 0, payload as usize)?;
        peer.sent();
        peer.charge(payload);
        send.stage = SendStage::Offered;
        send.head = payload;
        match body {
            Body::Eager => {
                self.counts.eager_sends += 1;
                self.finish(btl, id, Done::sent(to.owner));
            }
            Body::Sync { .. } => self.counts.sync_sends += 1,
            _ => {
                self.counts.offers += 1;
                if send.exposed.is_none() {
                    send.data.announce(btl, to.peer);
                }
            }
        }
        Ok(())
    }

    /// ACK: the receiver has all it wants.
    pub(crate) fn on_ack<B: FastPath>(&mut self, btl: &mut B, peer: Peer, id: ReqId) {
        match self.offered(peer, id) {
            Some(_) => self.finish_send(btl, id),
            None => self.counts.bad_frames += 1,
        }
    }

    /// CTS: the receiver wants `accepted` bytes as fragments of its request `receiver`.
    pub(crate) fn on_cts<B: FastPath>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        id: ReqId,
        receiver: u32,
        accepted: u64,
    ) {
        let Some(send) = self.offered(peer, id) else {
            self.counts.bad_frames += 1;
            return;
        };
        let end = accepted.min(send.data.total());
        send.stage = SendStage::Streaming { receiver, next: send.head.min(end), end };
        if let Some(key) = send.exposed.take() {
            btl.conceal(peer, key);
        }
        self.counts.copies += 1;
        self.stream(btl, id);
    }

    /// RTR: the receiver wants `accepted` bytes put into its memory `key`.
    pub(crate) fn on_rtr<B: FastPath>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        id: ReqId,
        receiver: u32,
        accepted: u64,
        key: RemoteKey,
    ) {
        self.serial = self.serial.wrapping_add(1) % SERIALS;
        let serial = self.serial;
        let Some(send) = self.offered(peer, id) else {
            self.counts.bad_frames += 1;
            return;
        };
        let end = accepted.min(send.data.total());
        let failed = send.data.contiguous().is_none() || !btl.limits(peer).put;
        let pieces = Pieces { next: 0, end, flying: 0, serial, failed };
        send.stage = SendStage::Putting { receiver, key, pieces };
        if let Some(key) = send.exposed.take() {
            btl.conceal(peer, key);
        }
        self.counts.puts += 1;
        self.put(btl, id);
    }

    /// A send to `peer` that waits for the receiver's answer.
    fn offered(&mut self, peer: Peer, id: ReqId) -> Option<&mut Send> {
        sending(&mut self.requests, id)
            .filter(|send| send.to.peer == peer && send.stage == SendStage::Offered)
    }

    /// Completes a send, or leaves that to the outstanding answer to its cancellation.
    pub(crate) fn finish_send<B: FastPath>(&mut self, btl: &mut B, id: ReqId) {
        let Some(send) = sending(&mut self.requests, id) else { return };
        if send.cancel == Cancel::Asked {
            send.stage = SendStage::Finished;
            return;
        }
        let owner = send.to.owner;
        self.finish(btl, id, Done::sent(owner));
    }
}

/// Sends a message in one frame, if that can be done at once.
#[inline(always)]
pub(crate) fn send_whole_now<B: FastPath>(
    peer: &mut PeerState,
    counts: &mut Counters,
    btl: &mut B,
    to: &SendTo,
    mut data: UserMem,
) -> bool {
    let Some(place) = peer.next_short() else { return false };
    let Some(allowance) = peer.allowance.checked_sub(data.len() + ENVELOPE) else { return false };
    let header = place.match_header(Origin::new(to.context, to.source), to.tag);
    if btl.send_eager_on(peer.route, &header, &mut data).is_err() {
        return false;
    }
    peer.allowance = allowance;
    peer.sent();
    counts.eager_sends += 1;
    true
}

impl Send {
    /// Whether the message is too short for zero copy.
    fn goes_in_fragments(&self, limits: &Limits) -> bool {
        let least = if self.answer { limits.min_rdma_answer } else { limits.min_rdma };
        self.data.total() < least as u64
    }

    /// Bytes from the beginning that go with the offer: packed data, and a short answer, need not wait for the receiver's.
    fn head(&self, limits: &Limits) -> u64 {
        let early = self.data.contiguous().is_none() || self.answer && self.goes_in_fragments(limits);
        if early { self.fragment(limits).min(self.data.total()) } else { 0 }
    }

    /// Longest payload of one fragment.
    pub(crate) fn fragment(&self, limits: &Limits) -> u64 {
        self.data.fragment(limits.max_send, self.answer)
    }

    /// The content of the RTS. Exposes the buffer if the receiver could get from it.
    fn offer<B: FastPath>(&mut self, btl: &mut B, id: ReqId) -> Rendezvous {
        let total = self.data.total();
        let peer = self.to.peer;
        let mut offer = Rendezvous { total, sender: id.0, can_put: false, exposed: None };
        let limits = *btl.limits(peer);
        if self.goes_in_fragments(&limits) {
            return offer;
        }
        let Some(memory) = self.data.contiguous() else {
            if self.exposed.is_none() && btl.takes_runs(peer) {
                let runs = self.data.runs();
                self.exposed = runs.and_then(|runs| btl.expose_runs(peer, &runs).ok());
            }
            // Transports that take runs ask for no alignment, so nothing is left over.
            offer.exposed = self.exposed.map(|key| Exposed { key, tail: [0; 8] });
            return offer;
        };
        offer.can_put = limits.put;
        let align = limits.get_align.max(1);
        let reachable = memory.address().is_multiple_of(align) && total % align as u64 <= 8;
        if limits.get && reachable && self.exposed.is_none() {
            self.exposed = btl.expose(peer, memory, Access::Read).ok();
        }
        offer.exposed = self.exposed.map(|key| Exposed { key, tail: tail_of(memory) });
        offer
    }
}

/// The last eight bytes, right-aligned if there are fewer.
fn tail_of(memory: UserMem) -> [u8; 8] {
    let mut tail = [0; 8];
    let len = memory.len().min(8);
    memory.part(memory.len() - len, len).as_bytes().copy_to(&mut tail[8 - len..]);
    tail
}

fn first_frame(to: &SendTo, sequence: u32, body: Body) -> frame::Header {
    Sequenced { sequence, envelope: to.envelope(), body }.header()
}
