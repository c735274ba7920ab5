//! Progress: arrivals, events, what waits for room, congestion, lost peers.

use btl::{Arrival, Event, FastPath, Full, Peer, Receiver};
use mem::PeerBytes;
use pml::{Done, ReqId};

use crate::Ob1;
use crate::frame::{self, Body, Control, Frame, SEQUENCES, Sequenced};
use crate::payload::Payload;
use crate::peers::{PeerState, Queued};
use crate::receive::deliver_eager;
use crate::request::State;

/// Whether, and how, this process has announced that payload is refused.
#[derive(Default)]
pub(crate) struct Congestion {
    on: bool,
    /// Counts the changes; 0 before the first.
    epoch: u32,
    /// Peers that have it by frames, for want of a word of the transport.
    told: Vec<Peer>,
    by_frames: bool,
}

/// Most waiting items sent per peer in one turn.
const WAITING_PER_TURN: usize = 64;

impl<B: FastPath> Receiver<B> for Ob1 {
    fn accept(&mut self, btl: &mut B, arrival: &Arrival) {
        let Arrival { peer, header, payload, .. } = *arrival;
        self.changes = self.changes.wrapping_add(1);
        if self.accept_awaited(peer, header, payload) {
            return;
        }
        match Frame::parse(header, payload.len()) {
            Some(Frame::Sequenced(frame)) => self.on_sequenced(btl, peer, frame, payload),
            Some(Frame::Control(control)) => self.on_control(btl, peer, control, payload),
            None => self.counts.bad_frames += 1,
        }
    }

    fn on_event(&mut self, btl: &mut B, event: Event) {
        self.changes = self.changes.wrapping_add(1);
        match event {
            Event::Done(cookie) => self.piece_over(btl, cookie, false),
            Event::Failed(cookie) => self.piece_over(btl, cookie, true),
            Event::PeerLost(peer) => self.peer_lost(btl, peer),
            // Windows are not the message layer's.
            Event::Flushed(_) => {}
        }
    }

    fn awaits(&self) -> bool {
        self.awaits_messages()
    }

    fn advance(&mut self, btl: &mut B) -> usize {
        let mut happened = 0;
        if !self.waiting.is_empty() {
            happened += self.send_waiting(btl);
        }
        if !self.work.is_empty() || !self.refused.is_empty() {
            happened += self.take_turns(btl);
        }
        happened
    }
}

impl Ob1 {
    /// Whether there are receives without a message, or requests that wait for an answer.
    fn awaits_messages(&self) -> bool {
        self.posted.len() != 0 || self.unfinished != 0
    }

    /// Treats an eager message that is the next in its order and has its receive: the fast path of a program that posts
    /// its receives in time. `false`: nothing was done.
    #[inline]
    fn accept_awaited(&mut self, peer: Peer, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> bool {
        let Some(mut turn) = self.peers.get(peer).and_then(PeerState::turn) else { return false };
        let Some(words) = frame::plain(header) else { return false };
        let Some((key, envelope)) = turn.take(words, &mut self.posted) else { return false };
        deliver_eager(&mut self.requests, ReqId(key), &envelope, payload);
        true
    }

    fn on_sequenced<B: FastPath>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        frame: Sequenced,
        payload: PeerBytes<'_>,
    ) {
        let state = self.peers.entry(peer);
        state.learn(btl, peer);
        let ahead = state.expected.to(frame.sequence);
        if ahead == 0 {
            state.expected.advance();
            let resume = state.has_parked;
            self.in_order(btl, peer, frame, payload);
            if resume {
                self.resume_parked(btl, peer);
            }
            return;
        }
        if ahead >= SEQUENCES / 2 {
            self.counts.bad_frames += 1;
            return;
        }
        let kept = self.unexpected.keep(&frame.body, payload);
        self.counts.parked_arrivals += 1;
        if let Some((frame, twice)) = state.park(frame.sequence, frame, kept) {
            self.unexpected.give_back(&frame.body, twice);
            self.counts.bad_frames += 1;
        }
        self.note_kept(btl, peer);
    }

