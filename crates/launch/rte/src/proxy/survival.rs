//! A job that goes on when ranks fail (`-with-ft ulfm`): each rank is informed of each failure, in one order.
//!
//! A rank is announced as failed when its process has ended: what it had sent is with its receivers then, and nothing more comes. So a
//! rank that another one does not reach any more is ended first, whatever it does. On several hosts mpiexec brings the
//! failures into their order.

use inquest::{Failure, is_ending};
use rustix::process::Signal;

use super::Proxy;
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

    /// Informs the ranks of this host that a rank of the job has failed.
    pub(super) fn announce_failure(&mut self, failed: u32) {
        let informed = self.server.announce(failed);
        self.send_replies();
        let Some(memory) = &self.observation else { return };
        for section in informed.into_iter().filter_map(|rank| memory.area().section(rank)) {
            section.call();
        }
    }

    /// Rank `by` of this host does not reach another one any more.
    pub(super) fn accuse(&mut self, by: usize, accused: u32) {
        if !self.job.spec.survives || self.server.knows_failed(accused) {
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
