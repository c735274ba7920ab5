//! The straight line: a message of one slot, sent and received without a call.
//!
//! What is unusual (no room as far as is known, a longer message, a note) is refused here and treated by the
//! functions of the module above, so that the compiler need not save a register for it.

use mem::{PeerBytes, PeerSpace, Source};

use super::{BODY_BYTES, KIND, ONE, Receiver, SHORT, Sender, WORDS, put_header};
use crate::sync::{Ordering, prefetch};

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

impl<'a> Receiver<'a> {
    /// Asks for the slot of the next message, which has often been written by the time this one is treated.
    #[inline(always)]
    pub fn expect_more(&self) {
        prefetch(self.slot(self.stamp.wrapping_add(ONE)));
    }

    /// Header and payload of the next message, if it has arrived in one slot. The views are valid until
    /// [`Receiver::advance_short`].
    #[inline(always)]
    pub fn peek_short(&self) -> Option<(PeerBytes<'a>, PeerBytes<'a>)> {
        let slot = self.slot(self.stamp);
        // Pairs with the Release in `Sender::publish`.
        let word = slot.word.load(Ordering::Acquire) ^ self.stamp;
        let words = (word >> WORDS) as usize;
        let len = word as u32 as usize;
        if word >> KIND != SHORT || words * 8 + len > BODY_BYTES {
            return None;
        }
        let body = slot.body.with(|body| body.cast::<u8>());
        // SAFETY: header and payload lie within the body by the check above.
        unsafe { Some((PeerBytes::new(body, words * 8), PeerBytes::new(body.add(words * 8), len))) }
    }

    /// As [`Receiver::advance`], after [`Receiver::peek_short`] has shown a message.
    #[inline(always)]
    pub fn advance_short(&mut self) -> bool {
        self.stamp = self.stamp.wrapping_add(ONE);
        self.unreported += 1;
        let due = self.unreported as usize >= self.ring.slots.len() / 2;
        if due {
            self.report();
        }
        due
    }
}
