//! Receiving: posting, probing, and what happens when a message meets its receive.

use abi::Status;
use btl::{Access, Arrival, FastPath, Peer, Receiver, Take};
use mem::{PeerBytes, UserMem};
use pml::{Data, Done, Envelope, FastMessages, LayerState, MessageId, Pattern, Receives, ReqId, Requests};

use crate::cut::Cutting;
use crate::frame::{self, Body, Control, Rendezvous};
use crate::peers::PeerState;
use crate::posted::Posted;
use crate::request::{Pieces, Post, Receive, ReceiveStage, SERIALS, State};
use crate::turn::{Behind, Turn};
use crate::unexpected::Message;
use crate::{Ob1, status_of};

impl<B: FastPath> Receives<B> for Ob1 {
    fn irecv(&mut self, btl: &mut B, pattern: &Pattern, into: Data) -> abi::Result<ReqId> {
        let envelope = pattern.envelope();
        if let Some(node) = self.unexpected.find(&envelope) {
            return self.receive_unexpected(btl, node, pattern.owner, into);
        }
        if let Some(peer) = pattern.peer
            && self.peers.get(peer).is_some_and(|state| state.lost)
        {
            return self.insert(pattern.owner, State::Done(Done::lost(pattern.owner)));
        }
        if self.is_revoked(pattern.context) {
            return self.insert(pattern.owner, State::Done(Done::revoked(pattern.owner)));
        }
        let post = Post { envelope, peer: pattern.peer, data: into };
        let id = self.insert(pattern.owner, State::Posted(post))?;
        self.posted.push(&envelope, id.0);
        Ok(id)
    }

    fn recv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<Done> {
        if pattern.tag >= 0
            && let Some(len) = self
                .recv_short(btl, pattern, into, None)
                .or_else(|| self.recv_longer(btl, pattern, into, None))
        {
            return Some(Done::received(&pattern.envelope(), len as u64, len as u64, pattern.owner));
        }
        if self.unexpected.len() == 0 { None } else { self.recv_unexpected(btl, pattern, into) }
    }

    fn accept_for(
        &mut self,
        btl: &mut B,
        arrival: &Arrival,
        pattern: &Pattern,
        into: UserMem,
    ) -> Option<Done> {
        let Some((envelope, waiting)) = self.is_next_for(arrival, pattern) else {
            self.accept(btl, arrival);
            return self.recv_unexpected(btl, pattern, into);
        };
        let stored = into.write(arrival.payload);
        if let Some(sender) = waiting {
            self.control(btl, arrival.peer, Control::Ack { sender });
        }
        Some(Done::received(&envelope, stored as u64, arrival.payload.len() as u64, pattern.owner))
    }

    fn iprobe(&mut self, _btl: &mut B, pattern: &Pattern) -> Option<Status> {
        let node = self.unexpected.find(&pattern.envelope())?;
        self.unexpected.get(node).map(status_of)
    }

    fn improbe(&mut self, _btl: &mut B, pattern: &Pattern) -> abi::Result<Option<(MessageId, Status)>> {
        let Some(node) = self.unexpected.find(&pattern.envelope()) else { return Ok(None) };
        let Some(status) = self.unexpected.get(node).map(status_of) else { return Ok(None) };
        match self.claimed.insert(node) {
            Ok(key) => {
                self.unexpected.claim(node);
                Ok(Some((MessageId(key), status)))
            }
            Err(_) => Err(abi::Error::new(abi::ERR_NO_MEM, "2^23 matched messages await their receive")),
        }
    }

    fn imrecv(&mut self, btl: &mut B, message: MessageId, owner: u32, into: Data) -> abi::Result<ReqId> {
        let Some(&node) = self.claimed.get(message.0) else {
            return Err(abi::Error::new(abi::ERR_REQUEST, "no such matched message"));
        };
        let id = self.receive_unexpected(btl, node, owner, into)?;
        self.claimed.remove(message.0);
        Ok(id)
    }

