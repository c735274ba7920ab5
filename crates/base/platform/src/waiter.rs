//! How long to wait actively before sleeping.
//!
//! ```text
//!   core of its own:   spin (poll) for a while ------------------------> sleep
//!   oversubscribed:    poll once, yield, poll once, yield ... (bounded) -> sleep
//! ```
//! Measured with 8 ranks on 2 cores, a barrier: sleeping at once 25-31 us, yielding only 9-10 us, yielding a
//! bounded number of times and then sleeping 4-7 us.

use std::time::{Duration, Instant};

/// The bounds of active waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long to poll without giving up the core; zero where ranks share cores.
    pub spin: Duration,
    /// How many times to give the core to another rank after that.
    pub yields: u32,
}

impl Policy {
    /// For ranks that have a core each. A sleep and its wake-up cost tens of microseconds, so about that long
    /// and a few times more is worth spinning.
    pub const DEDICATED: Policy = Policy { spin: Duration::from_micros(500), yields: 0 };
    /// For more ranks than cores.
    pub const OVERSUBSCRIBED: Policy = Policy { spin: Duration::ZERO, yields: 20 };

    /// Whether another rank may be waiting for this core.
    pub const fn is_oversubscribed(&self) -> bool {
        self.spin.is_zero()
    }
}

/// The state of one wait.
///
/// ```
/// use platform::waiter::{Policy, Waiter};
/// # let arrived = || true;
/// let mut waiter = Waiter::new(Policy::DEDICATED);
/// while !arrived() {
///     if waiter.idle() {
///         // arm; poll once more; futex::wait; disarm
///         waiter.restart();
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Waiter {
    policy: Policy,
    polls: u32,
    yields: u32,
    began: Option<Instant>,
}

/// Polls between two looks at the clock; a power of two.
const CLOCK_EVERY: u32 = 64;

impl Waiter {
    /// A wait that begins now. Costs nothing until the first [`Waiter::idle`].
    #[inline(always)]
    pub const fn new(policy: Policy) -> Waiter {
        Waiter { policy, polls: 0, yields: 0, began: None }
    }

    /// To be called after each poll that found nothing. Pauses or yields by the policy; `true`: the
    /// bounds are used up and the caller should sleep.
    #[inline]
    pub fn idle(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        if !self.policy.spin.is_zero() && (self.polls & (CLOCK_EVERY - 1) != 0 || self.spinning()) {
            core::hint::spin_loop();
            return false;
        }
        self.give_way()
    }

    /// Begins anew, after a sleep or when something arrived.
    #[inline]
    pub fn restart(&mut self) {
        *self = Waiter::new(self.policy);
    }

    fn spinning(&mut self) -> bool {
        let began = *self.began.get_or_insert_with(Instant::now);
        began.elapsed() < self.policy.spin
    }

    fn give_way(&mut self) -> bool {
        if self.yields >= self.policy.yields {
            return true;
        }
        self.yields += 1;
        std::thread::yield_now();
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Waiter};
    use std::time::Duration;

    fn idles(policy: Policy) -> u32 {
        let mut waiter = Waiter::new(policy);
        (0..).take_while(|_| !waiter.idle()).count() as u32
    }

    #[test]
    fn an_oversubscribed_rank_yields_a_bounded_number_of_times() {
        assert_eq!(idles(Policy::OVERSUBSCRIBED), Policy::OVERSUBSCRIBED.yields);
    }

    #[test]
    fn a_dedicated_rank_spins_and_then_sleeps() {
        assert!(idles(Policy { spin: Duration::from_micros(50), yields: 0 }) > 0);
        assert_eq!(idles(Policy { spin: Duration::ZERO, yields: 0 }), 0);
    }
}
