//! mpiexec itself: starts the proxy, allocates the shared memory meanwhile, passes signals on, and ends
//! everything should the proxy be killed.
//!
//! ```text
//!   shell ─ mpiexec (this file) ─ proxy (crate::proxy) ─┬─ rank 0 ─ …
//!               │  signals, memory ──►                  ├─ rank 1 ─ …
//!               └─ subreaper            subreaper       └─ …
//! ```
//!
//! Either of the two outlives the other just long enough to kill the whole tree.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use pmi::Segment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};

use crate::cgroup::Cgroup;
use crate::control::{self, Message, Received};
use crate::far_failure::FarFailure;
use crate::link::Link;
use crate::outlet::Outputs;
use crate::prepare::Prepared;
use crate::process::Process;
use crate::signals::{self, Events, Set};
use crate::spawned::Spawned;
use crate::spec::JobSpec;
use crate::{Error, head, proxy, tree};

/// Runs a job to its end. Returns the exit code of `mpiexec`: that of the first rank that failed,
/// 128 + signal for one that a signal ended, 0 if none failed.
///
/// Must be called from a process with a single thread: it forks.
pub fn run(spec: JobSpec) -> Result<u8, Error> {
    let is_far = spec.hosts.len() > 1 || spec.hosts.iter().any(|host| !host.local);
    if is_far || spec.listen.is_some() || (mpir::is_debugged() && !spec.hosts.is_empty()) {
        return head::run(spec);
    }
    run_with(Prepared::new(spec)?, None)
}

/// Runs the ranks of this host to their end, below a proxy. `up` is the proxy's connection with a mpiexec that has other
/// hosts, too.
///
/// Must be called from a process with a single thread: it forks.
pub(crate) fn run_with(prepared: Prepared, up: Option<(Link, Outputs)>) -> Result<u8, Error> {
    let is_daemon = up.is_some();
    let ranks = prepared.app_of.len();
    // A rank alone on its host needs none.
    let segment_bytes = (ranks > 1).then(|| (prepared.spec.segment_bytes)(ranks));
    let (ours, theirs) = control::pair().map_err(Error::system("making a control connection"))?;
    tree::adopt_orphans();
    let wanted = signals::wanted();
    let before = Set::full().block();
    let own_pid = rustix::process::getpid();
    // SAFETY: this process has one thread (see above), so the child may go on as if nothing had happened.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(ours);
        let code = proxy::run(prepared, segment_bytes, theirs, own_pid, before, up);
        std::process::exit(i32::from(code));
    }
    let cgroup = prepared.cgroup.clone();
    let spawned = Spawned::new(before, prepared.spec.launcher.words.clone(), prepared.spec.survives);
    // The connection is the proxy's alone: it must end when the proxy does.
    drop((theirs, prepared, up));
    let proxy = Pid::from_raw(pid)
        .ok_or_else(|| Error::System { step: "starting the proxy", source: io::Error::last_os_error() })?;
    Supervisor::new(proxy, ours, &wanted, spawned, is_daemon)
        .and_then(|supervisor| supervisor.run(segment_bytes, &cgroup))
        .inspect_err(|_| drop(tree::end_all()))
}

/// The signals of `wanted`, and that of a child that has stopped.
fn with_children(wanted: &Set) -> Set {
    let mut set = *wanted;
    set.add(libc::SIGCHLD);
    set
}

struct Supervisor {
    proxy: Process,
    control: OwnedFd,
    signals: Events,
    /// mpiexec, on another host perhaps, reports what happens to the proxy.
    is_daemon: bool,
    /// Shared memory is wanted.
    is_wanted: bool,
    /// The proxy has closed its end of the connection.
    is_closed: bool,
    /// Jobs that ranks have had started.
    spawned: Spawned,
}

impl Supervisor {
    fn new(
        proxy: Pid,
        control: OwnedFd,
        wanted: &Set,
        spawned: Spawned,
        is_daemon: bool,
    ) -> Result<Supervisor, Error> {
        Ok(Supervisor {
            proxy: Process::open(proxy),
            control,
            is_daemon,
            is_wanted: false,
            is_closed: false,
            spawned,
            signals: Events::new(&with_children(wanted)).map_err(Error::system("reading signals"))?,
        })
    }

