//! Processes of other jobs: how this process and one of them know each other.
//!
//! Both prove at each other's ports that they know a secret which the two alone have. Whom a caller is, it names by its job and
//! its rank there. Neither changes while the two processes live, however often their groups meet and part.

use std::collections::HashMap;

use connect::Secret;

/// A process of another job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// The number of its job.
    pub job: u64,
    /// Its rank there.
    pub rank: u32,
    /// What it and this process alone know.
    pub secret: Secret,
}

/// What a process keeps of a peer of another job.
#[derive(Clone, Debug)]
pub(crate) struct Acquaintance {
    pub(crate) foreign: Foreign,
    /// How often their groups have met. The peer counts alike, but may be behind or ahead for a moment.
    pub(crate) meetings: u32,
    /// The two have nothing in common now, as this process sees it.
    pub(crate) is_apart: bool,
}

/// Peers of other jobs, by job and rank.
#[derive(Debug, Default)]
pub(crate) struct Foreigners(HashMap<(u64, u32), u32>);

impl Foreigners {
    pub(crate) fn find(&self, job: u64, rank: u32) -> Option<u32> {
        self.0.get(&(job, rank)).copied()
    }

    pub(crate) fn add(&mut self, foreign: &Foreign, peer: u32) {
        self.0.insert((foreign.job, foreign.rank), peer);
    }

    pub(crate) fn remove(&mut self, foreign: &Foreign) {
        self.0.remove(&(foreign.job, foreign.rank));
    }
}
