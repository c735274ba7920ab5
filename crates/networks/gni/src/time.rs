//! Time as the caller gives it.

use core::ops::{Add, Sub};

/// A moment, in nanoseconds since a start that the caller chose: a monotonic clock's for a real run, the
/// simulator's for virtual time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

impl Time {
    /// The caller's start.
    pub const START: Time = Time(0);

    /// `ms` milliseconds after the start; also used as a duration.
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }
}

/// Gives the time to code that holds no clock of its own.
pub trait Clock {
    /// The present moment; never goes back.
    fn now(&mut self) -> Time;
}

impl<F: FnMut() -> Time> Clock for F {
    fn now(&mut self) -> Time {
        self()
    }
}

impl Add for Time {
    type Output = Time;

    fn add(self, duration: Time) -> Time {
        Time(self.0.saturating_add(duration.0))
    }
}

impl Sub for Time {
    type Output = Time;

    fn sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}
