//! Traffic of other jobs on the links of the torus.
//!
//! On each link their messages begin at random moments, independent of each other and of this job, so often that they
//! take a given share of the link's capacity. They are drawn from the link and their number on it: equal runs see
//! equal traffic. A link's traffic is made up when this job uses it, from a little before that moment on.

use crate::draw::exponential;
use crate::occupancy::{Occupancy, Picos};

/// What the other jobs send.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Background {
    /// Share of each link's capacity, below 1.
    pub share: f64,
    /// Bytes of a message.
    pub bytes: f64,
}

/// The others' next message on each link.
pub(crate) struct Others {
    background: Background,
    /// When it begins, and its number.
    next: Vec<(Picos, u32)>,
}

/// Messages that may still be on a link from before this job uses it.
const BEFORE: u64 = 16;

impl Others {
    pub(crate) fn new(background: Background, links: usize) -> Others {
        Others { background, next: vec![(0, 0); links] }
    }

    /// Puts the others' messages that begin by `until` on a link which carries `rate` bytes in a nanosecond.
    pub(crate) fn pass(
        &mut self,
        link: usize,
        taken: &mut Occupancy,
        (now, until): (Picos, Picos),
        rate: f64,
    ) {
        let held = (self.background.bytes / rate * 1000.0).round() as Picos;
        let pause = held as f64 / self.background.share;
        let (begins, number) = &mut self.next[link];
        *begins = (*begins).max(now.saturating_sub(BEFORE * held));
        while *begins <= until {
            taken.take(now, *begins, held);
            *begins += (pause * exponential((link as u64) << 32 | u64::from(*number))) as Picos + 1;
            *number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Background, Others};
    use crate::occupancy::Occupancy;

    #[test]
    fn the_others_take_their_share() {
        let (mut link, background) = (Occupancy::default(), Background { share: 0.25, bytes: 4096.0 });
        let mut others = Others::new(background, 1);
        let end = 2_000_000_000;
        others.pass(0, &mut link, (0, end), 4.0);
        let held = (0..end / 1000).filter(|&at| link.free_at(at * 1000, 1) != at * 1000).count();
        let share = held as f64 / (end / 1000) as f64;
        assert!((0.22..0.28).contains(&share), "{share}");
    }
}
