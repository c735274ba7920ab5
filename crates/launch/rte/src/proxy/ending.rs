//! Deaths: which of them end the job, and how it is ended.
//!
//! ```text
//!   a rank ends ── killed by a signal ───────────────────────────────► end the job
//!               ├─ between init and finalize, with any code ─────────► end the job
//!               ├─ without init while others wait for it ────────────► end the job
//!               ├─ otherwise with a code other than 0 ───────────────► remember the code, go on
//!               └─ otherwise ────────────────────────────────────────► go on
//!   end the job: once it is known which failure was the first (inquest): SIGTERM to all ranks, after a grace
//!   period SIGKILL; processes that are left when the last rank is over are killed by `tree::end_all`.
//! ```

use std::time::{Duration, Instant};

use inquest::{Candidate, Culprit, Finding, Status, is_ending};
use live::call_site;
use rustix::process::Signal;
use symbols::Resolver;

use super::clock::{due, no_later_than};
use super::rank::Rank;
use super::start::StartError;
use super::suspects::{self, Suspect};
use super::{Failure, Proxy};
use crate::limits;
use crate::outlet::Outlet;
use crate::poller::Token;
use crate::spawn;
use crate::spawned::FromSpawner;
use crate::traces;
use crate::tree;
use pmi::server::Phase;

/// After a failure the other ranks have this long to go by themselves.
const GRACE: Duration = Duration::from_millis(300);
/// After a signal of the user they have this long.
const USER_GRACE: Duration = Duration::from_secs(5);

