//! Which failure of all hosts was the first, and how the job ends.
//!
//! A rank that dies on one host makes ranks on others fail, and their reports may be faster. So once something has failed
//! all hosts are asked for what has happened there, and when all have answered the first failure is known
//! ([`inquest`]).

use std::time::{Duration, Instant};

use inquest::{Candidate, Culprit, Failure, Finding, Inquest, Status};
use rustix::process::Signal;

use super::{Head, Phase};
use crate::console::Writer;
use crate::messages::Down;
use crate::poller::Token;
use crate::spawned::FromSpawner;

/// Hosts that have the order to end their ranks have this long to report that they did.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Call stacks have this long.
const TRACES: Duration = Duration::from_secs(25);

/// What is decided, and what is not yet.
pub(super) struct Verdict {
    /// mpiexec's exit code, once there is one.
    code: Option<u8>,
    /// The first that a host has finished with.
    by_hosts: Option<u8>,
    /// All hosts have the order to end their ranks.
    ending: bool,
    /// Something was printed about a failure.
    told: bool,
    inquest: Inquest,
    /// Hosts that have not ended by then are given up; or call stacks that have not come.
    timeout: Option<Instant>,
}

impl Verdict {
    /// Of a job whose hosts may be silent for so long.
    pub fn new(host_silence: Duration) -> Verdict {
        let (code, by_hosts, timeout) = (None, None, None);
        Verdict { code, by_hosts, ending: false, told: false, inquest: Inquest::new(host_silence), timeout }
    }

    /// mpiexec's exit code.
    pub fn code(&self) -> u8 {
        self.code.or(self.by_hosts).unwrap_or(0)
    }

    /// A host has finished with this code. It decides where no failure was reported that does: a host's first failure
    /// need not be the job's.
    pub fn fall_back(&mut self, code: u8) {
        self.by_hosts.get_or_insert(code);
    }

    /// A failure has this code.
    pub fn keep_code(&mut self, code: u8) {
        self.code.get_or_insert(code);
    }

    /// The job ends.
    pub fn is_ending(&self) -> bool {
        self.ending
    }

    /// A failure waits to be judged.
    pub fn is_pending(&self) -> bool {
        self.inquest.is_open()
    }

    /// The next moment at which something is decided.
    pub fn deadline(&self) -> Option<Instant> {
        [self.inquest.deadline(Instant::now()), self.timeout].into_iter().flatten().min()
    }
}

impl Head {
    /// Something went wrong.
    pub(super) fn fail(
        &mut self,
        failure: Failure,
        culprit: Option<Culprit>,
        cause: Option<String>,
        goes_on: bool,
    ) {
        if matches!(failure, Failure::Output { .. }) {
            return self.lose_output(&failure);
        }
        if self.verdict.ending {
            return;
        }
        if culprit.is_some() && self.is_reported_by_spawn() {
            if !goes_on {
                self.end_in_silence();
            }
            return;
        }
        if failure == Failure::Killed(libc::SIGPIPE) && self.writers.iter().any(Writer::is_broken) {
            // That was reported already.
            self.verdict.keep_code(failure.code());
            return self.end_all();
        }
        if goes_on {
            self.verdict.keep_code(failure.code());
            if !std::mem::replace(&mut self.verdict.told, true) {
                let text = inquest::message(&failure, culprit.as_ref(), 0, cause.as_deref());
                self.note(&text);
            }
            return;
        }
        let running = || self.statuses.iter().map(Option::is_none).collect();
        if self.verdict.inquest.add(Candidate { failure, culprit, cause }, running) {
            for host in &mut self.hosts {
                if let (Phase::Running, Some(link)) = (host.phase, &mut host.link) {
                    host.settles = true;
                    link.send(&Down::Settle);
                }
            }
        }
    }

    /// Output could not be written, here or on a host. The job goes on, and mpiexec's exit code shows it.
    pub(super) fn lose_output(&mut self, failure: &Failure) {
        self.verdict.keep_code(failure.code());
        let text = inquest::message(failure, None, 0, None);
        self.note(&text);
    }

    /// Ends the job because of what has failed first, once that is known.
    fn find_failure(&mut self, now: Instant) {
        // One that is gone has reported what it knew.
        let complete = self.hosts.iter().all(|host| !host.settles || host.phase != Phase::Running);
        let Some(Finding { candidate, others }) = self.verdict.inquest.find(complete, now) else { return };
        let Candidate { failure, culprit, cause } = candidate;
        let cause = cause.or_else(|| self.cut_between(&failure, culprit.as_ref()?));
        self.verdict.keep_code(failure.code());
        let text = inquest::message(&failure, culprit.as_ref(), others, cause.as_deref());
        mpir::aborting(&text);
        self.note(&text);
        self.end_all();
    }

    /// Two hosts that do not reach each other, where `culprit` has lost a rank that nothing has happened to: had it failed
    /// by itself, that would have been found.
    fn cut_between(&self, failure: &Failure, culprit: &Culprit) -> Option<String> {
        let lost = inquest::lost(failure)?;
        let host = |rank: usize| Some(&self.hosts[*self.spec.host_of.get(rank)? as usize]);
        let (here, there) = (host(culprit.rank)?, host(lost)?);
        let answer = [here, there].iter().all(|host| matches!(host.phase, Phase::Running | Phase::Finished));
        (answer && here.name != there.name).then(|| {
            format!(
                "the network between {} and {}: rank {lost} had not failed, and both hosts answer mpiexec",
                here.name, there.name
            )
        })
    }

