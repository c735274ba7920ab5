//! Receives and probes.

use abi::{Error, Result, Status};
use btl::{Arrival, Btl};
use mem::UserMem;
use mtl::{Busy, Message, Mtl};
use pml::{Data, Done, LayerState, MessageId, Pattern, Receives, ReqId};

use crate::bounce::Bounce;
use crate::request::{Cookie, Receive, State, Waiting};
use crate::send::Out;
use crate::verified::framed;
use crate::{Aside, Cm};

impl<M: Mtl, B: Btl> Receives<B> for Cm<M> {
    fn irecv(&mut self, _btl: &mut B, pattern: &Pattern, into: Data) -> Result<ReqId> {
        self.receive(pattern, into, Waiting::Queued)
    }

    /// Nothing is kept here.
    fn recv_now(&mut self, _btl: &mut B, _pattern: &Pattern, _into: UserMem) -> Option<Done> {
        None
    }

    fn accept_for(&mut self, _: &mut B, _: &Arrival, _: &Pattern, _: UserMem) -> Option<Done> {
        self.counts.bad_frames += 1;
        None
    }

    fn iprobe(&mut self, _btl: &mut B, pattern: &Pattern) -> Option<Status> {
        if !self.has_posted_all() {
            return None;
        }
        let found = self.first(pattern);
        self.probed(pattern, found.is_some());
        found.map(|message| self.status(&message))
    }

    fn improbe(&mut self, _btl: &mut B, pattern: &Pattern) -> Result<Option<(MessageId, Status)>> {
        if self.claimed.is_full() {
            return Err(Error::new(abi::ERR_NO_MEM, "2^23 messages are claimed, which is all there are"));
        }
        if !self.has_posted_all() {
            return Ok(None);
        }
        let found = match self.find_aside(pattern) {
            Some(place) => self.aside.remove(place),
            None => {
                let claimed = self.mtl.claim(&self.layout.want(pattern)).unwrap_or(None);
                claimed.map(|(claim, message)| Aside { claim, message })
            }
        };
        self.probed(pattern, found.is_some());
        let Some(found) = found else { return Ok(None) };
        let status = self.status(&found.message);
        let name =
            self.claimed.insert(found).map_err(|_| Error::new(abi::ERR_NO_MEM, "no names are left"))?;
        Ok(Some((MessageId(name), status)))
    }

    fn imrecv(&mut self, _btl: &mut B, message: MessageId, owner: u32, into: Data) -> Result<ReqId> {
        let Some(&Aside { claim, message: shown }) = self.claimed.get(message.0) else {
            return Err(Error::new(abi::ERR_REQUEST, "there is no such message"));
        };
        let envelope = self.layout.envelope(&shown);
        let (context, source, tag) = (envelope.context, envelope.source, envelope.tag);
        let pattern = Pattern { context, source, tag, peer: Some(shown.from), owner };
        let id = self.receive(&pattern, into, Waiting::Claimed(claim))?;
        self.claimed.discard(message.0);
        Ok(id)
    }

    fn take_awaited(&mut self, _btl: &mut B, id: ReqId, polls: u32) -> Option<Done> {
        for _ in 0..polls {
            if let Some(done) = self.take(id) {
                return Some(done);
            }
            if self.progress() == 0 {
                core::hint::spin_loop();
            }
        }
        self.take(id)
    }
}

impl<M: Mtl> Cm<M> {
    fn receive(&mut self, pattern: &Pattern, into: Data, stage: Waiting) -> Result<ReqId> {
        let found = if stage == Waiting::Queued { self.find_aside(pattern) } else { None };
        let stage = match found.and_then(|place| self.aside.get(place)) {
            Some(aside) => Waiting::Claimed(aside.claim),
            None => stage,
        };
        let receive = Receive { pattern: *pattern, into, bounce: None, stage, lost: false };
        let id = self.insert(pattern.owner, State::Receive(receive))?;
        // Only now: a receive that there was no room for leaves its message.
        found.and_then(|place| self.aside.remove(place));
        self.posted += 1;
        if !self.incoming.is_empty() || self.try_receive(id).is_err() {
            self.incoming.push_back(id);
        }
        Ok(id)
    }