    fn run(mut self, segment_bytes: Option<u64>, cgroup: &Cgroup) -> Result<u8, Error> {
        if let Some(bytes) = segment_bytes {
            let mut is_first = true;
            // The next programs of the ranks get memory of their own.
            while self.provide(bytes, std::mem::take(&mut is_first), cgroup)? {}
        }
        while !self.proxy_ended(None)? {}
        self.verdict()
    }

    /// Gives the proxy shared memory on request. `false`: the proxy has ended, or was answered that there is none.
    ///
    /// The first MiB of the first are had at once, more only when the proxy reports that the ranks use MPI at all.
    fn provide(&mut self, bytes: u64, is_first: bool, cgroup: &Cgroup) -> Result<bool, Error> {
        let begin = || {
            // Charged beyond a limit, memory is not refused: a process would be killed instead.
            if cgroup.memory_left().is_some_and(|left| left < bytes) {
                return Err(io::Error::from_raw_os_error(libc::ENOMEM));
            }
            let segment = Segment::create(bytes)?;
            let done = segment.allocate_step(0)?;
            Ok((segment, done))
        };
        let begun = is_first.then(begin);
        // Ranks that have no memory are better ended before they fill up what there is.
        if !matches!(begun, Some(Err(_))) && self.proxy_ended_before_wish()? {
            return Ok(false);
        }
        let outcome = match begun.unwrap_or_else(begin) {
            Ok((segment, done)) => match self.allocate(&segment, done)? {
                Some(outcome) => outcome.map(|()| segment),
                None => return Ok(false),
            },
            Err(error) => Err(error),
        };
        match outcome {
            Ok(segment) => {
                // Fails only if the proxy has ended, which is noticed next.
                let _ = Message::SegmentReady.send_with(&self.control, Some(segment.fd.as_fd()));
                Ok(true)
            }
            Err(error) => {
                self.tell(Message::SegmentFailed(error.raw_os_error().unwrap_or(libc::ENOMEM)));
                Ok(false)
            }
        }
    }

    /// Allocates the pages of `segment` after the first `done` bytes, a few MiB at a time, looking up in between.
    /// `None`: the proxy has ended.
    fn allocate(&mut self, segment: &Segment, mut done: u64) -> Result<Option<io::Result<()>>, Error> {
        while done < segment.bytes {
            match segment.allocate_step(done) {
                Ok(next) => done = next,
                Err(error) => return Ok(Some(Err(error))),
            }
            if self.proxy_ended(Some(Duration::ZERO))? {
                return Ok(None);
            }
        }
        // Behind what is laid out, for what ranks share later.
        segment.leave_room();
        Ok(Some(segment.seal()))
    }

