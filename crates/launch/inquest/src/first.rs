//! Which of several failures was the first.
//!
//! A rank that dies makes others fail: their connections break, they call `MPI_Abort` or exit. Their reports may be faster
//! than that of its death. So an inquest is open from the first report on, until it has all reports of what had
//! happened when that report came: each proxy looks after its ranks itself before it answers
//! (`rte`'s proxies do), and no time is guessed. Then one failure is chosen.

use std::time::{Duration, Instant};

use crate::failure::{self, Culprit, Failure};

/// Ranks that call `MPI_Abort` for the same reason as the first have this long to be named with it.
const MOMENT: Duration = Duration::from_millis(200);
/// A host that is gone is noticed after the time that hosts may be silent, and so much later at most. Then an answer is not waited
/// for.
const SLACK: Duration = Duration::from_millis(1800);

/// A failure that ends the job if no other one is behind it.
pub struct Candidate {
    pub failure: Failure,
    pub culprit: Option<Culprit>,
    /// What its host knows of the reason.
    pub cause: Option<String>,
}

impl Candidate {
    /// How likely another failure is behind it.
    fn weight(&self) -> u8 {
        match &self.failure {
            Failure::Killed(libc::SIGABRT | libc::SIGPIPE | libc::SIGTERM | libc::SIGHUP) => 1,
            failure if failure::lost_by_end(failure).is_some() => 4,
            failure if failure::lost(failure).is_some() => 3,
            Failure::ExitedInMpi(_) | Failure::Exited(_) | Failure::Abort { .. } => 2,
            _ => 0,
        }
    }
}

/// What was reported so far.
pub struct Inquest {
    /// An answer is waited for so long.
    limit: Duration,
    candidates: Vec<Candidate>,
    /// When the first was reported, and which ranks ran then.
    opened: Option<(Instant, Vec<bool>)>,
}

/// The failure to be reported.
pub struct Finding {
    pub candidate: Candidate,
    /// Ranks that are ended because of it.
    pub others: usize,
}

impl Inquest {
    /// Of a job whose hosts may be silent for so long.
    pub fn new(host_silence: Duration) -> Inquest {
        Inquest { limit: host_silence + SLACK, candidates: Vec::new(), opened: None }
    }

    /// A failure was reported. What a rank reports first of itself counts: one that has aborted also exits. `running`
    /// returns of each rank of the job whether it runs. Whether it is the first.
    pub fn add(&mut self, candidate: Candidate, running: impl FnOnce() -> Vec<bool>) -> bool {
        let is_first = self.opened.is_none();
        self.opened.get_or_insert_with(|| (Instant::now(), running()));
        let is_known = candidate.culprit.as_ref().is_some_and(|culprit| self.includes(culprit.rank));
        if !is_known {
            self.candidates.push(candidate);
        }
        is_first
    }

    /// Something was reported, and nothing chosen.
    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Drops what was reported.
    pub fn close(&mut self) {
        (self.candidates, self.opened) = (Vec::new(), None);
    }

