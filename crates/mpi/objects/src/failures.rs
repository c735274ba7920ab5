//! What this process knows of failures, in a job that goes on without ranks that fail (user-level failure mitigation).
//!
//! Of a communicator's processes, `known` only ever grows at its end, so the groups that `MPIX_Comm_get_failed` gives begin alike. What
//! is agreed on counts only those that the launcher has `announced`: they have ended, and all learn of them. `survival` has what the
//! state does with that.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::Error;
use btl::Peer;
use engine::Process;
use pmi::Failed;

use crate::comm::Comm;

/// Revoked contexts whose communicators are not there yet, at most: another process makes up which. And failures in other jobs.
const MOST_EARLY: usize = 4096;

/// What a process knows of failures.
#[derive(Default)]
pub struct Failures {
    /// The job goes on when ranks fail.
    pub survives: bool,
    /// A process has failed, or a communicator was revoked: until then nothing need be asked.
    pub any: bool,
    /// Those that have failed, in the order in which this process has learnt of them.
    pub known: Vec<Peer>,
    /// Those of which the launcher has informed this process.
    pub announced: Vec<Peer>,
    /// Threads that wait should look, whatever for.
    pub(crate) has_news: bool,
    /// Contexts that were revoked before their communicator was there, and by whose word.
    early: VecDeque<(u32, Peer)>,
    /// What the launcher has said of other jobs, whose processes this one may only be about to meet.
    abroad: VecDeque<Failed>,
}

/// [`Failures::survives`], for code without the state.
static SURVIVES: AtomicBool = AtomicBool::new(false);

impl Failures {
    /// The job goes on when ranks fail: the launcher announces them.
    pub fn survive(&mut self) {
        self.survives = true;
        SURVIVES.store(true, Ordering::Relaxed);
    }

    /// The launcher has said that this has failed.
    pub(crate) fn may_meet(&mut self, failed: Failed) {
        if matches!(failed, Failed::Rank(_)) {
            return;
        }
        if self.abroad.len() == MOST_EARLY {
            self.abroad.pop_front();
        }
        self.abroad.push_back(failed);
    }

    /// Whether the launcher has said that a process of another job has failed.
    pub(crate) fn has_ended(&self, Process { job, rank }: Process) -> bool {
        let means = [Failed::Process { job, rank }, Failed::Job(job)];
        self.abroad.iter().any(|failed| means.contains(failed))
    }

    /// The number of a process that has ended is another one's from now on.
    pub(crate) fn forget(&mut self, peer: Peer) {
        self.known.retain(|&other| other != peer);
        self.announced.retain(|&other| other != peer);
        self.early.retain(|&(_, from)| from != peer);
    }

    /// A context was revoked, by the word of `from`, whose communicator is being made here; or was, and this process has freed it.
    pub fn revoke_early(&mut self, context: u32, from: Peer) {
        if self.early.contains(&(context, from)) {
            return;
        }
        if self.early.len() == MOST_EARLY {
            self.early.pop_front();
        }
        self.early.push_back((context, from));
        self.any = true;
    }

    /// Whether a communicator that is there now was revoked before. The word of a process that does not belong to it meant the one
    /// that had its id before.
    pub fn take_early(&mut self, comm: &Comm) -> bool {
        let mut is_revoked = false;
        self.early.retain(|&(context, from)| {
            is_revoked |= context == comm.context && comm.contains(from);
            context != comm.context
        });
        is_revoked
    }
}

/// The class by which the program knows an error: in a job that goes on, a lost process has failed.
pub fn outward(class: i32) -> i32 {
    if class == abi::ERR_PROC_ABORTED && SURVIVES.load(Ordering::Relaxed) {
        abi::ERR_PROC_FAILED
    } else {
        class
    }
}

/// A call on a revoked communicator.
pub const REVOKED: Error = Error::new(abi::ERR_REVOKED, "a process has revoked the communicator");

/// A wait for a message of any process.
pub const UNACKNOWLEDGED: Error = Error::new(
    abi::ERR_PROC_FAILED,
    "a process of the communicator has failed, which might have sent the message; MPIX_Comm_ack_failed acknowledges that",
);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tables::error_handlers::Handler;
    use crate::tables::groups::Group;

    #[test]
    fn a_number_that_is_used_again_has_not_failed() {
        let mut failures =
            Failures { known: vec![Peer(4), Peer(5)], announced: vec![Peer(5)], ..Failures::default() };
        failures.revoke_early(7, Peer(5));
        failures.forget(Peer(5));
        assert!(failures.known == [Peer(4)] && failures.announced.is_empty() && failures.early.is_empty());
    }

    #[test]
    fn failures_in_other_jobs_are_known_when_those_are_met() {
        let mut failures = Failures::default();
        for failed in [Failed::Rank(1), Failed::Process { job: 7, rank: 1 }, Failed::Job(9)] {
            failures.may_meet(failed);
        }
        let ended = |job, rank| failures.has_ended(Process { job, rank });
        assert!(ended(7, 1) && ended(9, 0) && ended(9, 3));
        assert!(!ended(7, 0) && !ended(8, 1));
    }

    #[test]
    fn contexts_that_another_process_makes_up_are_bounded() {
        let mut failures = Failures::default();
        (0..2 * MOST_EARLY as u32).for_each(|context| failures.revoke_early(context, Peer(1)));
        assert!(failures.any && failures.early.len() == MOST_EARLY);
    }

    #[test]
    fn a_communicator_is_revoked_early_by_the_word_of_its_own_processes() {
        let comm =
            |id, members: &[u32]| Comm::new(id, Arc::new(Group::new(members.into(), 0)), 0, Handler::Return);
        let mut failures = Failures::default();
        for from in [1, 2, 1] {
            failures.revoke_early(comm(5, &[0]).context, Peer(from));
        }
        assert!(!failures.take_early(&comm(6, &[0, 1])));
        assert!(failures.take_early(&comm(5, &[0, 1])));
        assert!(!failures.take_early(&comm(5, &[0, 2])), "the words are taken together");
        failures.revoke_early(comm(5, &[0]).context, Peer(3));
        assert!(!failures.take_early(&comm(5, &[0, 1])), "an earlier communicator was meant");
    }
}
