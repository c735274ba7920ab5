//! Deaths: which of them end the job, and how it is ended.
//!
//! ```text
//!   a rank ends ── killed by a signal ───────────────────────────────► end the job
//!               ├─ between init and finalize, with any code ─────────► end the job
//!               ├─ without init while others wait for it ────────────► end the job
//!               ├─ otherwise with a code other than 0 ───────────────► remember the code, go on
//!               └─ otherwise ────────────────────────────────────────► go on
//!   end the job: SIGTERM to all ranks, after a grace period SIGKILL; whoever is left when the last rank is
//!   over is killed by `tree::end_all`.
//! ```

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::rank::{Rank, Status};
use super::report::{self, Culprit};
use super::start::StartError;
use super::{Ending, Failure, Guard};
use crate::server::Phase;
use crate::tree;

/// After a failure the other ranks have this long to go by themselves.
const GRACE: Duration = Duration::from_millis(300);
/// After a signal of the user, or a timeout, they have this long.
const USER_GRACE: Duration = Duration::from_secs(5);

impl Guard {
    /// The process started for `rank` has ended.
    pub(super) fn exited(&mut self, rank: usize) {
        self.poller.forget(&self.ranks[rank].pidfd);
        self.ranks[rank].observe_exit();
        self.read_pmi(rank);
        self.drain_output(rank);
        if self.ranks[rank].is_over() {
            self.judge(rank);
        }
    }

    /// The MPI program below the process started for `rank` has ended. How, only its parent knows.
    pub(super) fn program_exited(&mut self, rank: usize) {
        if let Some(program) = &mut self.ranks[rank].program {
            program.ended = true;
            self.poller.forget(&program.pidfd);
        }
        self.read_pmi(rank);
        self.drain_output(rank);
        if self.ranks[rank].is_over() {
            self.judge(rank);
        } else if self.is_inside_mpi(rank) {
            // Its wrapper is likely to end now as well, with a status that says more.
            let soon = Instant::now() + GRACE;
            self.wrapper_patience = Some(self.wrapper_patience.map_or(soon, |at| at.min(soon)));
        }
    }

    fn is_inside_mpi(&self, rank: usize) -> bool {
        matches!(self.server.phase(rank), Phase::Waiting | Phase::Active)
    }

    /// Decides what the end of `rank` means for the job.
    fn judge(&mut self, rank: usize) {
        let Some(status) = self.ranks[rank].status else { return };
        let silent = self.server.phase(rank) == Phase::Silent;
        let failure = match status {
            Status::Killed(signal) => Failure::Killed(signal),
            Status::Exited(code) if self.is_inside_mpi(rank) => Failure::ExitedInMpi(code),
            Status::Exited(code) if silent && self.server.anybody_waits() => Failure::ExitedBeforeInit(code),
            Status::Exited(0) => return,
            Status::Exited(code) => Failure::Exited(code),
        };
        self.fail(Some(rank), failure);
    }

    /// A hello has arrived: nobody may be missing for good.
    pub(super) fn check_missing(&mut self) {
        let gone = |(rank, state): (usize, &Rank)| {
            (state.is_over() && self.server.phase(rank) == Phase::Silent).then_some(rank)
        };
        if let Some(rank) = self.ranks.iter().enumerate().find_map(gone) {
            self.judge(rank);
        }
    }

    /// A wrapper goes on although its MPI program has ended inside MPI.
    fn lose_patience_with_wrappers(&mut self) {
        let lost = |rank: &usize| {
            self.ranks[*rank].program.as_ref().is_some_and(|program| program.ended) && self.is_inside_mpi(*rank)
        };
        if let Some(rank) = (0..self.ranks.len()).find(lost) {
            self.fail(Some(rank), Failure::ExitedInMpi(1));
        }
    }

    /// Reports the first failure and ends the job because of it.
    pub(super) fn fail(&mut self, rank: Option<usize>, failure: Failure) {
        if self.ending.is_some() {
            return;
        }
        self.code.get_or_insert(failure.code());
        let harmless = matches!(failure, Failure::Exited(_));
        let goes_on = harmless || (!self.job.spec.cleanup && rank.is_some());
        let others = match goes_on {
            true => 0,
            false => (0..self.ranks.len()).filter(|&r| Some(r) != rank && !self.ranks[r].is_over()).count(),
        };
        let culprit = rank.map(|rank| self.culprit(rank));
        let text = report::message(&failure, culprit.as_ref(), others, None);
        self.note(&text);
        if !goes_on {
            self.end(GRACE);
        }
    }

