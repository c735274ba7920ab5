//! How long to wait actively before sleeping.
//!
//! ```text
//!   core of its own:   spin (poll) for a while ------------------------> sleep
//!   oversubscribed:    poll once, yield, poll once, yield ... (bounded) -> sleep
//!   beside programs that compute:  poll as often, without a yield -------> sleep
//! ```
//! Measured with 8 ranks on 2 cores, a barrier: sleeping at once 25-31 us, yielding only 9-10 us, yielding a
//! bounded number of times and then sleeping 4-7 us.
//!
//! **A yield is for ranks that wait, too.** They give the core back within microseconds. A program that computes keeps it: Linux
//! 6.18 has a process that yields beside one such program wait for 29 ms on average, beside four for 166 ms, since each yield puts it
//! a slice further back. Two processes that sleep wake each other there within a millisecond. So a yield that took long is the last
//! one for [`RESTS`] times as long, and ranks sleep after a few polls meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

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
        // As many polls where there is no yield: some of them read what rings no doorbell.
        if !YIELDS.give_way() {
            core::hint::spin_loop();
        }
        false
    }
}

/// Gives the core to a thread that this one waits for and cannot be woken by: by a yield, or by a short sleep where yields take long.
pub fn give_way() {
    if !YIELDS.give_way() {
        std::thread::sleep(NAP);
    }
}

/// As long as a yield and a turn of another thread take.
const NAP: Duration = Duration::from_micros(50);
/// A yield that takes so many nanoseconds has met a program that computes.
const LONG: u64 = 1_000_000;
/// After a long yield there is none for so many times as long: so they cost at most a 64th of the time.
const RESTS: u64 = 64;

/// The yields of this process.
static YIELDS: Yields = Yields(AtomicU64::new(0));

/// When the next yield may be ([`clock::nanoseconds`]); 0: now.
struct Yields(AtomicU64);

impl Yields {
    /// Yields, if that is worth while: whether it was.
    #[expect(clippy::disallowed_methods, reason = "the yield that all others go through")]
    fn give_way(&self) -> bool {
        let before = clock::nanoseconds();
        if !self.is_worth(before) {
            return false;
        }
        std::thread::yield_now();
        self.took(before, clock::nanoseconds());
        true
    }

    // Relaxed: no other memory depends on it, and threads that see it late yield once more.
    fn is_worth(&self, now: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= now
    }

    fn took(&self, from: u64, to: u64) {
        let long = to.saturating_sub(from);
        if long >= LONG {
            self.0.store(to.saturating_add(long.saturating_mul(RESTS)), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Waiter, Yields};
    use std::sync::atomic::AtomicU64;
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
    fn after_a_long_yield_there_is_none_for_64_times_as_long() {
        let (yields, ms) = (Yields(AtomicU64::new(0)), |ms: u64| ms * 1_000_000);
        yields.took(ms(5), ms(5) + 20_000);
        assert!(yields.is_worth(ms(5) + 20_000), "a rank that waits has had the processor");
        yields.took(ms(10), ms(40));
        assert!(!yields.is_worth(ms(40) + 1) && !yields.is_worth(ms(40 + 64 * 30) - 1));
        assert!(yields.is_worth(ms(40 + 64 * 30)));
    }

    #[test]
    fn a_dedicated_rank_spins_and_then_sleeps() {
        assert!(idles(Policy { spin: Duration::from_micros(50), yields: 0 }) > 0);
        assert_eq!(idles(Policy { spin: Duration::ZERO, yields: 0 }), 0);
    }
}