    /// Waits until the proxy wants shared memory. Whether the proxy ended without it.
    fn proxy_ended_before_wish(&mut self) -> Result<bool, Error> {
        while !std::mem::take(&mut self.is_wanted) {
            if self.proxy_ended(None)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what the proxy has sent.
    fn hear_proxy(&mut self) {
        loop {
            match control::receive(&self.control) {
                Received::Message(Message::SegmentWanted, _) => self.is_wanted = true,
                Received::Message(Message::Launch, Some(socket)) => self.spawned.start(socket),
                Received::Message(Message::Failed(failed), _) => self.spawned.inform(failed),
                Received::Message(..) => {}
                Received::Nothing => return,
                Received::End => {
                    self.is_closed = true;
                    return;
                }
            }
        }
    }

    fn tell(&self, message: Message) {
        // Fails only if the proxy has ended, which is noticed next.
        let _ = message.send(&self.control);
    }

    /// Waits for at most `timeout`; passes on signals. Whether the proxy has ended.
    fn proxy_ended(&mut self, timeout: Option<Duration>) -> Result<bool, Error> {
        let ended = self.poll(timeout)?;
        self.pass_signals_on();
        if !self.is_closed {
            self.hear_proxy();
        }
        let failures = self.spawned.hear();
        self.pass_failures_on(failures);
        Ok(ended)
    }

    /// What has failed in spawned jobs: the proxy informs this job, and those that are connected with it.
    fn pass_failures_on(&self, failures: Vec<FarFailure>) {
        for failed in failures {
            // Fails only if the proxy has ended, which is noticed next.
            let _ = Message::Failed(failed).send_patiently(&self.control);
        }
    }

    /// Waits for at most `timeout` until something has happened. Whether the proxy has ended.
    fn poll(&self, timeout: Option<Duration>) -> Result<bool, Error> {
        // Where the kernel has no pidfds, the control connection hangs up when the proxy ends.
        let proxy = match self.proxy.pidfd() {
            Some(pidfd) => PollFd::from_borrowed_fd(pidfd, PollFlags::IN),
            None => PollFd::new(&self.control, PollFlags::empty()),
        };
        let mut fds = vec![proxy, PollFd::new(&self.signals, PollFlags::IN)];
        if !self.is_closed {
            fds.push(PollFd::new(&self.control, PollFlags::IN));
        }
        fds.extend(self.spawned.watched());
        wait(&mut fds, timeout, "waiting for the proxy")?;
        Ok(fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP))
    }

    fn pass_signals_on(&mut self) {
        while let Some(event) = self.signals.next() {
            if event.signal == libc::SIGCHLD {
                self.keep_proxy_running();
                let failures = self.spawned.reap();
                self.pass_failures_on(failures);
                continue;
            }
            self.tell(Message::Signal(event.signal));
            self.spawned.signal(event.signal);
            if event.signal == libc::SIGTSTP {
                // The ranks have the order to stop; now this process, so that the shell sees the job stopped.
                let _ = kill_process(rustix::process::getpid(), Signal::STOP);
            }
        }
    }

    /// A proxy that is stopped ends no rank, and notices neither signals nor the end of the job's mpiexec.
    fn keep_proxy_running(&self) {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        if let Ok(Some(_)) = waitid(WaitId::Pid(self.proxy.pid()), options) {
            self.proxy.signal(Signal::CONT);
        }
    }

    /// The proxy has ended: its exit code, or the end of everything it left. Jobs that were spawned and go on are waited for:
    /// those that are connected with this one end by themselves.
    fn verdict(&mut self) -> Result<u8, Error> {
        let status = waitpid(Some(self.proxy.pid()), WaitOptions::empty())
            .map_err(Error::system("asking how the proxy ended"))?;
        self.spawned.own_job_is_over();
        self.spawned.reap();
        while !self.spawned.is_over() {
            wait(&mut [PollFd::new(&self.signals, PollFlags::IN)], None, "waiting for spawned jobs")?;
            self.pass_signals_on();
        }
        tree::end_all();
        let status = status.map(|(_, status)| status);
        if let Some(code) = status.and_then(|status| status.exit_status()) {
            return Ok(self.spawned.code(code as u8));
        }
        let signal = status.and_then(|status| status.terminating_signal()).unwrap_or(libc::SIGKILL);
        if self.is_daemon {
            return Ok(128u8.wrapping_add(signal as u8));
        }
        let message = format!(
            "mpiexec: the proxy process {} of this job was killed\n  seen: {}\n  \
             next: all ranks were ended; start the job again\n",
            self.proxy.pid().as_raw_nonzero(),
            inquest::signal::name(signal)
        );
        let _ = io::stderr().write_all(message.as_bytes());
        Ok(128u8.wrapping_add(signal as u8))
    }
}

/// Waits for at most `timeout` until something has happened to one of `fds`, or a signal has come.
fn wait(fds: &mut [PollFd<'_>], timeout: Option<Duration>, step: &'static str) -> Result<(), Error> {
    let timeout =
        timeout.map(|p| Timespec { tv_sec: p.as_secs() as i64, tv_nsec: i64::from(p.subsec_nanos()) });
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(Error::system(step)(e)),
    }
}
