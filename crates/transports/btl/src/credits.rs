//! Credits: how many active messages of one class may be under way to one peer.
//!
//! ```text
//!   sender                              receiver
//!   may_send?  sent = 1   ── request ─▶ arrived = 1
//!   may_send?  sent = 2   ── request ─▶ arrived = 2
//!                                       handled: acknowledged = 1
//!   returned = 1          ◀─ acknowledged ── in the answer's header, or in a frame of its own when `owes`
//! ```
//! A message layer has flow control of its own, because receives are posted. Other classes send requests that no
//! receive waits for, and a receiver could be drowned in them. So each pair of processes allows at most `window`
//! requests of a class that the receiver has not acknowledged.
//!
//! *No handler blocks.* A handler that must answer and finds no room keeps its answer, and the request counts as
//! acknowledged once the transport has taken the answer. So the peer's window bounds the answers that are kept. An answer
//! costs no credit itself: if it did, two processes that have sent each other all they may could never answer.
//!
//! Both sides exchange counts and not differences, modulo 2^32. So a count that is sent twice or overtaken on another path
//! does no harm.

/// One process's side of a pair, for one class: both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credits {
    window: u32,
    /// Requests sent.
    sent: u32,
    /// Of these, acknowledged by the peer, as far as it has reported.
    returned: u32,
    /// Requests that arrived here.
    arrived: u32,
    /// Of these, acknowledged here.
    acknowledged: u32,
    /// `acknowledged` as last reported to the peer.
    reported: u32,
}

/// The peer did what no honest peer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadFrame;

impl Credits {
    /// A pair that has exchanged nothing. `window` is the same on both sides, at least 1 and at most 2^30.
    pub const fn new(window: u32) -> Credits {
        assert!(window >= 1 && window <= 1 << 30, "a window of 1 to 2^30 requests");
        Credits { window, sent: 0, returned: 0, arrived: 0, acknowledged: 0, reported: 0 }
    }

    /// Whether a request may be sent now.
    #[inline]
    pub const fn may_send(&self) -> bool {
        self.outstanding() < self.window
    }

    /// Requests sent that the peer has not reported as acknowledged.
    pub const fn outstanding(&self) -> u32 {
        self.sent.wrapping_sub(self.returned)
    }

    /// The transport took a request, for which [`Credits::may_send`] was true.
    #[inline]
    pub const fn sent(&mut self) {
        debug_assert!(self.may_send());
        self.sent = self.sent.wrapping_add(1);
    }

    /// A request has arrived.
    ///
    /// # Errors
    /// [`BadFrame`]: it is beyond the window. It is not counted and must be dropped.
    pub const fn arrived(&mut self) -> Result<(), BadFrame> {
        // What was acknowledged and not reported yet still counts against the peer: it cannot know.
        if self.arrived.wrapping_sub(self.reported) >= self.window {
            return Err(BadFrame);
        }
        self.arrived = self.arrived.wrapping_add(1);
        Ok(())
    }

    /// A request that had arrived is acknowledged, its answer taken by the transport.
    #[inline]
    pub const fn acknowledged(&mut self) {
        debug_assert!(self.acknowledged != self.arrived);
        self.acknowledged = self.acknowledged.wrapping_add(1);
    }

    /// The count to put into a frame to the peer, of any kind; [`Credits::reported`] follows if the transport takes it.
    #[inline]
    pub const fn report(&self) -> u32 {
        self.acknowledged
    }

    /// The transport took a frame with the count that [`Credits::report`] gave.
    #[inline]
    pub const fn reported(&mut self, count: u32) {
        self.reported = count;
    }

    /// Whether a report is due that no other frame carries: half of the window is acknowledged and not reported.
    pub const fn owes(&self) -> bool {
        let unreported = self.acknowledged.wrapping_sub(self.reported);
        unreported > 0 && unreported >= self.window / 2
    }

    /// A frame of the peer carried this count.
    ///
    /// # Errors
    /// [`BadFrame`]: more than was sent. Nothing is changed.
    pub const fn returned(&mut self, count: u32) -> Result<(), BadFrame> {
        let more = count.wrapping_sub(self.returned);
        if more <= self.outstanding() {
            self.returned = count;
            return Ok(());
        }
        // An older count, which another frame has overtaken.
        if more.wrapping_neg() <= 1 << 30 { Ok(()) } else { Err(BadFrame) }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadFrame, Credits};
    use chance::Rng;
    use std::collections::VecDeque;

