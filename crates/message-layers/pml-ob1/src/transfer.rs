//! Moving the payload of a rendezvous: fragments, puts, gets, and the way back from the latter two to the first.

use btl::{FastPath, Refusal};
use pml::{Done, ReqId};

use crate::cut::Cutting;
use crate::frame::Control;
use crate::request::{Pieces, ReceiveStage, SendStage, State, split_cookie};
use crate::{Ob1, sending};

impl Ob1 {
    /// Sends the next fragments of a message: a few, then others have their turn. Whether the transport took any.
    pub(crate) fn stream<B: FastPath>(&mut self, btl: &mut B, id: ReqId) -> bool {
        let Some(send) = sending(&mut self.requests, id) else { return false };
        let SendStage::Streaming { receiver, mut next, end } = send.stage else { return false };
        let (peer, before) = (send.to.peer, next);
        let max = send.fragment(btl.limits(peer));
        let mut refused = false;
        for _ in 0..self.config.fragments_per_turn.max(1) {
            let len = (end - next).min(max);
            let header = Control::Frag { receiver, offset: next }.header();
            if len == 0 {
                break;
            }
            refused = send.data.send_part(btl, peer, header.words(), next, len as usize).is_err();
            if refused {
                break;
            }
            next += len;
        }
        if next == end {
            self.finish_send(btl, id);
        } else {
            send.stage = SendStage::Streaming { receiver, next, end };
            let queue = if refused { &mut self.refused } else { &mut self.work };
            queue.push_back(id);
        }
        next > before
    }

    /// Starts the next puts of a message; reports the end to the receiver.
    pub(crate) fn put<B: FastPath>(&mut self, btl: &mut B, id: ReqId) {
        let Some(send) = sending(&mut self.requests, id) else { return };
        let SendStage::Putting { receiver, key, mut pieces } = send.stage else { return };
        let peer = send.to.peer;
        if let Some(memory) = send.data.contiguous() {
            let max = btl.limits(peer).max_put;
            let cookie = pieces.cookie(id);
            pieces.start(max, self.config.pieces_in_flight, |offset, len| {
                btl.put(peer, memory.part(offset as usize, len), &key, offset, cookie)
            });
        }
        send.stage = SendStage::Putting { receiver, key, pieces };
        match pieces.outlook() {
            Outlook::Flying => {}
            Outlook::Refused => self.refused.push_back(id),
            Outlook::Complete => {
                self.finish_send(btl, id);
                self.control(btl, peer, Control::Fin { receiver });
            }
            Outlook::Failed => {
                send.stage = SendStage::Streaming { receiver, next: 0, end: pieces.end };
                self.counts.fallbacks += 1;
                self.stream(btl, id);
            }
        }
    }

    /// Starts the next gets of a message; reports the end to the sender.
    pub(crate) fn get<B: FastPath>(&mut self, btl: &mut B, id: ReqId) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let State::Receive(receive) = &mut request.state else { return };
        let ReceiveStage::Getting { key, tail, mut pieces } = receive.stage else { return };
        let peer = receive.peer;
        let cookie = pieces.cookie(id);
        if let Some(memory) = receive.data.contiguous() {
            let limits = btl.limits(peer);
            let max = limits.max_get - limits.max_get % limits.get_align.max(1);
            pieces.start(max, self.config.pieces_in_flight, |offset, len| {
                btl.get(peer, memory.part(offset as usize, len), &key, offset, cookie)
            });
        } else if let Some(runs) = receive.data.runs().filter(|_| pieces.next == 0) {
            pieces.start(usize::MAX, 1, |_, _| btl.get_runs(peer, &runs, &key, cookie));
        }
        receive.stage = ReceiveStage::Getting { key, tail, pieces };
        let sender = receive.offer.sender;
        match pieces.outlook() {
            Outlook::Flying => {}
            Outlook::Refused => self.refused.push_back(id),
            Outlook::Complete => {
                let rest = (receive.accepted - pieces.end).min(8) as usize;
                receive.data.pour(pieces.end, mem::PeerBytes::of(&tail[8 - rest..]));
                let done =
                    Done::received(&receive.envelope, receive.accepted, receive.offer.total, request.owner);
                self.finish(btl, id, done);
                self.control(btl, peer, Control::Ack { sender });
            }
            Outlook::Failed => {
                receive.stage = ReceiveStage::Incoming { received: 0, exposed: None };
                let accepted = receive.accepted;
                self.counts.fallbacks += 1;
                self.control(btl, peer, Control::Cts { sender, receiver: id.0, accepted });
            }
        }
    }

    /// A get or put is over. An event of a request that is gone, with its peer, is ignored.
    pub(crate) fn piece_over<B: FastPath>(&mut self, btl: &mut B, cookie: u64, failed: bool) {
        let (id, serial) = split_cookie(cookie);
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let pieces = match &mut request.state {
            State::Send(send) => match &mut send.stage {
                SendStage::Putting { pieces, .. } => pieces,
                _ => return,
            },
            State::Receive(receive) => match &mut receive.stage {
                ReceiveStage::Getting { pieces, .. } => pieces,
                ReceiveStage::Incoming { .. } => return,
            },
            State::Posted(_) | State::Done(_) => return,
        };
        if pieces.serial != serial || pieces.flying == 0 {
            return;
        }
        pieces.flying -= 1;
        pieces.failed |= failed;
        if matches!(request.state, State::Send(_)) {
            self.put(btl, id);
        } else {
            self.get(btl, id);
        }
    }
}

/// Where a transfer in pieces stands.
enum Outlook {
    /// Some piece's end will be reported.
    Flying,
    /// Nothing is under way, and the transport had no resources to start anything: try again.
    Refused,
    Complete,
    /// Nothing is under way, and a piece failed.
    Failed,
}

impl Pieces {
    /// Starts pieces of at most `max` bytes until `most` are flying.
    fn start(&mut self, max: usize, most: u32, mut begin: impl FnMut(u64, usize) -> Result<(), Refusal>) {
        while !self.failed && self.next < self.end && self.flying < most.max(1) {
            let len = (self.end - self.next).min(max as u64);
            if len == 0 {
                self.failed = true;
                return;
            }
            match begin(self.next, len as usize) {
                Ok(()) => {
                    self.next += len;
                    self.flying += 1;
                }
                Err(Refusal::Busy) => return,
                Err(Refusal::Unfit) => self.failed = true,
            }
        }
    }

    fn outlook(&self) -> Outlook {
        match (self.flying, self.failed) {
            (1.., _) => Outlook::Flying,
            (0, true) => Outlook::Failed,
            (0, false) if self.next == self.end => Outlook::Complete,
            (0, false) => Outlook::Refused,
        }
    }
}
