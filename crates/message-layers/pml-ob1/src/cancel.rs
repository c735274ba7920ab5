//! Cancelling (MPI-5.0 section 3.8.4).
//!
//! A receive without a message ends at once, and so does a send whose first frame still waits for room. For a
//! send that was offered the receiver decides; CANCEL has a place in the order of the messages, so it always
//! comes after the one that it is about:
//!
//! ```text
//!   SYNC or RTS ──────────────►
//!   CANCEL      ──────────────►  not matched yet: the message is gone
//!               ◄────────────── CANCEL_ACK 1
//!
//!   SYNC or RTS ──────────────►  matched
//!   CANCEL      ──── … ── … ──►
//!               ◄────────────── ACK, CTS or RTR: the send goes on as ever, but stays a request until
//!               ◄────────────── CANCEL_ACK 0
//! ```

use btl::{Busy, FastPath, Peer};
use pml::{Done, Envelope, MessageLayer, ReqId};

use crate::frame::{Body, Control, Sequenced};
use crate::peers::Queued;
use crate::request::{Cancel, SendStage, State};
use crate::{Ob1, sending};

impl<B: FastPath> MessageLayer<B> for Ob1 {
    fn cancel(&mut self, btl: &mut B, id: ReqId) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        let owner = request.owner;
        match &mut request.state {
            State::Posted(post) => {
                let context = post.envelope.context;
                self.posted.remove(&post.envelope, id.0);
                let done = self.taken_back(context, owner);
                self.finish(btl, id, done);
            }
            State::Send(send) if send.stage == SendStage::Queued => {
                let context = send.to.context;
                self.peers.entry(send.to.peer).forget(id);
                let done = self.taken_back(context, owner);
                self.finish(btl, id, done);
            }
            State::Send(send) if send.stage == SendStage::Offered && send.cancel == Cancel::No => {
                send.cancel = Cancel::Asked;
                let peer = send.to.peer;
                if self.peers.entry(peer).is_waiting() || self.ask_to_cancel(btl, id).is_err() {
                    self.enqueue(peer, Queued::Cancel(id));
                }
            }
            State::Send(_) | State::Receive(_) | State::Done(_) => {}
        }
    }
}

impl Ob1 {
    /// Sends CANCEL.
    pub(crate) fn ask_to_cancel<B: FastPath>(&mut self, btl: &mut B, id: ReqId) -> Result<(), Busy> {
        let Some(send) = sending(&mut self.requests, id) else { return Ok(()) };
        let peer = self.peers.entry(send.to.peer);
        let body = Body::Cancel { sender: id.0 };
        let frame = Sequenced { sequence: peer.next_send(), envelope: send.to.envelope(), body };
        frame.header().send(btl, send.to.peer)?;
        peer.sent();
        Ok(())
    }

    /// CANCEL: a sender wants its message back.
    pub(crate) fn on_cancel<B: FastPath>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        envelope: Envelope,
        sender: u32,
    ) {
        let message = self
            .unexpected
            .find_of_sender(&envelope, peer, sender)
            .and_then(|node| self.unexpected.take(node));
        let cancelled = message.is_some();
        if let Some(message) = message {
            self.give_back(btl, &message.body, message.payload);
        }
        self.control(btl, peer, Control::CancelAck { sender, cancelled });
    }

    /// CANCEL_ACK: the receiver has decided.
    pub(crate) fn on_cancel_ack<B: FastPath>(&mut self, btl: &mut B, peer: Peer, id: ReqId, cancelled: bool) {
        let asked = sending(&mut self.requests, id)
            .filter(|send| send.to.peer == peer && send.cancel == Cancel::Asked);
        let Some(send) = asked else {
            self.counts.bad_frames += 1;
            return;
        };
        let (owner, context) = (send.to.owner, send.to.context);
        match (cancelled, send.stage) {
            (true, SendStage::Offered) => {
                let done = self.taken_back(context, owner);
                self.finish(btl, id, done);
            }
            (false, SendStage::Finished) => self.finish(btl, id, Done::sent(owner)),
            (false, _) => send.cancel = Cancel::No,
            (true, _) => self.counts.bad_frames += 1,
        }
    }
}