    /// What travels from one side to the other.
    enum Frame {
        /// With the count of acknowledged requests that rides on it.
        Request(u32),
        Answer(u32),
        Report(u32),
    }

    struct Side {
        credits: Credits,
        to_send: u32,
        /// Requests that arrived and are not answered.
        kept: u32,
        answers: u32,
    }

    /// Two sides that flood each other over paths of few slots which overtake each other: the window holds, every request
    /// is answered, and no side waits for ever. Counters start just below where they wrap.
    fn flood(seed: u64) {
        const REQUESTS: u32 = 300;
        let mut random = Rng::new(seed);
        let window = 1 + random.below(9) as u32;
        let slots = 1 + random.below(6) as usize;
        let start = 0u32.wrapping_sub(random.below(400) as u32);
        let mut credits = Credits::new(window);
        let all = [
            &mut credits.sent,
            &mut credits.returned,
            &mut credits.arrived,
            &mut credits.acknowledged,
            &mut credits.reported,
        ];
        all.into_iter().for_each(|count| *count = start);
        let side = || Side { credits, to_send: REQUESTS, kept: 0, answers: 0 };
        let mut sides = [side(), side()];
        let mut paths: [Vec<Frame>; 2] = [Vec::new(), Vec::new()];
        let mut idle = 0;
        while sides.iter().any(|side| side.to_send > 0 || side.answers < REQUESTS) {
            idle += 1;
            assert!(idle < 10_000, "stuck: window {window}, {slots} slots");
            let from = random.below(2) as usize;
            let Side { credits, to_send, kept, answers } = &mut sides[from];
            let count = credits.report();
            let room = paths[1 - from].len() < slots;
            match random.below(4) {
                0 if room && *to_send > 0 && credits.may_send() => {
                    paths[1 - from].push(Frame::Request(count));
                    credits.sent();
                    credits.reported(count);
                    *to_send -= 1;
                }
                1 if room && *kept > 0 => {
                    *kept -= 1;
                    credits.acknowledged();
                    let count = credits.report();
                    paths[1 - from].push(Frame::Answer(count));
                    credits.reported(count);
                }
                2 if room && credits.owes() => {
                    paths[1 - from].push(Frame::Report(count));
                    credits.reported(count);
                }
                3 if !paths[from].is_empty() => {
                    let path = &mut paths[from];
                    let chosen = random.below(path.len() as u64) as usize;
                    let count = match path.swap_remove(chosen) {
                        Frame::Request(count) => {
                            credits.arrived().expect("within the window");
                            *kept += 1;
                            assert!(*kept <= window);
                            count
                        }
                        Frame::Answer(count) => {
                            *answers += 1;
                            count
                        }
                        Frame::Report(count) => count,
                    };
                    credits.returned(count).expect("an honest count");
                    assert!(credits.outstanding() <= window);
                }
                _ => continue,
            }
            idle = 0;
        }
    }

    #[test]
    fn a_flood_from_both_sides_keeps_the_window_and_ends() {
        (1..2000).for_each(flood);
    }

    /// Requests without answers: reports of their own bring the credits back.
    #[test]
    fn reports_suffice_where_nothing_goes_back() {
        for window in 1..20 {
            let (mut sender, mut receiver) = (Credits::new(window), Credits::new(window));
            let (mut path, mut done) = (VecDeque::new(), 0);
            while done < 1000 {
                while sender.may_send() {
                    sender.sent();
                    path.push_back(());
                }
                assert_eq!(path.pop_front(), Some(()), "a full window opens again");
                receiver.arrived().expect("within the window");
                receiver.acknowledged();
                done += 1;
                if receiver.owes() {
                    let count = receiver.report();
                    receiver.reported(count);
                    sender.returned(count).expect("an honest count");
                }
            }
        }
    }

    #[test]
    fn dishonest_counts_and_floods_are_refused() {
        let mut credits = Credits::new(4);
        for _ in 0..4 {
            credits.arrived().expect("within the window");
        }
        assert_eq!(credits.arrived(), Err(BadFrame));
        for _ in 0..3 {
            credits.sent();
        }
        assert_eq!(credits.returned(4), Err(BadFrame));
        assert_eq!(credits.returned(2), Ok(()));
        assert_eq!(credits.returned(1), Ok(()), "overtaken");
        assert_eq!(credits.outstanding(), 1);
        assert_eq!(credits.returned(1 << 31), Err(BadFrame));
    }
}
