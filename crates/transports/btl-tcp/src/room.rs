//! Connections when descriptors run short: idle ones are closed, and made again when they are wanted.
//!
//! ```text
//!   a side that wants a descriptor           the other one
//!    │ ── last frame: "rest" ─────────────────►  sends what it still has to send, on this connection
//!    │ ◄───────────────── last frame: "rest" ──  closes
//!    │    closes
//! ```
//!
//! What either side wants to send after its "rest" waits for the next connection. A peer may call again before its
//! "rest" is read here; the call is answered afterwards, so that nothing overtakes.
//!
//! Half of all connections at most are attempts of this process, so that there is always room for a caller; and a caller's
//! connection becomes idle. So processes whose descriptors are all in use never wait for each other in a circle.

use crate::conversation::Closing;
use crate::frame::Control;
use crate::network::{LISTENER, Network, Role};
use crate::numbers::{is_lane, peer_of};
use crate::pair::{SOON, State};
use crate::transport::Tcp;
use std::os::fd::AsFd;
use std::time::Instant;

/// Fewest connections with which processes do not wait for each other for ever: an attempt and a caller.
pub(crate) const FEWEST: usize = 2;

impl Network {
    /// Connections, and callers that may become some.
    pub(crate) fn used(&self) -> usize {
        self.links.len() + self.callers
    }

    /// Whether another attempt may begin.
    pub(crate) fn has_room_for_attempt(&mut self) -> bool {
        let attempts = |role: &Role| matches!(role, Role::Begun | Role::Asked(_) | Role::Proven);
        let is_full = self.used() >= self.most;
        self.wants_room |= is_full;
        !is_full
            && self.links.iter().filter(|(_, link)| attempts(&link.role)).count() < (self.most / 2).max(1)
    }

    /// The system gave no descriptor: there are no more than those in use.
    pub(crate) fn is_at_limit(&mut self) {
        self.most = self.used().max(FEWEST);
        self.wants_room = true;
    }
}

impl Tcp {
    /// Whether another caller may be accepted; else none is reported until there is room.
    pub(crate) fn has_room_for_caller(&mut self) -> bool {
        self.network.callers = self.strangers.callers().count();
        let is_full = |network: &Network| network.used() >= network.most;
        if is_full(&self.network) && self.network.callers > 0 {
            // Some may have sent their hello by now.
            self.hear();
            if is_full(&self.network) && self.strangers.make_room(Instant::now()) {
                self.network.callers -= 1;
            }
        }
        !is_full(&self.network)
    }

    pub(crate) fn stop_listening(&mut self) {
        if self.listens_again.is_none() {
            self.network.set.remove(self.listener.as_fd());
            self.listens_again = Some(Instant::now() + SOON);
        }
    }

    /// Has idle connections closed where there is a want of descriptors, and listens again where there are some.
    pub(crate) fn balance(&mut self) {
        if let Some(due) = self.listens_again {
            let has_room = self.has_room_for_caller();
            self.network.wants_room |= !has_room;
            // Fails only for want of kernel memory, and is then tried again.
            if has_room && self.network.set.add(self.listener.as_fd(), LISTENER, false).is_ok() {
                self.listens_again = None;
            } else if due <= Instant::now() {
                self.listens_again = Some(Instant::now() + SOON);
            }
        }
        if core::mem::take(&mut self.network.wants_room) {
            self.close_an_idle_one();
        }
    }

    /// Begins to close the connection that was used longest ago, about, unless enough are being closed.
    fn close_an_idle_one(&mut self) {
        let closing = |at: &u32| self.peers[*at].as_ref().is_some_and(|one| one.closing.is_some());
        let all = self.peers.numbers();
        if all.iter().filter(|&at| closing(at)).count() > self.network.most / 4 {
            return;
        }
        // From where the last search has ended, twice around.
        let first = all.partition_point(|&at| at < self.hand);
        for at in all.iter().copied().cycle().skip(first).take(2 * all.len()) {
            self.hand = at + 1;
            let is_lent = self.lent.is_some_and(|(peer, _)| peer == at);
            let Some(conversation) = &mut self.peers[at] else { continue };
            let is_idle = matches!(conversation.pair.state(), State::Open(_))
                && conversation.closing.is_none()
                && conversation.output.is_empty()
                && conversation.pouring.is_none()
                && !conversation.is_ready
                && !is_lent
                && !self.direct.is_pending(at);
            if is_idle && !core::mem::take(&mut conversation.was_used) {
                match is_lane(at) && self.rails.is_none() {
                    // It is not made again.
                    true => self.end(at, "descriptors ran short"),
                    false => self.begin_to_close(at, false),
                }
                return;
            }
        }
    }

    fn begin_to_close(&mut self, at: u32, peer_rests: bool) {
        let conversation = self.conversation(at);
        let mut output = core::mem::take(&mut conversation.output);
        output.add_control(Control::Rest);
        conversation.closing = Some(Closing { output, peer_rests, callers: Vec::new() });
        self.flush(at);
    }

    /// The peer has sent its last frame on this connection.
    pub(crate) fn peer_rests(&mut self, at: u32) {
        match &mut self.conversation(at).closing {
            Some(closing) => {
                closing.peer_rests = true;
                self.close_if_over(at);
            }
            None => self.begin_to_close(at, true),
        }
    }

    /// Closes a connection on which both sides have sent their last.
    pub(crate) fn close_if_over(&mut self, at: u32) {
        let State::Open(wire) = self.conversation(at).pair.state() else { return };
        let has_unsent = self.network.links.get(wire).is_some_and(|link| link.socket.has_unsent());
        let is_over = |closing: &mut Closing| closing.peer_rests && closing.output.is_empty() && !has_unsent;
        let conversation = self.conversation(at);
        if conversation.closing.as_mut().is_some_and(is_over) {
            self.close_now(at, wire);
        }
    }

    /// A connection on which the peer has sent its last is over.
    pub(crate) fn close_now(&mut self, at: u32, wire: u32) {
        let conversation = self.conversation(at);
        let Some(closing) = conversation.closing.take() else { return };
        conversation.awaits_room = false;
        conversation.input = Default::default();
        self.network.links.remove(wire);
        self.with_pair(at, |pair, _, _| pair.closed());
        for caller in closing.callers {
            self.take_call(at, caller);
        }
        if !self.conversation(at).output.is_empty() {
            self.with_pair(at, |pair, network, _| pair.want(Instant::now(), network));
        }
    }

    /// A peer that has proven to be one calls over a connection.
    pub(crate) fn take_call(&mut self, from: u32, wire: u32) {
        // It may have gone while it waited.
        if self.network.links.get(wire).is_none() {
            return;
        }
        if is_lane(from) && self.rails.is_none() && self.conversation(peer_of(from)).loss.is_some() {
            self.network.links.remove(wire);
            return;
        }
        if let Some(closing) = &mut self.conversation(from).closing {
            return closing.callers.push(wire);
        }
        if !self.with_pair(from, |pair, network, _| pair.called(wire, network)) {
            self.network.links.remove(wire);
        }
    }
}
