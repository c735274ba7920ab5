//! Contexts that are revoked: nothing is matched in them any more.

use btl::FastPath;
use pml::{Done, MessageLayer};

use crate::Ob1;
use crate::request::State;

impl Ob1 {
    /// Whether a context was revoked.
    pub(crate) fn is_revoked(&self, context: u32) -> bool {
        !self.revoked.is_empty() && self.revoked.contains(&context)
    }

    /// How a send or a receive ends that did not take place.
    pub(crate) fn taken_back(&self, context: u32, owner: u32) -> Done {
        if self.is_revoked(context) { Done::revoked(owner) } else { Done::cancelled(owner) }
    }

    /// Ends what waits in a context for its match, with `ERR_REVOKED`. A receive that has its message gets it. A send that was offered is
    /// asked back, since its receiver may be reading the buffer; where it was matched already it takes place.
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
    }
}