    /// Whether `MPI_Comm_spawn` of another job reports what fails here: no rank of this one has called `MPI_Init` yet.
    fn is_reported_by_spawn(&self) -> bool {
        self.spec.spawner().is_some() && self.space.newest == 0
    }

    /// The rank that has had this job started releases it, or has ended, or its job has.
    pub(super) fn hear_spawner(&mut self, token: Token) {
        let Some(spawner) = self.spec.spawner() else { return };
        let FromSpawner { must_end, failures } = spawner.hear(&self.poller, token);
        failures.into_iter().for_each(|failure| self.announce_far_failure(failure));
        if must_end && !self.verdict.ending {
            self.end_in_silence();
        }
    }

    /// Ends the job without a report: the job that has spawned it is over, or reports itself what has failed.
    fn end_in_silence(&mut self) {
        self.verdict.keep_code(0);
        self.end_all();
    }

    /// Has all hosts end their ranks.
    fn end_all(&mut self) {
        self.begin_end();
        self.verdict.timeout = Some(Instant::now() + TIMEOUT);
        self.tell_all(&Down::End);
    }

    /// From here on nothing is judged. Daemons that have called are ended before they prove anything: they are no strangers.
    fn begin_end(&mut self) {
        self.verdict.inquest.close();
        self.verdict.ending = true;
        self.watch.next = None;
        self.acceptor.report_no_more();
    }

    /// The job cannot begin: `text` is the reason.
    pub(super) fn refuse(&mut self, code: u8, text: &str) {
        if !self.verdict.ending {
            if let Some(parent) = self.spec.parent.as_ref().filter(|_| self.is_reported_by_spawn()) {
                crate::spawned::report_failure(parent, text.trim());
                return self.end_in_silence();
            }
            self.verdict.keep_code(code);
            self.note(text);
            self.end_all();
        }
    }

    /// Decides what was left open, once its time has come.
    pub(super) fn judge(&mut self, now: Instant) {
        self.find_failure(now);
        if self.verdict.timeout.take_if(|at| *at <= now).is_none() {
            return;
        }
        if self.traces.take().is_some() {
            return self.time_has_come();
        }
        let open: Vec<usize> = (0..self.hosts.len())
            .filter(|&index| !matches!(self.hosts[index].phase, Phase::Finished | Phase::Lost))
            .collect();
        for index in open {
            self.hosts[index].phase = Phase::Lost;
            let name = self.hosts[index].name.clone();
            self.note(&format!(
                "mpiexec: host {name} did not say that its ranks have ended\n  seen: nothing for {} s after it was \
                 told to end them\n  next: look there with `ps` for what is left\n",
                TIMEOUT.as_secs()
            ));
        }
    }

    /// A rank that ends without `MPI_Init` is missed by those that have called it.
    pub(super) fn look_for_missing(&mut self) {
        let Some((rank, Status::Exited(code))) = self.space.missing() else { return };
        let host = self.spec.host_of[rank as usize] as usize;
        let app = self.spec.app_of()[rank as usize];
        let culprit = Culprit {
            rank: rank as usize,
            also: Vec::new(),
            pid: 0,
            host: self.hosts[host].name.clone(),
            program: self.spec.apps[app].program.to_string_lossy().into_owned(),
            place: String::new(),
        };
        self.fail(Failure::ExitedBeforeInit(code), Some(culprit), None, !self.spec.cleanup);
    }

    /// Signals that mpiexec got.
    pub(super) fn hear_signals(&mut self) {
        while let Some(event) = self.signals.next() {
            match event.signal {
                libc::SIGWINCH => self.resize(),
                number => {
                    if matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP) {
                        self.verdict.keep_code(Failure::Signalled(number).code());
                        self.patience.is_over_soon(number);
                        self.hurry_launchers();
                        self.begin_end();
                        self.verdict.timeout.get_or_insert(Instant::now() + TIMEOUT);
                    }
                    self.tell_all(&Down::Signal(number));
                    if number == libc::SIGTSTP {
                        // The ranks have the order to stop; now this process, so that the shell sees the job stopped.
                        self.flush_links();
                        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                    }
                }
            }
        }
    }

    /// The time given by `-timeout` is over.
    pub(super) fn time_is_over(&mut self) {
        let running = self.hosts.iter().filter(|host| host.phase == Phase::Running).count();
        if self.spec.stack_traces && running > 0 && !self.verdict.ending {
            self.traces = Some(running);
            self.verdict.timeout = Some(Instant::now() + TRACES);
            self.tell_all(&Down::Traces);
        } else {
            self.time_has_come();
        }
    }

    /// A host has sent its call stacks.
    pub(super) fn traced(&mut self) {
        self.traces = self.traces.map(|left| left.saturating_sub(1));
        if self.traces == Some(0) {
            self.traces = None;
            self.verdict.timeout = None;
            self.time_has_come();
        }
    }

    fn time_has_come(&mut self) {
        let time = self.spec.timeout.unwrap_or_default();
        self.fail(Failure::Timeout(time), None, None, false);
    }
}
