//! When the clock is looked at: a look takes as long as several polls that find nothing.

use dr::Time;

/// Most polls for one look.
const MOST_POLLS: u32 = 16;
/// Looks within this time are often: it is short beside all delays.
const OFTEN: Time = 10_000;

/// Polls and looks.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    polls: u32,
    /// Polls for one look: more as long as looks are often.
    stride: u32,
    last: Time,
}

impl Looks {
    /// A poll has found nothing: whether the clock is to be looked at.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.polls += 1;
        self.polls >= self.stride
    }

    /// The clock was looked at for this.
    pub(crate) fn look(&mut self, now: Time) {
        let is_often = now - self.last < OFTEN;
        self.stride = if is_often { (self.stride * 2).clamp(1, MOST_POLLS) } else { 0 };
        (self.polls, self.last) = (0, now);
    }

    /// The clock was looked at for something else: after a long time, polls are rare.
    pub(crate) fn note(&mut self, now: Time) {
        if now - self.last >= OFTEN {
            self.stride = 0;
        }
    }
}
