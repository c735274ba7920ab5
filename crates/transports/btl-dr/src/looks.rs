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

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls up to the next look, which happens at `now`.
    fn polls(looks: &mut Looks, now: Time) -> u32 {
        let polls = 1 + (0..).take_while(|_| !looks.is_due()).count() as u32;
        looks.look(now);
        polls
    }

    #[test]
    fn the_more_often_the_clock_is_looked_at_the_more_polls_go_between() {
        let mut looks = Looks::default();
        let quick: Vec<u32> = (1..=7).map(|turn| polls(&mut looks, OFTEN + turn * (OFTEN - 1))).collect();
        assert_eq!(quick, [1, 1, 1, 2, 4, 8, MOST_POLLS]);
        assert_eq!(polls(&mut looks, 7 * OFTEN + OFTEN), MOST_POLLS, "no more than that");
    }

    #[test]
    fn after_a_long_time_each_poll_looks() {
        let mut looks = Looks::default();
        for turn in 0..9 {
            polls(&mut looks, OFTEN + turn);
        }
        looks.note(2 * OFTEN);
        assert_eq!(polls(&mut looks, 2 * OFTEN + 8), MOST_POLLS, "that was not long");
        looks.note(3 * OFTEN + 8);
        assert_eq!(polls(&mut looks, 9 * OFTEN), 1);
        assert_eq!(polls(&mut looks, 99 * OFTEN), 1, "rare looks need no polls between them");
    }
}
