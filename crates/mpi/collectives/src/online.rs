//! Choice among algorithms by trial (`coll_tuned_online`): the first calls of a kind on a communicator try the
//! candidates in turn, then its processes vote.
//!
//! ```text
//!   call     1 … T    T+1 … 2T   …   n·T          n·T + 1                      later
//!   uses     first    second         last         vote: least largest time     the winner
//! ```
//!
//! Blocking calls come in the same order on all processes, so each knows from its own count which candidate is due and
//! when the vote is. Hence only calls are counted that all processes see alike and bring here: not those of
//! inter-communicators, whose groups may bring different amounts of data, nor those with nothing to choose, of which a
//! process may go a shorter way.

use coll::tuned::Tuned;
use std::time::Duration;

use coll::algorithms::registry;
use coll::tuned::{Choice, Query, can_use};

/// Calls with each candidate; the best counts.
const TRIES: usize = 4;
/// Kinds of calls that a communicator tries; others go by the table.
const KINDS: usize = 32;

/// The trials of a communicator.
#[derive(Default)]
pub struct Online {
    trials: Vec<Trial>,
    /// A vote is under way, whose own calls are not tried.
    voting: bool,
}

/// The trial of one kind of call.
struct Trial {
    query: Query,
    candidates: Vec<Choice>,
    /// Nanoseconds, the least seen of each candidate.
    times: Vec<u64>,
    calls: usize,
    winner: Option<Choice>,
}

/// What a call tries: which trial, which candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    trial: usize,
    candidate: usize,
}

impl Online {
    /// What the next call of a kind should try; `None` if it is settled, due for the vote, or not tried.
    pub(super) fn next(&mut self, query: &Query, tuned: &Tuned) -> Option<(Attempt, Choice)> {
        if self.voting || !has_choice(query) {
            return None;
        }
        let index = match self.trials.iter().position(|trial| trial.query == *query) {
            Some(index) => index,
            None if self.trials.len() == KINDS => return None,
            None => {
                self.trials.push(Trial::new(query, tuned));
                self.trials.len() - 1
            }
        };
        let trial = &mut self.trials[index];
        let candidate = trial.calls / TRIES;
        let choice = *trial.candidates.get(candidate)?;
        trial.calls += 1;
        Some((Attempt { trial: index, candidate }, choice))
    }

    /// Takes the time of an attempt.
    pub(super) fn record(&mut self, attempt: Attempt, took: Duration) {
        let best = &mut self.trials[attempt.trial].times[attempt.candidate];
        *best = (*best).min(took.as_nanos() as u64);
    }

    /// What the vote on a kind of call settled.
    pub(crate) fn winner(&self, query: &Query) -> Option<Choice> {
        self.trials.iter().find(|trial| trial.query == *query)?.winner
    }

    /// The times to vote on, if the vote on a kind of call is due.
    pub(super) fn ballot(&mut self, query: &Query) -> Option<Vec<u64>> {
        let due = |trial: &&Trial| {
            trial.query == *query && trial.winner.is_none() && trial.calls == trial.candidates.len() * TRIES
        };
        let times = self.trials.iter().find(due).filter(|_| !self.voting)?.times.clone();
        self.voting = true;
        Some(times)
    }

    pub(super) fn settle(&mut self, query: &Query, times: &[u64]) {
        self.voting = false;
        let Some(trial) = self.trials.iter_mut().find(|trial| trial.query == *query) else { return };
        // Of equals the first, on every process.
        let fastest = times.iter().zip(&trial.candidates).min_by_key(|(time, _)| **time);
        trial.winner = fastest.map(|(_, &choice)| choice);
    }
}

/// Whether several algorithms can be tried, on all processes the same.
fn has_choice(query: &Query) -> bool {
    !query.inter
        && registry::of(query.coll).filter(|(_, algorithm)| can_use(algorithm, query)).nth(1).is_some()
}

impl Trial {
    fn new(query: &Query, tuned: &Tuned) -> Trial {
        let usable = registry::of(query.coll).filter(|(_, algorithm)| can_use(algorithm, query));
        let candidates: Vec<Choice> =
            usable.filter_map(|(id, _)| tuned.select_named(query, id).ok()).collect();
        Trial { query: *query, times: vec![u64::MAX; candidates.len()], candidates, calls: 0, winner: None }
    }
}