    #[inline]
    fn take_awaited(&mut self, btl: &mut B, id: ReqId, polls: u32) -> Option<Done> {
        let peer = match &self.requests.get(id.0)?.state {
            State::Done(_) => return self.take(id),
            State::Posted(Post { peer: Some(peer), .. }) => *peer,
            State::Send(send) if send.awaits_ack() => {
                let peer = send.to.peer;
                return self.take_acknowledged(btl, id, peer, polls);
            }
            _ => return None,
        };
        let polls = if self.idle() { polls } else { 1 };
        for _ in 0..polls {
            match self.receive_awaited(btl, peer) {
                Poll::Nothing => {}
                Poll::Received => {
                    let done = self.take(id);
                    if done.is_some() {
                        return done;
                    }
                }
                // An offer, perhaps of this very message: not to be kept waiting.
                Poll::Other => return None,
            }
            core::hint::spin_loop();
        }
        None
    }
}

impl Ob1 {
    /// Lets posted receives have messages of `peer` that are here, as long as the next one belongs to one of them.
    #[inline]
    pub(crate) fn receive_awaited<B: FastPath>(&mut self, btl: &mut B, peer: Peer) -> Poll {
        let Ob1 { peers, posted, requests, .. } = self;
        let Some(mut turn) = peers.get(peer).and_then(PeerState::turn) else { return Poll::Other };
        let (mut any, mut other) = (false, false);
        while posted.len() != 0 {
            let awaited = Awaited { turn: turn.again(), posted, requests, other: &mut other };
            if btl.receive_if(awaited.turn.route, awaited).is_none() {
                if other {
                    break;
                }
                let awaited = Awaited { turn: turn.again(), posted, requests, other: &mut other };
                if btl.receive_longer_if(awaited.turn.route, awaited).is_none() {
                    break;
                }
            }
            any = true;
        }
        // Among what was received may be what another thread waits for.
        self.changes = self.changes.wrapping_add(any.into());
        match (any, other) {
            (true, _) => Poll::Received,
            (false, true) => Poll::Other,
            (false, false) => Poll::Nothing,
        }
    }

    /// The envelope of an arrival that belongs to `pattern`; it counts as taken then. With it the sender's request, in
    /// synchronous mode.
    fn is_next_for(&mut self, arrival: &Arrival, pattern: &Pattern) -> Option<(Envelope, Option<u32>)> {
        let (words, waiting) = frame::eager(arrival.header)?;
        // A kept message that matches is older.
        if self.unexpected.len() != 0 && self.unexpected.find(&pattern.envelope()).is_some() {
            return None;
        }
        let mut turn = self.peers.get(arrival.peer)?.turn()?;
        turn.take(words, Behind(&self.posted, pattern)).map(|envelope| (envelope, waiting))
    }

    /// Receives the oldest unexpected message that matches, if it came with its payload.
    fn recv_unexpected<B: FastPath>(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
    ) -> Option<Done> {
        let node = self.unexpected.find(&pattern.envelope())?;
        if matches!(self.unexpected.get(node), Some(Message { body: Body::Rendezvous(_), .. })) {
            return None;
        }
        let message = self.unexpected.take(node)?;
        let payload = message.payload.bytes();
        let stored = into.write(payload) as u64;
        let done = Done::received(&message.envelope, stored, payload.len() as u64, pattern.owner);
        self.give_back(btl, &message.body, message.payload);
        if let Body::Sync { sender } = message.body {
            self.control(btl, message.peer, Control::Ack { sender });
        }
        Some(done)
    }

    fn receive_unexpected<B: FastPath>(
        &mut self,
        btl: &mut B,
        node: u32,
        owner: u32,
        into: Data,
    ) -> abi::Result<ReqId> {
        let Some(envelope) = self.unexpected.get(node).map(|message| message.envelope) else {
            return Err(abi::Error::new(abi::ERR_INTERN, "a queued message is not there"));
        };
        let id = self.insert(owner, State::Posted(Post { envelope, peer: None, data: into }))?;
        if let Some(message) = self.unexpected.take(node) {
            self.deliver(btl, id, message.peer, message.envelope, message.body, message.payload.bytes());
            self.give_back(btl, &message.body, message.payload);
        }
        Ok(id)
    }

    /// A message meets its receive, which is queued no more.
    pub(crate) fn deliver<B: FastPath>(
        &mut self,
        btl: &mut B,
        id: ReqId,
        peer: Peer,
        envelope: Envelope,
        body: Body,
        payload: PeerBytes<'_>,
    ) {
        if let Body::Rendezvous(offer) = body {
            self.begin(btl, id, peer, envelope, offer, payload);
            return;
        }
        deliver_eager(&mut self.requests, id, &envelope, payload);
        if let Body::Sync { sender } = body {
            self.control(btl, peer, Control::Ack { sender });
        }
    }