impl Proxy {
    /// The process started for `rank` has ended.
    pub(super) fn exited(&mut self, rank: usize) {
        self.ranks[rank].process.forget(&self.poller);
        self.ranks[rank].observe_exit();
        self.ranks[rank].is_traced = self.ranks[rank].status.is_none();
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
            program.process.forget(&self.poller);
        }
        self.read_pmi(rank);
        self.drain_output(rank);
        if self.ranks[rank].is_over() {
            self.judge(rank);
        } else if self.is_inside_mpi(rank) {
            // Its wrapper is likely to end now as well, with a status that shows more.
            no_later_than(&mut self.clock.wrappers, GRACE);
        }
    }

    fn is_inside_mpi(&self, rank: usize) -> bool {
        matches!(self.server.phase(rank), Phase::Waiting | Phase::Active)
    }

    /// Calls hosts that are suspected, and reports one that has not answered.
    fn look_for_suspects(&mut self, now: Instant) {
        let found = self.suspects.look(self.job.spec.host_silence, now);
        match found {
            Some(Suspect { by, rank, .. }) if self.job.spec.survives => self.accuse(by, rank),
            Some(Suspect { by, rank, silent, places, .. }) => {
                let places = places.iter().map(|place| place.ip().to_string()).collect();
                self.fail(Some(by), Failure::Unreached { rank, places, silent });
            }
            None => {}
        }
        if !self.suspects.is_empty() && !self.ending {
            no_later_than(&mut self.clock.suspects, suspects::LOOK);
        }
    }

    /// Decides what the end of `rank` means for the job.
    fn judge(&mut self, rank: usize) {
        let Some(status) = self.ranks[rank].status else { return };
        self.trace(|proxy| format!("rank {} has ended: {}", proxy.number(rank), status.describe()));
        self.look_at_program(rank);
        self.show_crash(rank);
        let awaited = self.server.is_awaited(rank);
        if let Some(up) = &mut self.up {
            up.ended(self.job.world[rank], status, self.server.programs(rank));
        }
        let failure = match status {
            Status::Killed(signal) => Failure::Killed(signal),
            Status::Exited(code) if self.is_inside_mpi(rank) => Failure::ExitedInMpi(code),
            Status::Exited(code) if awaited && self.server.has_waiting() => Failure::ExitedBeforeInit(code),
            Status::Exited(0) => return,
            Status::Exited(code) => Failure::Exited(code),
        };
        self.fail(Some(rank), failure);
    }

    /// A hello has arrived: no rank may be missing for good.
    pub(super) fn check_missing(&mut self) {
        let gone =
            |(rank, state): (usize, &Rank)| (state.is_over() && self.server.is_awaited(rank)).then_some(rank);
        if let Some(rank) = self.ranks.iter().enumerate().find_map(gone) {
            self.judge(rank);
        }
    }

    /// A wrapper goes on although its MPI program has ended inside MPI.
    fn stop_waiting_for_wrappers(&mut self) {
        let lost = |rank: &usize| {
            self.ranks[*rank].program.as_ref().is_some_and(|program| program.ended)
                && self.is_inside_mpi(*rank)
        };
        if let Some(rank) = (0..self.ranks.len()).find(lost) {
            self.fail(Some(rank), Failure::ExitedInMpi(1));
        }
    }

    /// Something failed: reports it, or has the job end because of it.
    pub(super) fn fail(&mut self, rank: Option<usize>, failure: Failure) {
        let is_first = self.code.is_none() && !self.inquest.is_open();
        let harmless = matches!(failure, Failure::Exited(_));
        if self.ending || (harmless && !is_first) {
            return;
        }
        if failure == Failure::Killed(libc::SIGPIPE) && self.writers.iter().any(Outlet::is_broken) {
            // That was reported already.
            self.code.get_or_insert(failure.code());
            return self.end();
        }
        if rank.is_some() && self.is_reported_by_spawn() {
            if !harmless {
                self.end_in_silence();
            }
            return;
        }
        if let Some(rank) = rank
            && self.may_go_on_without(rank, &failure)
        {
            return self.go_on_without(rank, failure);
        }
        let culprit = rank.map(|rank| self.culprit(rank));
        let cause = self.likely_cause(&failure, rank);
        if harmless || (!self.job.spec.cleanup && rank.is_some()) {
            self.code.get_or_insert(failure.code());
            return self.report_harmless(failure, culprit, cause);
        }
        if let Some(up) = &mut self.up {
            self.code.get_or_insert(failure.code());
            return up.failed(failure, culprit, cause, false);
        }
        let ranks = &self.ranks;
        let running = || ranks.iter().map(|state| !state.is_over()).collect();
        self.inquest.add(Candidate { failure, culprit, cause }, running);
        // After this round of the loop, or the first one.
        no_later_than(&mut self.clock.inquest, Duration::ZERO);
    }

    /// Whether `MPI_Comm_spawn` of another job reports what fails here: that program gets `MPI_ERR_SPAWN`, and handles it, as
    /// long as no rank of this job has called `MPI_Init`.
    fn is_reported_by_spawn(&self) -> bool {
        let silent = |rank| self.server.phase(rank) == Phase::Silent;
        self.job.spec.spawner().is_some() && (0..self.ranks.len()).all(silent)
    }

    /// Reports a failure after which the job goes on.
    fn report_harmless(&mut self, failure: Failure, culprit: Option<Culprit>, cause: Option<String>) {
        match &mut self.up {
            Some(up) => up.failed(failure, culprit, cause, true),
            None => self.note(&inquest::message(&failure, culprit.as_ref(), 0, cause.as_deref())),
        }
    }

    /// Ends the job because of what has failed first, once that is known; answers a mpiexec that asks.
    pub(super) fn settle(&mut self) {
        if self.must_settle && self.knows_all_ends() {
            self.must_settle = false;
            if let Some(up) = &mut self.up {
                up.settled();
            }
        }
        if self.inquest.is_open() {
            let complete = self.knows_all_ends();
            self.find_failure(complete);
        }
    }

    /// Chooses among what has failed. `complete`: no more is to come.
    pub(super) fn find_failure(&mut self, complete: bool) {
        let now = Instant::now();
        if let Some(Finding { candidate, others }) = self.inquest.find(complete, now) {
            let Candidate { failure, culprit, cause } = candidate;
            self.code.get_or_insert(failure.code());
            let text = inquest::message(&failure, culprit.as_ref(), others, cause.as_deref());
            self.note(&text);
            self.end();
        }
        self.clock.inquest = self.inquest.deadline(now);
    }

    /// Whether all that has happened to ranks until now is known here: what they sent, and their ends.
    fn knows_all_ends(&mut self) -> bool {
        (0..self.ranks.len()).for_each(|rank| self.read_pmi(rank));
        (0..self.ranks.len()).all(|rank| {
            let state = &self.ranks[rank];
            let awaits_wrapper = state.program.as_ref().is_some_and(|program| program.ended)
                && state.status.is_none()
                && self.clock.wrappers.is_some()
                && self.is_inside_mpi(rank);
            // A debugger may keep the end to itself.
            let is_ending = !state.is_traced && state.processes().any(|process| is_ending(process.pid()));
            !awaits_wrapper && !is_ending
        })
    }

    /// Output could not be written. The job goes on, and mpiexec's exit code shows it.
    pub(super) fn lose_output(&mut self, path: String, errno: i32) {
        let failure = Failure::Output { path, errno };
        self.code.get_or_insert(failure.code());
        self.report_harmless(failure, None, None);
    }

    pub(super) fn culprit(&self, rank: usize) -> Culprit {
        let app = &self.job.spec.apps[self.job.app_of[rank]];
        let state = &self.ranks[rank];
        Culprit {
            rank: self.number(rank),
            also: Vec::new(),
            pid: state.pid(),
            host: self.job.host.clone(),
            program: app.program.to_string_lossy().into_owned(),
            place: self.failed_call(rank),
        }
    }

    /// Where a rank has called what has failed; nothing where it has left no address.
    fn failed_call(&self, rank: usize) -> String {
        let Some(section) = self.observation.as_ref().and_then(|memory| memory.area().section(rank)) else {
            return String::new();
        };
        let ([frames, origins], modules) = (section.failed_call(), section.modules());
        if frames.is_empty() {
            return String::new();
        }
        let mut resolver = Resolver::new();
        let place = call_site::of(&mut resolver, &modules, &frames).in_words();
        place + &call_site::origins_in_words(&mut resolver, &modules, &origins)
    }

    /// What the kernel knows: a limit of `rank`, or that it killed a process for lack of memory since the job began.
    pub(super) fn likely_cause(&self, failure: &Failure, rank: Option<usize>) -> Option<String> {
        if let (Failure::Killed(signal), Some(rank)) = (failure, rank)
            && let Some(limit) = limits::behind(*signal, self.ranks[rank].process.pid())
        {
            return Some(limit);
        }
        if *failure != Failure::Killed(libc::SIGKILL) {
            return None;
        }
        let (before, now) = (self.oom_kills?, self.job.cgroup.oom_kills()?);
        let limit = self.job.cgroup.memory_limit().map(|bytes| bytes >> 20);
        let text = match limit {
            Some(mib) => format!("out of memory: the kernel enforced the control group's limit of {mib} MiB"),
            None => "out of memory: the kernel chose this process, see dmesg".to_owned(),
        };
        (now > before).then_some(text)
    }

    /// Asks all ranks to go, and sees to it that they are gone after the grace period.
    pub(super) fn end(&mut self) {
        self.inquest.close();
        self.ending = true;
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        no_later_than(&mut self.clock.kill, GRACE);
    }

    /// Ends the job without a report: the job that has spawned it is over, or reports itself what has failed.
    fn end_in_silence(&mut self) {
        self.code.get_or_insert(0);
        self.end();
    }

    /// The rank that has had this job started releases it, or has ended with its own job.
    pub(super) fn hear_spawner(&mut self, token: Token) {
        let Some(spawner) = self.job.spec.spawner() else { return };
        let FromSpawner { must_end, failures } = spawner.hear(&self.poller, token);
        failures.into_iter().for_each(|failed| self.announce_far_failure(failed));
        if must_end && !self.ending {
            self.trace(|_| "the job that has spawned this one has ended".to_owned());
            self.end_in_silence();
        }
    }

    /// A signal that mpiexec received.
    pub(super) fn signalled(&mut self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        if matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP) {
            self.patience.is_over_soon(number);
        }
        match number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP if self.ending => {
                // The user insists.
                no_later_than(&mut self.clock.kill, Duration::ZERO);
            }
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP => {
                self.trace(|_| {
                    format!(
                        "passing signal {number} on; ranks that stay are killed in {} s",
                        USER_GRACE.as_secs()
                    )
                });
                self.code.get_or_insert(Failure::Signalled(number).code());
                self.inquest.close();
                self.ending = true;
                self.signal_all(signal);
                self.signal_all(Signal::CONT);
                no_later_than(&mut self.clock.kill, USER_GRACE);
            }
            libc::SIGWINCH => self.resize_terminals(),
            _ => self.signal_all(signal),
        }
    }

    fn signal_all(&self, signal: Signal) {
        for rank in self.ranks.iter().filter(|rank| !rank.is_over()) {
            rank.signal(signal);
        }
    }

    /// Does what is due at `now`.
    pub(super) fn on_time(&mut self, now: Instant) {
        if due(&mut self.clock.prompts, now) {
            self.show_prompts(now);
        }
        if due(&mut self.clock.stdin, now) {
            self.pump_stdin();
        }
        if due(&mut self.clock.libraries, now) {
            self.look_for_libraries();
        }
        if due(&mut self.clock.wrappers, now) {
            self.stop_waiting_for_wrappers();
        }
        // What that means is decided after each round.
        due(&mut self.clock.inquest, now);
        if due(&mut self.clock.timeout, now) {
            self.time_is_over();
        }
        if due(&mut self.clock.link, now) {
            self.look_after_mpiexec();
        }
        if due(&mut self.clock.suspects, now) {
            self.look_for_suspects(now);
        }
        if due(&mut self.clock.deadlock, now) {
            self.look_for_deadlocks();
        }
        if due(&mut self.clock.errands, now) {
            self.end_late_errands(now);
        }
        if due(&mut self.clock.kill, now) {
            self.signal_all(Signal::KILL);
        }
        // What that means is decided where consoles are written.
        due(&mut self.clock.readers, now);
    }

    fn time_is_over(&mut self) {
        if self.job.spec.stack_traces && !self.ending {
            self.show_traces();
        }
        let time = self.job.spec.timeout.unwrap_or_default();
        self.fail(None, Failure::Timeout(time));
    }

    /// Prints the call stack of each rank that runs.
    pub(super) fn show_traces(&mut self) {
        let alive: Vec<usize> = (0..self.ranks.len()).filter(|&rank| !self.ranks[rank].is_over()).collect();
        let pids: Vec<i32> = alive.iter().map(|&rank| self.ranks[rank].pid()).collect();
        for (&rank, text) in alive.iter().zip(traces::of(&pids)) {
            let place = match self.up {
                Some(_) => format!(" on {}", self.job.host),
                None => String::new(),
            };
            self.note(&format!("mpiexec: call stack of rank {}{place} {text}", self.number(rank)));
        }
    }

    /// A rank could not be started, and so the job ends, on all its hosts.
    pub(super) fn could_not_start(&mut self, failed: &StartError) {
        let app = &self.job.spec.apps[self.job.app_of[failed.rank]];
        let StartError { rank, error } = failed;
        let usual = match error.step {
            spawn::BINDING => {
                "add `-bind-to none`, or allow the system call sched_setaffinity in the container's seccomp profile"
            }
            _ => "run `file` and `ls -l` on the program, and see `ulimit -a`",
        };
        let next = limits::advice(&error.source).unwrap_or_else(|| usual.to_owned());
        let what = format!(
            "starting rank {} ({} on {}): {} failed",
            self.number(*rank),
            app.program.to_string_lossy(),
            self.job.host,
            error.step
        );
        let code = if error.step == spawn::EXECUTING { 126 } else { 1 };
        self.fail(None, Failure::NotStarted { what, seen: error.source.to_string(), next, code });
    }

    /// All ranks are over: ends what is left of them, and takes what they wrote.
    pub(super) fn clear(&mut self) {
        self.clock.timeout = None;
        let immune = tree::end_all();
        for rank in 0..self.ranks.len() {
            self.drain_output(rank);
        }
        for pid in immune {
            let pid = pid.as_raw_nonzero();
            self.note(&format!(
                "mpiexec: process {pid} of this job belongs to another user and was left alone\n"
            ));
        }
        if self.job.spec.print_exit_codes && self.up.is_none() {
            let status = |state: &Rank| state.status.map_or("not known".to_owned(), Status::describe);
            let list: Vec<String> = self
                .ranks
                .iter()
                .enumerate()
                .map(|(rank, state)| format!("rank {rank}: {}", status(state)))
                .collect();
            self.note(&format!("mpiexec: exit codes: {}\n", list.join(", ")));
        }
    }
}
