//! The straight line: a message of one slot, sent and received without a call.
//!
//! What is unusual (no room as far as is known, a longer message, a note) is refused here and treated by the
//! functions of the module above, so that the compiler need not save a register for it.

use mem::{PeerBytes, PeerSpace, Source};

use super::{BODY_BYTES, ONE, Receiver, SHORT, Sender, USUAL_WORDS, put_header};
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

impl<'a> Receiver<'a> {
    /// Asks for the slot of the next message, which has often been written by the time this one is treated.
    #[inline(always)]
    pub fn expect_more(&self) {
        prefetch(self.slot(self.stamp.wrapping_add(ONE)));
    }

    /// Looks for the next message, of whatever kind, up to `looks` times; whether it has arrived. There is no pause
    /// between two looks: it would delay the one that finds the message.
    #[inline(always)]
    pub fn look_out(&self, looks: u32) -> bool {
        (0..looks).any(|_| self.look().is_some())
    }

    /// Header and payload of the next message, if it has arrived in one slot with a header of the usual length. The
    /// views are valid until [`Receiver::advance_short`].
    #[inline(always)]
    pub fn peek_short(&self) -> Option<(PeerBytes<'a>, PeerBytes<'a>)> {
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

    /// As [`Receiver::advance`], after [`Receiver::peek_short`] has shown a message.
    #[inline(always)]
    pub fn advance_short(&mut self) -> bool {
        self.stamp = self.stamp.wrapping_add(ONE);
        self.left -= 1;
        let due = self.left == 0;
        if due {
            self.report();
        }
        due
    }
}