    /// Starts the transfer of an offered message: by get, put or fragments, in this order of liking. `head`, the
    /// beginning that came with the offer, is stored while the sender prepares what follows it.
    fn begin<B: FastPath>(
        &mut self,
        btl: &mut B,
        id: ReqId,
        peer: Peer,
        envelope: Envelope,
        offer: Rendezvous,
        head: PeerBytes<'_>,
    ) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let owner = request.owner;
        let lost = State::Done(Done::lost(owner));
        let State::Posted(post) = core::mem::replace(&mut request.state, lost) else { return };
        if self.peers.get(peer).is_some_and(|state| state.lost) {
            return self.finish(btl, id, Done::lost(owner));
        }
        let Rendezvous { total, sender, .. } = offer;
        let accepted = total.min(post.data.total());
        if accepted <= head.len() as u64 {
            let mut data = post.data;
            data.pour(0, head);
            self.finish(btl, id, Done::received(&envelope, accepted, total, owner));
            return self.control(btl, peer, Control::Ack { sender });
        }
        self.serial = self.serial.wrapping_add(1) % SERIALS;
        let memory = post.data.contiguous().map(|memory| memory.part(0, accepted as usize));
        let stage = match memory {
            _ if !head.is_empty() => None,
            Some(memory) => plan_get(btl, peer, memory, &offer, self.serial, self.config.takes_tail)
                .or_else(|| plan_put(btl, peer, memory, &offer)),
            None => plan_get_runs(btl, peer, &post.data, accepted, &offer, self.serial),
        };
        let received = head.len() as u64;
        let stage = stage.unwrap_or(ReceiveStage::Incoming { received, exposed: None });
        let receive = Receive { peer, envelope, offer, accepted, data: post.data, stage };
        request.state = State::Receive(Box::new(receive));
        self.unfinished += 1;
        self.changes = self.changes.wrapping_add(1);
        match stage {
            ReceiveStage::Getting { .. } => {
                self.counts.gets += 1;
                self.get(btl, id);
            }
            ReceiveStage::Incoming { exposed: Some(key), .. } => {
                self.control(btl, peer, Control::Rtr { sender, receiver: id.0, accepted, key });
            }
            ReceiveStage::Incoming { exposed: None, .. } => {
                // First the answer: the sender packs what follows while the head is unpacked.
                self.control(btl, peer, Control::Cts { sender, receiver: id.0, accepted });
                if let Some((_, receive)) = self.incoming(peer, id) {
                    receive.data.pour(0, head);
                    receive.data.announce(btl, peer);
                }
            }
        }
    }

    /// FRAG: a piece of a message.
    pub(crate) fn on_frag<B: FastPath>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        id: ReqId,
        offset: u64,
        payload: PeerBytes<'_>,
    ) {
        let Some((owner, receive)) = self.incoming(peer, id) else {
            self.counts.bad_frames += 1;
            return;
        };
        let ReceiveStage::Incoming { received, exposed } = receive.stage else { return };
        let len = payload.len() as u64;
        if len == 0 || offset > receive.accepted || len > receive.accepted - received.max(offset) {
            self.counts.bad_frames += 1;
            return;
        }
        // The puts have failed. One that is still under way may not be stored over a fragment.
        if let Some(key) = exposed {
            btl.conceal(peer, key);
        }
        receive.data.pour(offset, payload);
        receive.stage = ReceiveStage::Incoming { received: received + len, exposed: None };
        if received + len == receive.accepted {
            let done = Done::received(&receive.envelope, receive.accepted, receive.offer.total, owner);
            self.finish(btl, id, done);
        }
    }

    /// FIN: all is put.
    pub(crate) fn on_fin<B: FastPath>(&mut self, btl: &mut B, peer: Peer, id: ReqId) {
        let Some((owner, receive)) = self.incoming(peer, id).filter(|(_, receive)| receive.is_exposed())
        else {
            self.counts.bad_frames += 1;
            return;
        };
        let done = Done::received(&receive.envelope, receive.accepted, receive.offer.total, owner);
        self.finish(btl, id, done);
    }

    /// A receive that `peer` sends or puts into.
    fn incoming(&mut self, peer: Peer, id: ReqId) -> Option<(u32, &mut Receive)> {
        let request = self.requests.get_mut(id.0)?;
        match &mut request.state {
            State::Receive(receive)
                if receive.peer == peer && matches!(receive.stage, ReceiveStage::Incoming { .. }) =>
            {
                Some((request.owner, receive))
            }
            _ => None,
        }
    }
}

