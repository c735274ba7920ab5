//! The fast path: a message of one slot, sent and received without a call.
//!
//! What is unusual (no room as far as is known, a longer message, a note) is refused here and treated by the
//! functions of the module above, so that the compiler need not save a register for it.

use mem::{PeerBytes, PeerSpace, Source};

use super::{
    BODY_BYTES, MESSAGES, ONE, Receiver, SEQUENCE, SHORT, Sender, USUAL_WORDS, VALID_BIT, put_header,
};
use crate::sync::{Ordering, prefetch};

/// Bytes of the usual header.
const HEADER: usize = USUAL_WORDS * 8;
const _: () = assert!(SHORT == 0, "a plain message has zeros above its length");

impl Sender<'_> {
    /// Sends a message that fits in a slot, if there is room as far as is known. `false`: nothing was taken.
    #[inline(always)]
    pub fn send_at_once<S: Source>(&mut self, header: &[u64], payload: &mut S) -> bool {
        let len = payload.remaining();
        if self.stamp == self.limit || header.len() * 8 + len > BODY_BYTES {
            return false;
        }
        let slot = self.slot(self.stamp);
        // Written outside the closure, which the compiler would not inline.
        let body = slot.body.with_mut(|body| body.cast::<u8>());
        // SAFETY: header and payload fit in the body by the check above, and the receiver does not look at this
        // slot before the word is published.
        unsafe {
            put_header(body.cast(), header);
            payload.fill(PeerSpace::new(body.add(header.len() * 8), len));
        }
        self.publish(slot, SHORT, header.len(), len);
        true
    }
}

impl Sender<'_> {
    /// To be called when there is nothing to do: learns how far the receiver got before that must be known.
    #[inline(always)]
    pub fn idle(&mut self) {
        let room = self.limit.wrapping_sub(self.stamp) >> SEQUENCE;
        if room < self.slots / 4 {
            self.look_for_slots();
        }
    }

    /// Whether there was no room as far as was known, and is now.
    pub fn finds_room(&mut self) -> bool {
        let was_full = self.stamp == self.limit;
        self.look_for_slots();
        was_full && self.stamp != self.limit
    }

    /// Learns how many slots the receiver has given back; returns what it has reported.
    #[inline(always)]
    pub(super) fn look_for_slots(&mut self) -> u64 {
        // Pairs with the Release in `Receiver::report`.
        let progress = self.ring.progress.0.load(Ordering::Acquire);
        let unread = (self.stamp >> SEQUENCE).wrapping_sub(progress) & MESSAGES;
        // A peer that reports rubbish gets nothing.
        let room = self.slots.saturating_sub(unread);
        self.limit = self.stamp.wrapping_add(room << SEQUENCE);
        progress
    }
}

impl<'a> Receiver<'a> {
    /// Asks for the slot of the next message, which has often been written by the time this one is treated.
    #[inline(always)]
    pub fn expect_more(&self) {
        prefetch(self.slot(self.stamp.wrapping_add(ONE)));
    }

    /// Polls for the next message, of whatever kind, up to `polls` times, with a pause after a failed poll; whether it has
    /// arrived.
    ///
    /// Each poll shares the line with the sender, which must get it back in order to write: polls without a pause come
    /// between its stores. On a Zen 4 server, where a pause takes 26 ns, half a round trip takes 1.32 times as long as a
    /// line from core to core, without pauses 1.55; with pauses of 9, 18, 35 and 52 ns 1.43, 1.35, 1.39 and 1.58.
    #[inline(always)]
    pub fn poll_slot(&self, polls: u32) -> bool {
        poll_repeatedly(polls, || self.poll()).is_some()
    }

    /// Header and payload of the next message, if it has arrived in one slot with a header of the usual length, and no
    /// report is due. The views are valid until [`Receiver::advance_short`].
    #[inline(always)]
    pub fn peek_short(&self) -> Option<(PeerBytes<'a>, PeerBytes<'a>)> {
        if self.left == 0 {
            return None;
        }
        let slot = self.slot(self.stamp);
        // Pairs with the Release in `Sender::publish`.
        let word = slot.word.load(Ordering::Acquire) ^ self.stamp;
        // What stands above the length is 0 then, and all of it is compared at once.
        if word > (BODY_BYTES - HEADER) as u64 {
            return None;
        }
        let body = slot.body.with(|body| body.cast::<u8>());
        // SAFETY: header and payload lie within the body by the check above.
        unsafe { Some((PeerBytes::new(body, HEADER), PeerBytes::new(body.add(HEADER), word as usize))) }
    }

    /// As [`Receiver::peek_short`], polling for the message as [`Receiver::poll_slot`] does. All but the polls themselves
    /// comes before them.
    #[inline(always)]
    pub fn await_short(&self, polls: u32) -> Option<(PeerBytes<'a>, PeerBytes<'a>)> {
        if self.left == 0 {
            return None;
        }
        let (slot, stamp) = (self.slot(self.stamp), self.stamp);
        let body = slot.body.with(|body| body.cast::<u8>());
        // Pairs with the Release in `Sender::publish`.
        let poll = || Some(slot.word.load(Ordering::Acquire) ^ stamp).filter(|word| word >> VALID_BIT == 0);
        let word = poll_repeatedly(polls, poll)?;
        if word > (BODY_BYTES - HEADER) as u64 {
            return None;
        }
        // SAFETY: header and payload lie within the body by the check above.
        unsafe { Some((PeerBytes::new(body, HEADER), PeerBytes::new(body.add(HEADER), word as usize))) }
    }

    /// Gives the memory of the message back that [`Receiver::peek_short`] has shown. The report to the sender is left to
    /// the caller that finds nothing to do ([`Receiver::idle`]) or takes the next message ([`Receiver::advance`]).
    #[inline(always)]
    pub fn advance_short(&mut self) {
        self.stamp = self.stamp.wrapping_add(ONE);
        self.left -= 1;
    }
}

/// What the first of up to `polls` polls finds, with a pause after each failed one.
#[inline(always)]
fn poll_repeatedly<T>(polls: u32, poll: impl Fn() -> Option<T>) -> Option<T> {
    (0..polls).find_map(|_| poll().or_else(pause))
}

#[inline(always)]
fn pause<T>() -> Option<T> {
    core::hint::spin_loop();
    None
}
