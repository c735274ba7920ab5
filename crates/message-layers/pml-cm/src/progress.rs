//! What the network reports, and what is done when a peer is gone.

use btl::{Arrival, Btl, Receiver};
use mem::UserMem;
use mtl::{Event, Mtl, Peer};
use pml::{Done, ReqId};

use crate::Cm;
use crate::request::{Cookie, Stage, State, Waiting};

/// Most events that one call takes.
const EVENTS: usize = 32;

impl<M: Mtl, B: Btl> Receiver<B> for Cm<M> {
    /// The layer sends no frames, so no honest peer does.
    fn accept(&mut self, _btl: &mut B, _arrival: &Arrival) {
        self.counts.bad_frames += 1;
    }

    fn on_event(&mut self, _btl: &mut B, event: btl::Event) {
        if let btl::Event::PeerLost(peer) = event {
            self.peer_lost(peer);
        }
    }

    fn awaits(&self) -> bool {
        self.unfinished != 0 || self.posted != 0
    }

    fn advance(&mut self, _btl: &mut B) -> usize {
        self.progress()
    }
}

impl<M: Mtl> Cm<M> {
    /// Goes on with what waits for room, and takes some events; how many things happened.
    pub(crate) fn progress(&mut self) -> usize {
        let mut happened = 0;
        if !self.hears_wishes {
            self.hear_wishes();
        }
        if !self.incoming.is_empty() {
            happened += self.post_all();
        }
        if !self.wishes.is_empty() {
            happened += self.grant();
        }
        if !self.outgoing.is_empty() {
            happened += self.flush();
        }
        for _ in 0..EVENTS {
            let Some(event) = self.mtl.next_event() else { break };
            self.take_event(event);
            happened += 1;
        }
        happened += self.find_sought();
        self.changes = self.changes.wrapping_add(happened as u32);
        happened
    }

    fn hear_wishes(&mut self) {
        let posted = self.mtl.recv(&self.layout.want_cancels(), UserMem::EMPTY, Cookie::Cancels.word());
        self.hears_wishes = posted.is_ok();
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Sent(cookie) => {
                if let Cookie::Message(id) = Cookie::of(cookie) {
                    self.on_sent(id, false);
                }
            }
            Event::Received { cookie, message, stored } => match Cookie::of(cookie) {
                Cookie::Message(id) => self.on_received(id, &message, stored),
                Cookie::Matched(id) => self.on_match_word(id),
                Cookie::Verdict(id) => self.on_verdict(id, message.data),
                Cookie::Cancels => {
                    self.wishes.push_back(message);
                    self.hear_wishes();
                    self.grant();
                }
            },
            Event::Cancelled(cookie) => self.on_over(Cookie::of(cookie), false),
            Event::Failed(cookie) => self.on_over(Cookie::of(cookie), true),
            Event::PeerLost(peer) => self.peer_lost(peer),
        }
    }

    /// The memory of a send is free. `failed`: its message has not left.
    fn on_sent(&mut self, id: ReqId, failed: bool) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let State::Send(send) = &mut request.state else { return };
        send.stage = Stage::Sent;
        send.lost |= failed;
        self.settle_send(id);
    }

    /// A synchronous message was matched, or the receiver will not announce that any more.
    fn on_match_word(&mut self, id: ReqId) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let State::Send(send) = &mut request.state else { return };
        send.match_awaited = None;
        self.settle_send(id);
    }

    /// An operation of the network ended without its message.
    fn on_over(&mut self, cookie: Cookie, failed: bool) {
        match cookie {
            Cookie::Message(id) => {
                let Some(request) = self.requests.get(id.0) else { return };
                let owner = request.owner;
                match &request.state {
                    State::Send(_) => self.on_sent(id, true),
                    State::Receive(receive) if receive.lost || failed => self.finish(id, Done::lost(owner)),
                    State::Receive(_) => self.finish(id, Done::cancelled(owner)),
                    State::Done(_) => {}
                }
            }
            Cookie::Matched(id) if failed => {
                if let Some(request) = self.requests.get_mut(id.0)
                    && let State::Send(send) = &mut request.state
                {
                    send.lost = true;
                }
                self.on_match_word(id);
            }
            Cookie::Matched(_) | Cookie::Verdict(_) => {}
            Cookie::Cancels => self.hears_wishes = false,
        }
    }

    /// `peer` is gone: what depends on it ends with `ERR_PROC_ABORTED`. Whole messages from it can still be received.
    fn peer_lost(&mut self, peer: Peer) {
        if !self.lost.insert(peer) {
            return;
        }
        self.lost_news.push(peer);
        self.outgoing.remove(&peer);
        let mut over = Vec::new();
        let Cm { mtl, requests, .. } = self;
        for (key, request) in requests.iter_mut() {
            match &mut request.state {
                State::Send(send) if send.to.peer == peer => {
                    send.lost = true;
                    if send.stage == Stage::Queued {
                        send.stage = Stage::Sent;
                    }
                    over.push(ReqId(key));
                }
                State::Receive(receive) if receive.pattern.peer == Some(peer) => {
                    receive.lost = true;
                    if let Waiting::Posted(posted) = receive.stage {
                        // The network may not know that it asks for this peer.
                        mtl.cancel(posted);
                    }
                }
                _ => {}
            }
        }
        self.mtl.give_up(peer);
        over.into_iter().for_each(|id| self.settle_send(id));
    }
}