/// An eager message meets its receive, which is queued no more and complete after this.
#[inline(always)]
pub(crate) fn deliver_eager(
    requests: &mut Requests<State>,
    id: ReqId,
    envelope: &Envelope,
    payload: PeerBytes<'_>,
) {
    let Some(request) = requests.get_mut(id.0) else { return };
    let State::Posted(post) = &mut request.state else { return };
    let stored = match &mut post.data {
        Data::Contiguous(memory) => memory.write(payload) as u64,
        data => data.pour(0, payload),
    };
    request.state = State::Done(Done::received(envelope, stored, payload.len() as u64, request.owner));
    if request.detached {
        requests.remove(id.0);
    }
}

/// Takes a message of standard mode that belongs to a posted receive.
struct Awaited<'a> {
    turn: Turn<'a>,
    posted: &'a mut Posted,
    requests: &'a mut Requests<State>,
    /// Set when there is something else.
    other: &'a mut bool,
}

impl Take for Awaited<'_> {
    type Taken = ();
    const MORE: bool = true;

    #[inline(always)]
    fn take(mut self, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> Option<()> {
        let taken = frame::plain(header).and_then(|words| self.turn.take(words, self.posted));
        let Some((key, envelope)) = taken else {
            *self.other = true;
            return None;
        };
        deliver_eager(self.requests, ReqId(key), &envelope, payload);
        Some(())
    }
}

/// What [`Ob1::receive_awaited`] found.
pub(crate) enum Poll {
    /// Messages for posted receives, which have them now.
    Received,
    /// Something that is not for a posted receive, or for the full treatment.
    Other,
    Nothing,
}

/// How `memory` would be filled by get, if sender, transport and alignment allow that.
fn plan_get<B: FastPath>(
    btl: &mut B,
    peer: Peer,
    memory: UserMem,
    offer: &Rendezvous,
    serial: u32,
    takes_tail: bool,
) -> Option<ReceiveStage> {
    let exposed = offer.exposed?;
    let limits = btl.limits(peer);
    let align = limits.get_align.max(1);
    let accepted = memory.len() as u64;
    let tail = accepted % align as u64;
    let carried = takes_tail && accepted == offer.total && tail <= exposed.tail.len() as u64;
    let tail_known = tail == 0 || carried;
    if !limits.get || !memory.address().is_multiple_of(align) || !tail_known {
        return None;
    }
    let pieces = Pieces { next: 0, end: accepted - tail, flying: 0, serial, failed: false };
    Some(ReceiveStage::Getting { key: exposed.key, tail: exposed.tail, pieces })
}

/// How a buffer in several runs would be filled by get: if it is wholly filled, and sender and transport allow that.
fn plan_get_runs<B: FastPath>(
    btl: &mut B,
    peer: Peer,
    data: &Data,
    accepted: u64,
    offer: &Rendezvous,
    serial: u32,
) -> Option<ReceiveStage> {
    let exposed = offer.exposed?;
    if accepted != data.total() || !data.has_runs() || !btl.takes_runs(peer) {
        return None;
    }
    let pieces = Pieces { next: 0, end: accepted, flying: 0, serial, failed: false };
    Some(ReceiveStage::Getting { key: exposed.key, tail: exposed.tail, pieces })
}

/// How `memory` would be filled by put, if sender and transport allow that.
fn plan_put<B: FastPath>(
    btl: &mut B,
    peer: Peer,
    memory: UserMem,
    offer: &Rendezvous,
) -> Option<ReceiveStage> {
    let limits = btl.limits(peer);
    if !offer.can_put || !limits.put || memory.len() < limits.min_rdma {
        return None;
    }
    let key = btl.expose(peer, memory, Access::Write).ok()?;
    Some(ReceiveStage::Incoming { received: 0, exposed: Some(key) })
}
