//! Contexts that are revoked: nothing is matched in them any more.

use btl::{FastPath, Peer};
use pml::{Done, MessageLayer};

use crate::Ob1;
use crate::frame::Body;
use crate::request::State;

impl Ob1 {
    /// Whether a context was revoked.
    #[inline]
    pub(crate) fn is_revoked(&self, context: u32) -> bool {
        !self.revoked.is_empty() && self.revoked.contains(&context)
    }

    /// How a send or a receive ends that did not take place.
    pub(crate) fn taken_back(&self, context: u32, owner: u32) -> Done {
        if self.is_revoked(context) { Done::revoked(owner) } else { Done::cancelled(owner) }
    }

    /// Ends what waits in a context for its match, with `ERR_REVOKED`. A receive that has its message gets it. A send that was offered is
    /// asked back, since its receiver may be reading the buffer; where it was matched already it takes place. Messages without a receive
    /// are dropped, those that still come, too.
    pub fn revoke<B: FastPath>(&mut self, btl: &mut B, context: u32) {
        if !self.revoked.insert(context) {
            return;
        }
        let is_concerned = |state: &State| match state {
            State::Posted(post) => post.envelope.context == context,
            State::Send(send) => send.to.context == context,
            State::Receive(_) | State::Done(_) => false,
        };
        for id in self.requests_that(is_concerned) {
            self.cancel(btl, id);
        }
        self.unexpected.forget(|message| of_communicator(message.envelope.context) == context);
        self.check_congestion(btl);
    }

    /// Drops what `peer` has sent in the contexts of a communicator that it has revoked and that is not here.
    pub fn drop_kept<B: FastPath>(&mut self, btl: &mut B, context: u32, peer: Peer) {
        let is_of_communicator = |at: u32| of_communicator(at) == context;
        self.unexpected
            .forget(|message| message.peer == peer && is_of_communicator(message.envelope.context));
        self.check_congestion(btl);
    }

    /// Whether a message is dropped that no receive waits for: its communicator was revoked, and its sender waits for no answer.
    #[inline]
    pub(crate) fn is_too_late(&self, context: u32, body: &Body) -> bool {
        *body == Body::Eager && self.is_revoked(of_communicator(context))
    }
}

/// The context that stands for a communicator: the library's own messages have the one after it.
const fn of_communicator(context: u32) -> u32 {
    context & !1
}
