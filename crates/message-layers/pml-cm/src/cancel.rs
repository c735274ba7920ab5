//! Cancelling (MPI-5.0 section 3.8.4).
//!
//! ```text
//!   message ──────────────►  not matched yet: messages of this sender and context are taken out of
//!   wish    ──────────────►  the network until it is found; it is dropped
//!           ◄────────────── verdict 1
//!
//!   message ──────────────►  matched
//!   wish    ──────────────►  it is not found
//!           ◄────────────── verdict 0: the send goes on as ever
//! ```
//! The wish has its place behind the message, since the network keeps the order of what one process sends another.

use btl::Btl;
use mem::UserMem;
use mtl::{Busy, Message, Mtl};
use pml::{Done, MessageLayer, ReqId};

use crate::layout::Layout;
use crate::request::{Cancel, Cookie, Stage, State, Waiting};
use crate::send::Out;
use crate::{Aside, Cm};

impl<M: Mtl, B: Btl> MessageLayer<B> for Cm<M> {
    fn cancel(&mut self, _btl: &mut B, id: ReqId) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let owner = request.owner;
        match &mut request.state {
            State::Receive(receive) => match receive.stage {
                Waiting::Queued => {
                    self.incoming.retain(|&waiting| waiting != id);
                    self.finish(id, Done::cancelled(owner));
                }
                Waiting::Posted(posted) => self.mtl.cancel(posted),
                Waiting::Claimed(_) | Waiting::Matched => {}
            },
            State::Send(send) if send.stage == Stage::Queued => {
                let (peer, awaited) = (send.to.peer, send.match_awaited);
                if let Some(queue) = self.outgoing.get_mut(&peer) {
                    queue.retain(|&out| out != Out::Message(id));
                    if queue.is_empty() {
                        self.outgoing.remove(&peer);
                    }
                }
                if let Some(posted) = awaited {
                    self.mtl.cancel(posted);
                }
                self.finish(id, Done::cancelled(owner));
            }
            State::Send(send) if send.cancel == Cancel::No && self.layout.names() => {
                send.cancel = Cancel::Wished;
                let peer = send.to.peer;
                self.put_out(peer, Out::Cancel(id));
            }
            State::Send(_) | State::Done(_) => {}
        }
    }
}

/// The receiver's word: the message is dropped.
const DROPPED: u64 = 1;

impl<M: Mtl> Cm<M> {
    /// Sends a wish to cancel.
    pub(crate) fn ask_to_cancel(&mut self, id: ReqId) -> Result<(), Busy> {
        let Cm { mtl, layout, requests, .. } = self;
        let Some(request) = requests.get_mut(id.0) else { return Ok(()) };
        let State::Send(send) = &mut request.state else { return Ok(()) };
        let want = Layout::want_answer(send.to.peer, layout.verdict(id));
        let posted = mtl.recv(&want, UserMem::EMPTY, Cookie::Verdict(id).word())?;
        let bits = layout.cancel(layout.bits(&send.to, crate::layout::Kind::Message));
        if let Err(busy) =
            mtl.inject(send.to.peer, bits, layout.data(send.to.source, Some(id)), UserMem::EMPTY)
        {
            mtl.cancel(posted);
            return Err(busy);
        }
        send.cancel = Cancel::Asked(posted);
        Ok(())
    }

    /// The receiver has decided.
    pub(crate) fn on_verdict(&mut self, id: ReqId, data: u64) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let State::Send(send) = &mut request.state else { return };
        if matches!(send.cancel, Cancel::Asked(_)) {
            send.cancel = if data >> 32 == DROPPED { Cancel::Granted } else { Cancel::Refused };
        }
        self.settle_send(id);
    }

    /// Treats the wishes to cancel that have arrived, as far as there is room; how many.
    pub(crate) fn grant(&mut self) -> usize {
        let before = self.wishes.len();
        while let Some(wish) = self.wishes.front() {
            let wish = *wish;
            let Ok(dropped) = self.drop_message(&wish) else { break };
            self.wishes.pop_front();
            if let Some(sender) = self.layout.sender(wish.data) {
                let data = u64::from(dropped) * (DROPPED << 32);
                self.put_out(wish.from, Out::Answer(self.layout.verdict(sender), data));
            }
        }
        before - self.wishes.len()
    }

    /// Drops the message that a wish means, if no receive has matched it.
    fn drop_message(&mut self, wish: &Message) -> Result<bool, Busy> {
        let meant = |message: &Message| message.from == wish.from && message.data == wish.data;
        let mut place = self.aside.iter().position(|aside| meant(&aside.message));
        let want = self.layout.want_all(wish.from, wish.bits);
        while place.is_none() {
            let Some((claim, message)) = self.mtl.claim(&want)? else { return Ok(false) };
            self.aside.push_back(Aside { claim, message });
            if meant(&message) {
                place = Some(self.aside.len() - 1);
            }
        }
        let Some(place) = place else { return Ok(false) };
        self.mtl.discard(self.aside[place].claim)?;
        self.aside.remove(place);
        Ok(true)
    }
}
