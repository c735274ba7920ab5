//! Receiving on the fast path: what is here, next in its order and named exactly needs no request.

use abi::Status;
use btl::{FastPath, Peer, Take};
use mem::{PeerBytes, UserMem};
use pml::{Done, Pattern, ReqId};

use crate::Ob1;
use crate::frame::{self, Control};
use crate::turn::{Exact, Turn};

impl Ob1 {
    /// Receives a short message that `pattern` names exactly and that is the next from its sender: no wildcard,
    /// nothing unexpected, no other receive waiting. Returns its length. `None`: nothing was stored, which says
    /// nothing about what is there.
    ///
    /// The status is filled here, since who fills it later must remember what with.
    #[inline(always)]
    pub fn recv_short<B: FastPath>(
        &mut self,
        btl: &mut B,
        pattern: &Pattern,
        into: UserMem,
        status: Option<&mut Status>,
    ) -> Option<usize> {
        let turn = self.untouched(pattern.peer?)?;
        btl.receive_if(turn.route, Plain { turn, pattern, into, status })
    }

    /// As [`Ob1::recv_short`], polling up to `polls` times in a row if there is nothing else to poll.
    #[inline(always)]
    pub fn recv_within<B: FastPath>(
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

    /// As [`Ob1::recv_short`], for messages that are not short, and those of synchronous mode.
    pub fn recv_longer<B: FastPath>(
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

    /// The peer, if its next message can be for nobody but the caller: none is kept, and no receive waits.
    #[inline(always)]
    fn untouched(&mut self, peer: Peer) -> Option<Turn<'_>> {
        if self.unexpected.len() != 0 || self.posted.len() != 0 {
            return None;
        }
        self.peers.get(peer)?.turn()
    }

    /// As [`Ob1::recv_short`], for a message that came before someone asked for it and is kept here.
    pub fn recv_kept<B: FastPath>(
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
        if !btl.look_out(route, if alone { polls } else { 1 }) {
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
