//! The fast paths: what leaves at once, and what is here, next in its order and named exactly, needs no request.

use abi::Status;
use btl::{Asleep, Busy, FastPath, Peer, Take};
use mem::{PeerBytes, UserMem};
use pml::{Data, Done, FastMessages, LayerState, Origin, Pattern, ReqId, SendTo, Sent};

use crate::Ob1;
use crate::frame::{self, Control};
use crate::peers::SendPath;
use crate::request::{Post, State};
use crate::send::send_whole_now;
use crate::turn::{Exact, Turn};

impl<B: FastPath> FastMessages<B> for Ob1 {
    #[inline(always)]
    fn send_short(&mut self, btl: &mut B, to: Peer, origin: Origin, tag: i32, mut data: UserMem) -> Sent {
        let Some(peer) = self.peers.get(to) else { return Sent::Refused };
        let Some(place) = peer.next_short() else { return Sent::Refused };
        match btl.send_on(peer.route, &place.match_header(origin, tag), &mut data) {
            Err(Busy) => Sent::Full(peer.route),
            Ok(Asleep(asleep)) => {
                peer.sent_short();
                self.counts.eager_sends += 1;
                if asleep { Sent::Asleep(peer.route) } else { Sent::Awake }
            }
        }
    }

    #[inline(always)]
    fn send_now(&mut self, btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        let Some(peer) = self.peers.get(to.peer) else { return false };
        match peer.way(data.len()) {
            SendPath::Later => false,
            SendPath::Eager => send_whole_now(peer, &mut self.counts, btl, to, data),
            SendPath::Short => {
                match self.send_short(btl, to.peer, Origin::new(to.context, to.source), to.tag, data) {
                    Sent::Awake => true,
                    Sent::Asleep(route) => {
                        btl.wake(route);
                        true
                    }
                    Sent::Refused => false,
                    Sent::Full(_) => {
                        let peer = self.peers.entry(to.peer);
                        send_whole_now(peer, &mut self.counts, btl, to, data)
                    }
                }
            }
        }
    }

    fn send_copied_now(&mut self, btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        let most = btl.limits(to.peer).max_send;
        let Some(peer) = self.peers.get(to.peer) else { return false };
        if peer.open == 0 || data.len() > most {
            return false;
        }
        if peer.needs_allowance(data.len() as u64) {
            self.renew_allowance(btl, to.peer);
        }
        let peer = self.peers.entry(to.peer);
        match peer.way(data.len()) {
            SendPath::Later => send_whole_now(peer, &mut self.counts, btl, to, data),
            SendPath::Short | SendPath::Eager => self.send_now(btl, to, data),
        }
    }

    #[inline(always)]
    fn recv_short(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        let turn = self.untouched(pattern.peer?)?;
        btl.receive_if(turn.route, Plain { turn, pattern, into, status })
    }

    #[inline(always)]
    fn recv_within(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
        polls: u32,
    ) -> Option<usize> {
        if !self.is_quiet() {
            return None;
        }
        let turn = self.peers.get(pattern.peer?)?.turn()?;
        btl.receive_within(turn.route, polls, Plain { turn, pattern, into, status })
    }

    fn recv_kept(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let len = self.unexpected.take_eager(&pattern.envelope(), into)?;
        self.check_congestion(btl);
        if let Some(status) = status {
            status.fill(&Status::new(pattern.source, pattern.tag, len as u64));
        }
        Some(len)
    }

    fn recv_longer(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        let peer = pattern.peer?;
        let turn = self.untouched(peer)?;
        let mut waiting = None;
        let plain = Plain { turn, pattern, into, status };
        let len = btl.receive_longer_if(plain.turn.route, Whole { plain, waiting: &mut waiting })?;
        if let Some(sender) = waiting {
            self.control(btl, peer, Control::Ack { sender });
        }
        Some(len)
    }

    #[inline]
    fn irecv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<ReqId> {
        if self.unexpected.len() != 0 || self.requests.is_full() {
            return None;
        }
        let peer = pattern.peer?;
        // A program that posts one receive after the other would let messages that come meanwhile pile up at the
        // transport.
        let _ = self.receive_awaited(btl, peer);
        let state = match self.recv_short(btl, pattern, into, None) {
            Some(len) => {
                State::Done(Done::received(&pattern.envelope(), len as u64, len as u64, pattern.owner))
            }
            None if self.peers.get(peer).is_none_or(|state| state.lost) => return None,
            None => {
                let data = Data::Contiguous(into);
                State::Posted(Post { envelope: pattern.envelope(), peer: pattern.peer, data })
            }
        };
        let waits = matches!(state, State::Posted(_));
        let id = self.insert(pattern.owner, state).ok()?;
        if waits {
            self.posted.push(&pattern.envelope(), id.0);
        }
        Some(id)
    }
}

impl Ob1 {
    /// The peer, if its next message can only be for the caller: none is kept, and no receive waits.
    #[inline(always)]
    fn untouched(&mut self, peer: Peer) -> Option<Turn<'_>> {
        if self.unexpected.len() != 0 || self.posted.len() != 0 {
            return None;
        }
        self.peers.get(peer)?.turn()
    }

    /// The result of a send in synchronous mode whose receiver's answer is the next message of `peer`.
    pub(crate) fn take_acknowledged<B: FastPath>(
        &mut self,
        btl: &mut B,
        id: ReqId,
        peer: Peer,
        polls: u32,
    ) -> Option<Done> {
        let alone = self.unfinished == 1 && !self.waits_for_room() && !self.needs_turn();
        let route = self.peers.get(peer)?.route;
        if !btl.poll_route(route, if alone { polls } else { 1 }) {
            return None;
        }
        btl.receive_longer_if(route, Answer(id))?;
        self.on_ack(btl, peer, id);
        self.take(id)
    }
}

/// Takes a message of standard mode that is for one receive without wildcards and fits.
struct Plain<'a> {
    turn: Turn<'a>,
    pattern: &'a Pattern,
    into: UserMem,
    status: Option<&'a mut Status>,
}

impl Take for Plain<'_> {
    type Taken = usize;

    #[inline(always)]
    fn take(self, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> Option<usize> {
        self.take_words(frame::plain(header)?, payload)
    }
}

impl Plain<'_> {
    /// Takes a message whose header, as that of a MATCH frame, is `words`.
    #[inline(always)]
    fn take_words(mut self, words: [u64; 2], payload: PeerBytes<'_>) -> Option<usize> {
        if payload.len() > self.into.len() {
            return None;
        }
        self.turn.take(words, Exact(self.pattern))?;
        self.into.write(payload);
        if let Some(status) = self.status {
            status.fill(&Status::new(self.pattern.source, self.pattern.tag, payload.len() as u64));
        }
        Some(payload.len())
    }
}

/// As [`Plain`], of either mode.
struct Whole<'a> {
    plain: Plain<'a>,
    /// The request with which the sender waits, in synchronous mode.
    waiting: &'a mut Option<u32>,
}

impl Take for Whole<'_> {
    type Taken = usize;

    fn take(self, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> Option<usize> {
        let (words, waiting) = frame::eager(header)?;
        let len = self.plain.take_words(words, payload)?;
        *self.waiting = waiting;
        Some(len)
    }
}

/// Takes the ACK of a request.
struct Answer(ReqId);

impl Take for Answer {
    type Taken = ();

    fn take(self, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> Option<()> {
        let is_it = payload.is_empty() && frame::acknowledged(header) == Some(self.0.0);
        is_it.then_some(())
    }
}
