//! Sends, and what waits for room.

use abi::{Error, Result};
use btl::Btl;
use mem::UserMem;
use mtl::{Busy, Mtl, Peer};
use pml::{Data, Done, FastMessages, Mode, ReqId, SendTo, Sends};

use crate::Cm;
use crate::bounce::Bounce;
use crate::layout::{Kind, Layout};
use crate::request::{Cancel, Cookie, Send, Stage, State};
use crate::verified::framed;

/// What waits for room, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Out {
    /// The message of a send.
    Message(ReqId),
    /// The wish to cancel one.
    Cancel(ReqId),
    /// An answer: bits and data.
    Answer(u64, u64),
}

impl<M: Mtl, B: Btl> Sends<B> for Cm<M> {
    fn isend(&mut self, _btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        self.start(to, data, mode)
    }

    fn begin_send(&mut self, _btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        self.start(to, data, mode)
    }
}

impl<M: Mtl, B: Btl> FastMessages<B> for Cm<M> {
    fn send_now(&mut self, _btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        self.inject(to, data)
    }

    fn send_copied_now(&mut self, _btl: &mut B, to: &SendTo, data: UserMem) -> bool {
        self.inject(to, data)
    }
}

impl<M: Mtl> Cm<M> {
    /// Sends a message whose memory is free afterwards, if that is possible now.
    fn inject(&mut self, to: &SendTo, data: UserMem) -> bool {
        if data.len() >= self.injected
            || !self.outgoing.is_empty() && self.outgoing.contains_key(&to.peer)
            || self.lost.contains(&to.peer)
        {
            return false;
        }
        let bits = self.layout.bits(to, Kind::Message);
        let sent = self.mtl.inject(to.peer, bits, self.layout.data(to.source, None), data).is_ok();
        self.counts.eager_sends += u64::from(sent);
        sent
    }

    fn start(&mut self, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>> {
        let bytes = data.total();
        let total = if self.verified.is_some() { framed(bytes) } else { bytes };
        if total > self.mtl.limits().max_message {
            return Err(Error::new(abi::ERR_COUNT, "the message is longer than the network's longest one"));
        }
        let synchronous = mode == Mode::Synchronous;
        let (bounce, memory) = match &mut self.verified {
            None => Bounce::packed(data),
            Some(verified) => {
                let kind = if synchronous { Kind::Synchronous } else { Kind::Message };
                let named = (to.peer, self.layout.bits(to, kind), self.layout.data(to.source, None));
                let mut bounce = verified.pack(self.mtl.limits(), data, named);
                let memory = bounce.memory();
                (Some(bounce), memory)
            }
        };
        if !synchronous && self.inject(to, memory) {
            return Ok(None);
        }
        let send = Send {
            to: *to,
            memory,
            bytes,
            _bounce: bounce,
            synchronous,
            stage: Stage::Queued,
            match_awaited: None,
            cancel: Cancel::No,
            lost: false,
        };
        let id = self.insert(to.owner, State::Send(send))?;
        self.unfinished += 1;
        match synchronous {
            true => self.counts.sync_sends += 1,
            false => self.counts.offers += 1,
        }
        if self.lost.contains(&to.peer) {
            self.finish(id, Done::lost(to.owner));
        } else {
            self.put_out(to.peer, Out::Message(id));
        }
        Ok(Some(id))
    }

    /// Sends now, or behind what waits already.
    pub(crate) fn put_out(&mut self, peer: Peer, out: Out) {
        if self.outgoing.contains_key(&peer) || self.try_out(peer, out).is_err() {
            self.changes = self.changes.wrapping_add(1);
            self.outgoing.entry(peer).or_default().push_back(out);
        }
    }

    /// Sends what waits for room; how much it was.
    pub(crate) fn flush(&mut self) -> usize {
        let mut sent = 0;
        for (peer, mut queue) in std::mem::take(&mut self.outgoing) {
            while let Some(&out) = queue.front()
                && self.try_out(peer, out).is_ok()
            {
                queue.pop_front();
                sent += 1;
            }
            if !queue.is_empty() {
                self.outgoing.insert(peer, queue);
            }
        }
        sent
    }

    fn try_out(&mut self, peer: Peer, out: Out) -> core::result::Result<(), Busy> {
        match out {
            Out::Message(id) => self.try_message(id),
            Out::Cancel(id) => self.ask_to_cancel(id),
            Out::Answer(bits, data) => self.mtl.inject(peer, bits, data, UserMem::EMPTY),
        }
    }

    fn try_message(&mut self, id: ReqId) -> core::result::Result<(), Busy> {
        let Cm { mtl, layout, requests, .. } = self;
        let Some(request) = requests.get_mut(id.0) else { return Ok(()) };
        let State::Send(send) = &mut request.state else { return Ok(()) };
        let Send { to, memory, .. } = *send;
        let kind = if send.synchronous { Kind::Synchronous } else { Kind::Message };
        let bits = layout.bits(&to, kind);
        if send.synchronous && send.match_awaited.is_none() {
            let answer = layout.matched(bits, layout.names().then_some(id));
            let want = Layout::want_answer(to.peer, answer);
            send.match_awaited = Some(mtl.recv(&want, UserMem::EMPTY, Cookie::Matched(id).word())?);
        }
        let data = layout.data(to.source, Some(id));
        if memory.len() <= mtl.limits().inject {
            mtl.inject(to.peer, bits, data, memory)?;
            send.stage = Stage::Sent;
        } else {
            mtl.send(to.peer, bits, data, memory, Cookie::Message(id).word())?;
            send.stage = Stage::Begun;
        }
        self.settle_send(id);
        Ok(())
    }

    /// Ends a send if nothing is missing.
    pub(crate) fn settle_send(&mut self, id: ReqId) {
        let Some(request) = self.requests.get(id.0) else { return };
        let State::Send(send) = &request.state else { return };
        if send.stage != Stage::Sent {
            return;
        }
        let owner = request.owner;
        let (matched, verdict) = (send.match_awaited, send.cancel);
        let done = match verdict {
            _ if send.lost => Done::lost(owner),
            Cancel::Granted => Done::cancelled(owner),
            Cancel::Asked(_) => return,
            _ if matched.is_some() => return,
            _ => Done::sent(owner),
        };
        // What will not come any more is not waited for.
        for posted in matched.into_iter().chain(verdict.awaited()) {
            self.mtl.cancel(posted);
        }
        self.finish(id, done);
    }
}

impl Cancel {
    fn awaited(self) -> Option<mtl::Posted> {
        match self {
            Cancel::Asked(posted) => Some(posted),
            _ => None,
        }
    }
}