    /// Treats the parked frames whose turn has come.
    #[cold]
    pub(crate) fn resume_parked<B: FastPath>(&mut self, btl: &mut B, peer: Peer) {
        while let Some((frame, payload)) = self.peers.entry(peer).unpark() {
            let state = self.peers.entry(peer);
            state.expected.advance();
            self.in_order(btl, peer, frame, payload.bytes());
            self.give_back(btl, &frame.body, payload);
        }
    }

    /// A sequenced frame whose turn it is.
    fn in_order<B: FastPath>(&mut self, btl: &mut B, peer: Peer, frame: Sequenced, payload: PeerBytes<'_>) {
        let Sequenced { envelope, body, .. } = frame;
        if let Body::Cancel { sender } = body {
            self.on_cancel(btl, peer, envelope, sender);
        } else if let Some(key) = self.posted.take(&envelope) {
            self.deliver(btl, ReqId(key), peer, envelope, body, payload);
        } else if !self.is_too_late(envelope.context, &body) {
            let bytes = match body {
                Body::Rendezvous(offer) => offer.total,
                _ => payload.len() as u64,
            };
            self.notices.add(&envelope, bytes);
            let kept = self.unexpected.keep(&body, payload);
            self.unexpected.push(peer, envelope, body, kept);
            self.counts.unexpected_arrivals += 1;
            self.note_kept(btl, peer);
        }
    }

    fn on_control<B: FastPath>(&mut self, btl: &mut B, peer: Peer, control: Control, payload: PeerBytes<'_>) {
        match control {
            Control::Ack { sender } => self.on_ack(btl, peer, ReqId(sender)),
            Control::Fin { receiver } => self.on_fin(btl, peer, ReqId(receiver)),
            Control::Frag { receiver, offset } => self.on_frag(btl, peer, ReqId(receiver), offset, payload),
            Control::Cts { sender, receiver, accepted } => {
                self.on_cts(btl, peer, ReqId(sender), receiver, accepted);
            }
            Control::Rtr { sender, receiver, accepted, key } => {
                self.on_rtr(btl, peer, ReqId(sender), receiver, accepted, key);
            }
            Control::CancelAck { sender, cancelled } => {
                self.on_cancel_ack(btl, peer, ReqId(sender), cancelled);
            }
            Control::Congestion { on, epoch } => {
                let state = self.peers.entry(peer);
                if epoch.wrapping_sub(state.congestion_epoch) as i32 > 0 {
                    state.congestion_epoch = epoch;
                    state.congested = on;
                    state.refresh();
                }
            }
        }
    }

    /// Sends a control frame, now or when there is room.
    pub(crate) fn control<B: FastPath>(&mut self, btl: &mut B, peer: Peer, control: Control) {
        let state = self.peers.entry(peer);
        if state.lost {
            return;
        }
        if state.is_waiting() || control.header().send(btl, peer).is_err() {
            self.enqueue(peer, Queued::Control(Box::new(control)));
        }
    }

    /// Lets `item` wait for room at the transport.
    pub(crate) fn enqueue(&mut self, peer: Peer, item: Queued) {
        self.changes = self.changes.wrapping_add(1);
        if self.peers.entry(peer).enqueue(item) {
            self.waiting.push(peer);
        }
    }

    #[cold]
    fn send_waiting<B: FastPath>(&mut self, btl: &mut B) -> usize {
        let mut sent = 0;
        let mut index = 0;
        while let Some(&peer) = self.waiting.get(index) {
            for _ in 0..WAITING_PER_TURN {
                if !self.send_first_waiting(btl, peer) {
                    break;
                }
                sent += 1;
            }
            if self.peers.entry(peer).is_waiting() {
                if btl.full(peer) == Some(Full::All) {
                    break;
                }
                index += 1;
            } else {
                self.waiting.swap_remove(index);
            }
        }
        sent
    }

    /// Sends what waits longest for room at `peer`. `false`: nothing does, or there is none.
    fn send_first_waiting<B: FastPath>(&mut self, btl: &mut B, peer: Peer) -> bool {
        let sent = match self.peers.entry(peer).front() {
            None => return false,
            Some(Queued::Control(control)) => control.header().send(btl, peer),
            Some(&Queued::First(id)) => self.launch(btl, id),
            Some(&Queued::Cancel(id)) => self.ask_to_cancel(btl, id),
        };
        if sent.is_ok() {
            self.peers.entry(peer).pop();
        }
        sent.is_ok()
    }

