//! What the peer has sent, and what it has to learn of it.

use crate::config::{Config, Time};
use crate::mask::{BITS, Mask};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    New,
    Known,
    /// Too far ahead to be remembered.
    Beyond,
}

#[derive(Debug)]
pub(crate) struct Inbound {
    /// The lowest sequence that is not delivered.
    next: u64,
    /// Bit `i`: `next + i` is.
    mask: Mask,
    /// Frames of data since the last acknowledgement left.
    unacked: u32,
    due: Option<Time>,
    /// The frame that came last, and its attempt.
    pub last: (u64, u8),
    /// Where acknowledgements leave; `None`: by the best path.
    pub reply_path: Option<u8>,
}

impl Inbound {
    pub(crate) fn new(first: u64) -> Inbound {
        Inbound {
            next: first,
            mask: Mask::default(),
            unacked: 0,
            due: None,
            last: (first, 0),
            reply_path: None,
        }
    }

    /// The lowest sequence that is not delivered.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// What has been delivered, for a frame's header.
    pub(crate) fn delivered(&self) -> (u64, Mask) {
        (self.next.wrapping_sub(1), self.mask)
    }

    pub(crate) fn verdict(&self, sequence: u64) -> Verdict {
        match sequence.wrapping_sub(self.next) {
            ahead if (ahead as i64) < 0 => Verdict::Known,
            ahead if ahead >= BITS => Verdict::Beyond,
            ahead if self.mask.has(ahead) => Verdict::Known,
            _ => Verdict::New,
        }
    }

    /// Remembers a frame that is [`Verdict::New`] and whole.
    pub(crate) fn remember(&mut self, sequence: u64) {
        self.mask.set(sequence - self.next);
        self.next += self.mask.take_leading();
    }

    /// An acknowledgement is due for one frame more; at once where there is a gap.
    pub(crate) fn owe(&mut self, now: Time, config: &Config) {
        self.unacked += 1;
        let at_once = self.unacked >= config.ack_every || self.mask != Mask::default();
        let due = if at_once { now } else { now + config.ack_delay };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    pub(crate) fn owe_at_once(&mut self, now: Time) {
        self.due = Some(now);
    }

    /// What is due is due at once: the process is about to sleep.
    pub(crate) fn hurry(&mut self, now: Time) {
        self.due = self.due.map(|_| now);
    }

    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    /// A frame with [`Inbound::delivered`] has left.
    pub(crate) fn paid(&mut self) {
        (self.unacked, self.due) = (0, None);
    }
}
