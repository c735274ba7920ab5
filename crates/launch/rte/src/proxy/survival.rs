//! A job that goes on when ranks fail (`-with-ft ulfm`): each rank is informed of each failure, in one order.
//!
//! A rank is announced as failed when its process has ended: what it had sent is with its receivers then, and nothing more comes. So a
//! rank that another one does not reach any more is ended first, whatever it does. On several hosts mpiexec brings the
//! failures into their order. Failures in jobs of which one has spawned the other are passed on from mpiexec to mpiexec.

use inquest::{Failure, is_ending};
use rustix::process::Signal;

use super::Proxy;
use crate::control::Message;
use crate::far_failure::FarFailure;
use pmi::Failed;
use pmi::server::Phase;

impl Proxy {
    /// Whether the job goes on although this has happened to a rank of this host: once all ranks are wired up, since no rank reaches
    /// one that has ended before, and nothing but the end of its process counts.
    pub(super) fn may_go_on_without(&self, rank: usize, failure: &Failure) -> bool {
        self.job.spec.survives
            && matches!(failure, Failure::Killed(_) | Failure::ExitedInMpi(_))
            && self.ranks[rank].is_over()
            && self.server.is_wired()
    }

    /// Reports the failure of a rank, and has all others informed.
    pub(super) fn go_on_without(&mut self, rank: usize, failure: Failure) {
        let culprit = self.culprit(rank);
        let cause = match (self.ranks[rank].accused_by, &failure) {
            (Some(by), Failure::Killed(libc::SIGKILL)) => {
                Some(format!("rank {by} did not reach it any more, and mpiexec has ended it for that"))
            }
            _ => self.likely_cause(&failure, Some(rank)),
        };
        self.note(&inquest::message(&failure, Some(&culprit), 0, cause.as_deref()));
        if self.server.phase(rank) != Phase::Active {
            return;
        }
        let event = self.server.has_failed(rank);
        self.act(rank, event, None);
        let number = self.job.world[rank];
        match &mut self.up {
            Some(up) => up.rank_failed(number),
            None => self.announce_failure(number),
        }
    }

    /// Something has failed in a job that this one has spawned.
    pub(super) fn hear_of_failure(&mut self, failure: FarFailure) {
        match &mut self.up {
            Some(up) => up.failed_abroad(failure),
            None => self.announce_far_failure(failure),
        }
    }

    /// Informs the ranks of this host that a rank of the job has failed.
    pub(super) fn announce_failure(&mut self, rank: u32) {
        self.announce_to_all(Failed::Rank(rank), FarFailure { job: self.job.job_id, rank: Some(rank) });
    }

    /// Informs the ranks of this host of what has failed in another job, unless they know that.
    pub(super) fn announce_far_failure(&mut self, failure: FarFailure) {
        if failure.job != self.job.job_id && !self.server.has_announced(failure.into()) {
            self.announce_to_all(failure.into(), failure);
        }
    }

    /// Informs the ranks of this host, the jobs that this one has spawned and the one that has spawned it; they pass that on.
    fn announce_to_all(&mut self, failed: Failed, failure: FarFailure) {
        // Fails only if mpiexec has ended, which is noticed next.
        let _ = Message::Failed(failure).send_patiently(&self.control);
        if let Some(spawner) = self.job.spec.spawner() {
            spawner.inform(failure);
        }
        let informed = self.server.announce(failed);
        self.send_replies();
        let Some(memory) = &self.observation else { return };
        for section in informed.into_iter().filter_map(|rank| memory.area().section(rank)) {
            section.call();
        }
    }

    /// Rank `by` of this host does not reach another one any more.
    pub(super) fn accuse(&mut self, by: usize, accused: u32) {
        if !self.job.spec.survives || self.server.has_announced(Failed::Rank(accused)) {
            return;
        }
        let by = self.job.world[by];
        match &mut self.up {
            Some(up) => up.accused(by, accused),
            None if self.accusations.believes(by, accused) => self.kill_accused(by, accused),
            None => {}
        }
    }

    /// Ends a rank that `by` does not reach, if it is one of this host and inside MPI.
    pub(super) fn kill_accused(&mut self, by: u32, accused: u32) {
        let Some(rank) = self.job.world.iter().position(|&number| number == accused) else { return };
        if self.job.spec.survives && self.server.phase(rank) == Phase::Active && !self.ranks[rank].is_over() {
            // Mostly it has ended by itself, and its peers have seen that before its parent does.
            if !self.ranks[rank].processes().any(|process| is_ending(process.pid())) {
                self.ranks[rank].accused_by.get_or_insert(by);
            }
            self.ranks[rank].signal(Signal::KILL);
        }
    }
}
