//! The ranks' clocks.

use gni::{Clock, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All clocks of a world, by instance.
pub(crate) type Clocks = Arc<[AtomicU64]>;

/// One rank's virtual clock. It goes on when the rank computes (each call of its NIC, what its software costs) and
/// when it is woken. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct RankClock {
    clocks: Clocks,
    rank: usize,
}

impl RankClock {
    pub(crate) fn new(clocks: Clocks, rank: usize) -> RankClock {
        RankClock { clocks, rank }
    }

    fn cell(&self) -> &AtomicU64 {
        &self.clocks[self.rank]
    }

    /// The present moment, in nanoseconds.
    pub fn read(&self) -> Time {
        Time(self.cell().load(Ordering::Relaxed))
    }

    /// The rank computes for so long.
    pub fn spend(&self, duration: Time) {
        self.cell().store((self.read() + duration).0, Ordering::Relaxed);
    }

    /// The rank has been idle until `moment`; nothing happens if it was busy for longer.
    pub fn idle_until(&self, moment: Time) {
        self.cell().store(self.read().max(moment).0, Ordering::Relaxed);
    }

    /// Takes back what was spent since `moment`: for work that turned out not to be done.
    pub fn rewind(&self, moment: Time) {
        self.cell().store(moment.0, Ordering::Relaxed);
    }
}

impl Clock for RankClock {
    fn now(&mut self) -> Time {
        self.read()
    }
}