    /// Posts the receives that wait for room; how many they were.
    pub(crate) fn post_all(&mut self) -> usize {
        let before = self.incoming.len();
        while let Some(&id) = self.incoming.front()
            && self.try_receive(id).is_ok()
        {
            self.incoming.pop_front();
        }
        before - self.incoming.len()
    }

    /// The message that a receive with this pattern would get. All receives are posted.
    fn first(&mut self, pattern: &Pattern) -> Option<Message> {
        match self.find_aside(pattern) {
            Some(place) => Some(self.aside[place].message),
            None => self.mtl.peek(&self.layout.want(pattern)).unwrap_or(None),
        }
    }

    /// A probe asked the network, which may have taken what other threads seek. Several may seek the same: those that do not
    /// get it seek again.
    fn probed(&mut self, pattern: &Pattern, found: bool) {
        if self.sought.is_empty() {
            return;
        }
        let mut happened = self.find_sought();
        if found && let Some(place) = self.sought.iter().position(|sought| sought == pattern) {
            self.sought.swap_remove(place);
            happened += 1;
        }
        self.changes = self.changes.wrapping_add(happened as u32);
    }

    /// Ends the search for what is here by now, of which the network gives no event; how many searches.
    pub(crate) fn find_sought(&mut self) -> usize {
        if self.sought.is_empty() || !self.has_posted_all() {
            return 0;
        }
        let mut sought = core::mem::take(&mut self.sought);
        let before = sought.len();
        sought.retain(|pattern| self.first(pattern).is_none());
        self.sought = sought;
        before - self.sought.len()
    }

    /// Whether the network knows all receives: what it shows is for no receive yet.
    fn has_posted_all(&mut self) -> bool {
        self.incoming.is_empty() || {
            self.post_all();
            self.incoming.is_empty()
        }
    }

    fn try_receive(&mut self, id: ReqId) -> core::result::Result<(), Busy> {
        let Cm { mtl, layout, verified, requests, lost, .. } = self;
        let Some(request) = requests.get_mut(id.0) else { return Ok(()) };
        let owner = request.owner;
        let State::Receive(receive) = &mut request.state else { return Ok(()) };
        let gone = receive.pattern.peer.is_some_and(|peer| lost.contains(&peer));
        if gone && receive.stage == Waiting::Queued && mtl.peek(&layout.want(&receive.pattern))?.is_none() {
            self.finish(id, Done::lost(owner));
            return Ok(());
        }
        let (bounce, memory) = match &mut receive.bounce {
            Some(bounce) => (None, bounce.memory()),
            None if verified.is_some() => {
                let mut bounce = Bounce::new(framed(receive.into.total()) as usize);
                let memory = bounce.memory();
                (Some(bounce), memory)
            }
            None => Bounce::of(&receive.into),
        };
        if bounce.is_some() {
            receive.bounce = bounce;
        }
        let cookie = Cookie::Message(id).word();
        receive.stage = match receive.stage {
            Waiting::Claimed(claim) => {
                mtl.recv_claimed(claim, memory, cookie)?;
                Waiting::Matched
            }
            _ => Waiting::Posted(mtl.recv(&layout.want(&receive.pattern), memory, cookie)?),
        };
        Ok(())
    }

    /// A message that was put aside and that the pattern matches: the oldest.
    fn find_aside(&self, pattern: &Pattern) -> Option<usize> {
        self.aside.iter().position(|aside| pattern.matches(&self.layout.envelope(&aside.message)))
    }

    /// The network has stored a message.
    pub(crate) fn on_received(&mut self, id: ReqId, message: &Message, stored: u64) {
        if self.layout.is_synchronous(message) {
            let bits = self.layout.matched(message.bits, self.layout.sender(message.data));
            self.put_out(message.from, Out::Answer(bits, 0));
        }
        let (envelope, len) = (self.layout.envelope(message), self.length(message));
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let State::Receive(receive) = &mut request.state else { return };
        let stored = match (&receive.bounce, &self.verified) {
            (Some(bounce), Some(verified)) => {
                verified.unpack(self.mtl.limits(), message, bounce, stored as usize, &mut receive.into)
            }
            (Some(bounce), None) => receive.into.pour(0, bounce.bytes(stored as usize)),
            (None, _) => stored,
        };
        let done = Done::received(&envelope, stored, len, request.owner);
        self.finish(id, done);
    }
}
