//! How far the search for dead-locks over hosts has come.

use std::time::{Duration, Instant};

use deadlock::graph::Graph;
use deadlock::{Finder, Snapshot};

use crate::deadlocks::WaitSite;

/// How far the search has come.
#[derive(Default)]
pub struct Watch {
    pub finder: Finder,
    /// After which time a wait counts, and whether a dead-lock ends the job, as the ranks have it.
    pub settings: (Duration, bool),
    /// Number of the look under way.
    pub look: u32,
    /// Hosts that have not answered.
    pub open: Vec<usize>,
    /// What has been answered.
    pub seen: Snapshot,
    /// The next look.
    pub next: Option<Instant>,
    pub found: Option<(Graph, Vec<u32>)>,
    pub sites: Vec<WaitSite>,
    pub is_reported: bool,
}

impl Watch {
    /// What is under way is worth nothing any more.
    pub fn begin_anew(&mut self, next: Option<Instant>) {
        self.open.clear();
        self.found = None;
        (self.finder, self.next) = (Finder::default(), next);
    }
}
