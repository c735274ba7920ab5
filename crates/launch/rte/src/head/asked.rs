//! A question of a tool under way ([`super::questions`]).

use std::time::{Duration, Instant};

/// Bytes of all pages of a question: they travel in one message.
const LONGEST: usize = 128 << 20;

/// A question under way.
pub struct Asked {
    /// mpiexec's number of it.
    pub number: u32,
    /// The host on which the tool is, its place in the proxy there, and its own number of the question.
    pub tool: (usize, u32, u64),
    /// Hosts that have not answered.
    pub open: Vec<usize>,
    /// What came, with its host.
    pub answers: Vec<(usize, Result<Vec<u8>, String>)>,
    /// Hosts have time until then.
    pub until: Instant,
    /// That was so long.
    pub patience: Duration,
}

impl Asked {
    /// A host has answered.
    pub fn take(&mut self, host: usize, page: Result<Vec<u8>, String>) {
        self.open.retain(|&open| open != host);
        let kept: usize = self.answers.iter().flat_map(|(_, page)| page).map(Vec::len).sum();
        let page = match page {
            Ok(page) if kept + page.len() > LONGEST => Err("all answers together are too long".to_owned()),
            page => page,
        };
        self.answers.push((host, page));
    }
}
