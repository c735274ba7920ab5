//! How far a simulation is, for others to look at while it runs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Figures of a running simulation, which its thread writes and another reads now and then.
#[derive(Debug, Default)]
pub struct Watch {
    ranks: AtomicU32,
    made: AtomicU32,
    turns: AtomicU64,
    /// Share that is done, in thousandths.
    share: AtomicU32,
}

/// What a [`Watch`] shows.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Shown {
    /// Ranks of the job.
    pub ranks: u32,
    /// Of these, set up.
    pub made: u32,
    /// Turns of ranks so far.
    pub turns: u64,
    /// Share of its program that rank 0 has done.
    pub share: f64,
}

impl Watch {
    /// The figures now.
    pub fn shown(&self) -> Shown {
        Shown {
            ranks: self.ranks.load(Ordering::Relaxed),
            made: self.made.load(Ordering::Relaxed),
            turns: self.turns.load(Ordering::Relaxed),
            share: f64::from(self.share.load(Ordering::Relaxed)) / 1000.0,
        }
    }

    /// A job of so many ranks begins.
    pub(crate) fn begin(&self, ranks: u32) {
        self.ranks.store(ranks, Ordering::Relaxed);
        self.made.store(0, Ordering::Relaxed);
        self.share.store(0, Ordering::Relaxed);
    }

    pub(crate) fn made(&self, ranks: u32) {
        self.made.store(ranks, Ordering::Relaxed);
    }

    pub(crate) fn ran(&self, turns: u64, share: f64) {
        self.turns.store(turns, Ordering::Relaxed);
        self.share.store((share * 1000.0) as u32, Ordering::Relaxed);
    }
}