    fn culprit(&self, rank: usize) -> Culprit {
        let app = &self.job.spec.apps[self.job.app_of[rank]];
        let state = &self.ranks[rank];
        Culprit {
            rank,
            pid: state.mpi_pid.unwrap_or(state.pid.as_raw_nonzero().get()),
            host: self.job.host.clone(),
            program: app.program.to_string_lossy().into_owned(),
        }
    }

    /// Asks all ranks to go, and sees to it that they are gone after `grace`.
    fn end(&mut self, grace: Duration) {
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        self.ending = Some(Ending { kill_at: Instant::now() + grace, killed: false });
    }

    /// A signal that mpiexec received.
    pub(super) fn signalled(&mut self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&number);
        match &mut self.ending {
            // The user insists.
            Some(ending) if ends => ending.kill_at = Instant::now(),
            _ => {
                self.signal_all(signal);
                if ends {
                    self.code.get_or_insert(Failure::Signalled(number).code());
                    self.ending = Some(Ending { kill_at: Instant::now() + USER_GRACE, killed: false });
                }
            }
        }
    }

    fn signal_all(&self, signal: Signal) {
        for rank in self.ranks.iter().filter(|rank| !rank.is_over()) {
            rank.signal(signal);
        }
    }

    /// The next moment at which [`Guard::on_time`] has something to do.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let kill_at = self.ending.as_ref().filter(|ending| !ending.killed).map(|ending| ending.kill_at);
        [kill_at, self.timeout_at, self.wrapper_patience].into_iter().flatten().min()
    }

    /// Does what is due at `now`.
    pub(super) fn on_time(&mut self, now: Instant) {
        if self.wrapper_patience.is_some_and(|at| at <= now) {
            self.wrapper_patience = None;
            self.lose_patience_with_wrappers();
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.timeout_at = None;
            let time = self.job.spec.timeout.unwrap_or_default();
            self.fail(None, Failure::Timeout(time));
        }
        if let Some(ending) = &mut self.ending
            && !ending.killed
            && ending.kill_at <= now
        {
            ending.killed = true;
            self.signal_all(Signal::KILL);
        }
    }

    /// A rank could not be started: the ones before it are ended without further words.
    pub(super) fn could_not_start(&mut self, failed: &StartError) {
        let app = &self.job.spec.apps[self.job.app_of[failed.rank]];
        let StartError { rank, error } = failed;
        let text = format!(
            "mpiexec: starting rank {rank} ({}): {} failed\n  seen: {}\n  next: run `file` and `ls -l` on the program, and see `ulimit -a`\n",
            app.program.to_string_lossy(),
            error.step,
            error.source
        );
        self.note(&text);
        self.code = Some(if error.step == "executing the program" { 126 } else { 1 });
    }

    /// The job is over: ends what is left of it, prints what is left to print, and gives the exit code.
    pub(super) fn finish(mut self) -> u8 {
        for rank in 0..self.ranks.len() {
            self.drain_output(rank);
        }
        if self.job.spec.print_exit_codes {
            let list: Vec<String> = self.ranks.iter().enumerate().map(|(rank, state)| exit_text(rank, state)).collect();
            self.note(&format!("mpiexec: exit codes: {}\n", list.join(", ")));
        }
        self.flush_consoles();
        for pid in tree::end_all() {
            self.note(&format!("mpiexec: process {} of this job belongs to another user and was left alone\n", pid.as_raw_nonzero()));
        }
        self.flush_last();
        self.code.unwrap_or(0)
    }
}

fn exit_text(rank: usize, state: &Rank) -> String {
    match state.status {
        Some(Status::Exited(code)) => format!("rank {rank}: {code}"),
        Some(status @ Status::Killed(signal)) => format!("rank {rank}: {} (signal {signal})", status.code()),
        None => format!("rank {rank}: not known"),
    }
}