    /// When to look again although nothing happens.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let (since, _) = self.opened.as_ref()?;
        [*since + MOMENT, *since + self.limit].into_iter().find(|&at| at > now)
    }

    /// The failure that was the first, once that is known. `complete`: everything that had happened when the first
    /// report came is reported.
    pub fn find(&mut self, complete: bool, now: Instant) -> Option<Finding> {
        let (since, running) = self.opened.as_ref()?;
        let likely = (0..self.candidates.len()).min_by_key(|&index| self.candidates[index].weight())?;
        let best = self.behind(likely);
        // Others may be about to abort for the same reason.
        let is_shared = matches!(self.candidates[best].failure, Failure::Abort { .. });
        let all_abort = || (0..running.len()).all(|rank| !running[rank] || self.includes(rank));
        let is_late = *since + self.limit <= now;
        if !is_late && !(complete && (!is_shared || *since + MOMENT <= now || all_abort())) {
            return None;
        }
        let mut candidate = self.candidates.remove(best);
        for other in &self.candidates {
            if let (Some(culprit), Some(another)) = (&mut candidate.culprit, &other.culprit)
                && another.rank != culprit.rank
                && failure::is_same(&candidate.failure, &other.failure)
            {
                culprit.also.push(another.rank);
            }
        }
        let culprit = candidate.culprit.as_ref();
        let is_hurt = |rank: &usize| running[*rank] && culprit.is_none_or(|culprit| !culprit.includes(*rank));
        let others = match candidate.failure {
            Failure::NotStarted { .. } => 0,
            _ => (0..running.len()).filter(is_hurt).count(),
        };
        self.close();
        Some(Finding { candidate, others })
    }

    /// What is behind a rank's loss of another one by that one's end: that one may have ended since it has lost a third.
    fn behind(&self, index: usize) -> usize {
        let reason = |&index: &usize| {
            let lost = failure::lost_by_end(&self.candidates[index].failure)?;
            let is_of_lost =
                |one: &Candidate| one.culprit.as_ref().is_some_and(|culprit| culprit.includes(lost));
            self.candidates.iter().position(is_of_lost)
        };
        std::iter::successors(Some(index), reason).take(self.candidates.len()).last().unwrap_or(index)
    }

    /// Whether `rank` is the culprit of what was reported.
    fn includes(&self, rank: usize) -> bool {
        self.candidates
            .iter()
            .filter_map(|candidate| candidate.culprit.as_ref())
            .any(|one| one.includes(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(rank: usize, failure: Failure) -> Candidate {
        let culprit = Culprit {
            rank,
            also: vec![],
            pid: 7,
            host: "a".to_owned(),
            program: "./p".to_owned(),
            place: String::new(),
        };
        Candidate { failure, culprit: Some(culprit), cause: None }
    }

    fn inquest() -> Inquest {
        Inquest::new(Duration::from_secs(4))
    }

    fn lost(rank: usize) -> Failure {
        let message = format!("alhena: rank {rank} {}: messages do not arrive", pmi::lost::IS_LOST);
        Failure::Abort { code: 1, message }
    }

    fn closed(rank: usize) -> Failure {
        let message =
            format!("alhena: rank {rank} {}: messages\nseen: it closed the connection", pmi::lost::IS_LOST);
        Failure::Abort { code: 1, message }
    }

    fn abort(code: i32) -> Failure {
        Failure::Abort { code, message: String::new() }
    }

    /// What is found of these failures in all orders: rank and number of others.
    fn found(failures: &[(usize, Failure)]) -> Vec<(usize, usize)> {
        let rotate = |by: usize| {
            let mut inquest = inquest();
            for index in 0..failures.len() {
                let (rank, failure) = &failures[(index + by) % failures.len()];
                inquest.add(candidate(*rank, failure.clone()), || vec![true; 4]);
            }
            let late = Instant::now() + MOMENT;
            assert!(inquest.find(false, late).is_none());
            let finding = inquest.find(true, late).unwrap();
            assert!(!inquest.is_open());
            (finding.candidate.culprit.unwrap().rank, finding.others)
        };
        (0..failures.len()).map(rotate).collect()
    }

    #[test]
    fn the_first_failure_is_found_in_whatever_order_they_come() {
        let exited = Failure::ExitedInMpi(1);
        assert_eq!(found(&[(0, lost(2)), (2, Failure::Killed(9)), (1, lost(2))]), [(2, 3); 3]);
        assert_eq!(found(&[(0, exited.clone()), (2, Failure::Killed(11))]), [(2, 3); 2]);
        assert_eq!(found(&[(0, lost(1)), (1, abort(7))]), [(1, 3); 2]);
        assert_eq!(found(&[(0, lost(1)), (1, exited)]), [(1, 3); 2]);
        assert_eq!(found(&[(0, Failure::Killed(6)), (3, Failure::Killed(9))]), [(3, 3); 2]);
    }

    #[test]
    fn a_rank_that_ends_since_it_has_lost_another_one_is_not_what_failed_first() {
        // Rank 3 sees rank 1 go, which goes since it does not reach rank 2.
        assert_eq!(found(&[(3, closed(1)), (1, lost(2))]), [(1, 3); 2]);
        assert_eq!(found(&[(0, closed(3)), (3, closed(1)), (1, lost(2))]), [(1, 3); 3]);
        // Rank 2 sees rank 3 go after that.
        assert_eq!(found(&[(3, closed(1)), (1, lost(2)), (2, closed(3))]), [(1, 3); 3]);
        assert_eq!(found(&[(0, closed(3)), (3, closed(1)), (1, lost(2)), (2, closed(3))]), [(1, 3); 4]);
        // Rank 2 ends in silence.
        assert_eq!(found(&[(0, closed(3)), (3, closed(1)), (1, closed(2))]), [(1, 3); 3]);
        // Ranks 1 and 2 do not reach each other.
        for (rank, _) in found(&[(3, closed(1)), (1, lost(2)), (2, lost(1))]) {
            assert!(rank == 1 || rank == 2, "{rank}");
        }
    }

    #[test]
    fn the_exit_of_a_rank_that_has_aborted_is_no_failure_of_its_own() {
        let mut inquest = inquest();
        for failure in [lost(1), Failure::ExitedInMpi(1)] {
            inquest.add(candidate(0, failure), || vec![true; 4]);
        }
        let finding = inquest.find(true, Instant::now() + MOMENT).unwrap();
        assert_eq!(finding.candidate.failure, lost(1));
    }

    #[test]
    fn ranks_that_abort_for_one_reason_are_named_together() {
        let mut inquest = inquest();
        for rank in [3, 1] {
            inquest.add(candidate(rank, abort(7)), || vec![true; 4]);
        }
        let now = Instant::now();
        assert!(inquest.find(true, now).is_none());
        let Finding { candidate, others } = inquest.find(true, now + MOMENT).unwrap();
        let culprit = candidate.culprit.unwrap();
        assert_eq!((culprit.rank, culprit.also, others), (3, vec![1], 2));
    }

    #[test]
    fn no_host_waits_when_all_have_aborted_or_a_host_does_not_answer() {
        let mut inquest = inquest();
        inquest.add(candidate(0, abort(7)), || vec![true, false]);
        assert!(inquest.find(true, Instant::now()).is_some());
        inquest.add(candidate(0, Failure::Killed(9)), || vec![true; 2]);
        assert!(inquest.find(false, Instant::now()).is_none());
        assert!(inquest.find(false, Instant::now() + inquest.limit).is_some());
    }
}