    /// Gives each transfer that wants one a turn, first those that were refused. Returns 0 if the transport refused all of
    /// them.
    fn take_turns<B: FastPath>(&mut self, btl: &mut B) -> usize {
        let (refused, others) = (self.refused.len(), self.work.len());
        let mut moved = 0;
        for turn in 0..refused + others {
            let queue = if turn < refused { &mut self.refused } else { &mut self.work };
            let Some(id) = queue.pop_front() else { break };
            match self.requests.get(id.0).map(|request| &request.state) {
                Some(State::Send(_)) => {
                    moved += usize::from(self.stream(btl, id));
                    self.put(btl, id);
                }
                Some(State::Receive(_)) => self.get(btl, id),
                _ => {}
            }
        }
        moved + (refused + others).saturating_sub(self.refused.len() + self.work.len())
    }

    /// Kept payload grew, by a message of `peer`: congestion begins at half of the cap.
    fn note_kept<B: FastPath>(&mut self, btl: &mut B, peer: Peer) {
        let bytes = self.unexpected.bytes();
        self.counts.unexpected_bytes_peak = self.counts.unexpected_bytes_peak.max(bytes);
        if !self.congestion.on {
            if bytes <= self.config.unexpected_cap / 2 {
                return;
            }
            self.congestion.on = true;
            self.congestion.epoch = self.congestion.epoch.wrapping_add(1);
            self.congestion.by_frames = !btl.advertise_congestion(true);
        }
        let Congestion { by_frames, epoch, .. } = self.congestion;
        let state = self.peers.entry(peer);
        if by_frames && state.told != epoch {
            state.told = epoch;
            self.congestion.told.push(peer);
            self.control(btl, peer, Control::Congestion { on: true, epoch });
        }
    }

    /// Gives kept payload back: congestion ends at a quarter of the cap.
    pub(crate) fn give_back<B: FastPath>(&mut self, btl: &mut B, body: &Body, payload: Payload) {
        self.unexpected.give_back(body, payload);
        self.check_congestion(btl);
    }

    /// To be called when less payload is kept than before.
    #[inline(always)]
    pub(crate) fn check_congestion<B: FastPath>(&mut self, btl: &mut B) {
        if self.congestion.on && self.unexpected.bytes() <= self.config.unexpected_cap / 4 {
            self.end_congestion(btl);
        }
    }

    #[cold]
    fn end_congestion<B: FastPath>(&mut self, btl: &mut B) {
        self.congestion.on = false;
        self.congestion.epoch = self.congestion.epoch.wrapping_add(1);
        let epoch = self.congestion.epoch;
        if !self.congestion.by_frames {
            btl.advertise_congestion(false);
        }
        for peer in core::mem::take(&mut self.congestion.told) {
            self.control(btl, peer, Control::Congestion { on: false, epoch });
        }
    }

    /// `peer` is gone: what depends on it ends with `ERR_PROC_ABORTED`. Whole messages from it can still be
    /// received.
    pub fn peer_lost<B: FastPath>(&mut self, btl: &mut B, peer: Peer) {
        let state = self.peers.entry(peer);
        if state.lost {
            return;
        }
        let parked: Vec<_> = state.lose().collect();
        for (frame, payload) in parked {
            self.give_back(btl, &frame.body, payload);
        }
        self.waiting.retain(|&waiting| waiting != peer);
        self.lost.push(peer);
        let concerned = self.requests_that(|state| match state {
            State::Posted(post) => post.peer == Some(peer),
            state => state.transfer().is_some_and(|(with, _)| with == peer),
        });
        for id in concerned {
            let Some(request) = self.requests.get(id.0) else { continue };
            let owner = request.owner;
            if let State::Posted(post) = &request.state {
                self.posted.remove(&post.envelope, id.0);
            }
            self.finish(btl, id, Done::lost(owner));
        }
    }

    /// The requests whose state is such.
    pub(crate) fn requests_that(&self, is_such: impl Fn(&State) -> bool) -> Vec<ReqId> {
        let such = self.requests.iter().filter(|(_, request)| is_such(&request.state));
        such.map(|(key, _)| ReqId(key)).collect()
    }
}
