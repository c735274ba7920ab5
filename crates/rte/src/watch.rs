//! mpiexec itself: starts the guard, allocates the shared memory meanwhile, passes signals on, and ends
//! everything should the guard be killed.
//!
//! ```text
//!   shell ─ mpiexec (this file) ─ guard (crate::guard) ─┬─ rank 0 ─ …
//!               │  signals, memory ──►                  ├─ rank 1 ─ …
//!               └─ subreaper            subreaper       └─ …
//! ```
//!
//! Either of the two outlives the other just long enough to kill the whole tree.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use pmi::Segment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};

use crate::cgroup::Cgroup;
use crate::control::{self, Message};
use crate::link::Link;
use crate::prepare::Prepared;
use crate::signals::{self, Events, Set};
use crate::spec::JobSpec;
use crate::{Error, guard, head, tree};

/// Runs a job to its end. Returns the exit code of `mpiexec`: that of the first rank that failed,
/// 128 + signal for one that a signal ended, 0 if none failed.
///
/// Must be called from a process with a single thread: it forks.
pub fn run(spec: JobSpec) -> Result<u8, Error> {
    if spec.hosts.iter().any(|host| !host.local) || spec.hosts.len() > 1 || spec.listen.is_some() {
        return head::run(spec);
    }
    guarded(Prepared::new(spec)?, None)
}

/// mpiexec's outputs as a daemon is told of them: rows and columns of each that is a terminal.
pub(crate) type Outputs = Vec<Option<(u16, u16)>>;

/// Runs the ranks of this host to their end, below a guard. `up` is the guard's connection with a mpiexec that has other
/// hosts, too.
///
/// Must be called from a process with a single thread: it forks.
pub(crate) fn guarded(prepared: Prepared, up: Option<(Link, Outputs)>) -> Result<u8, Error> {
    let is_daemon = up.is_some();
    let segment = new_segment(&prepared)?;
    let (ours, theirs) = control::pair().map_err(Error::system("making a control connection"))?;
    tree::adopt_orphans();
    let wanted = signals::wanted();
    let before = Set::full().block();
    let own_pid = rustix::process::getpid();
    // SAFETY: this process has one thread (see above), so the child may go on as if nothing had happened.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(ours);
        let code = guard::run(prepared, segment, theirs, own_pid, before, up);
        std::process::exit(i32::from(code));
    }
    let cgroup = prepared.cgroup.clone();
    // The connection is the guard's alone: it must end when the guard does.
    drop((theirs, prepared, up));
    let guard = Pid::from_raw(pid).ok_or_else(|| Error::System {
        step: "starting the guard",
        source: std::io::Error::last_os_error(),
    })?;
    Watch::new(guard, ours, &wanted, is_daemon)
        .and_then(|watch| watch.run(segment, &cgroup))
        .inspect_err(|_| drop(tree::end_all()))
}

/// The shared memory of a job of several ranks, without pages as yet.
fn new_segment(prepared: &Prepared) -> Result<Option<Segment>, Error> {
    if prepared.app_of.len() < 2 {
        return Ok(None);
    }
    let bytes = (prepared.spec.segment_bytes)(prepared.app_of.len());
    Segment::create(bytes).map(Some).map_err(Error::system("creating shared memory"))
}

struct Watch {
    guard: Pid,
    guard_fd: OwnedFd,
    control: OwnedFd,
    signals: Events,
    /// mpiexec, on another host perhaps, reports what happens to the guard.
    is_daemon: bool,
}

impl Watch {
    fn new(guard: Pid, control: OwnedFd, wanted: &Set, is_daemon: bool) -> Result<Watch, Error> {
        Ok(Watch {
            guard,
            guard_fd: pidfd_open(guard, PidfdFlags::empty()).map_err(Error::system("watching the guard"))?,
            control,
            is_daemon,
            signals: Events::new(wanted).map_err(Error::system("reading signals"))?,
        })
    }

    fn run(self, segment: Option<Segment>, cgroup: &Cgroup) -> Result<u8, Error> {
        if let Some(segment) = segment {
            // Charged beyond a limit, memory is not refused: somebody would be killed instead.
            match cgroup.memory_left() {
                Some(left) if left < segment.bytes => self.tell(Message::SegmentFailed(libc::ENOMEM)),
                _ => self.allocate(&segment)?,
            }
        }
        while !self.guard_ended(None)? {}
        self.verdict()
    }

    /// Allocates the pages of `segment` a few MiB at a time, looking up in between. The first MiB are had at
    /// once, more only when the guard says that the ranks use MPI at all.
    fn allocate(&self, segment: &Segment) -> Result<(), Error> {
        let mut done = 0;
        let outcome = loop {
            match segment.allocate_step(done) {
                Ok(next) if next == segment.bytes => break segment.seal(),
                Ok(next) if done == 0 && next > 0 => {
                    done = next;
                    if self.guard_ended_before(Message::SegmentWanted)? {
                        return Ok(());
                    }
                }
                Ok(next) => done = next,
                Err(e) => break Err(e),
            }
            if self.guard_ended(Some(Duration::ZERO))? {
                return Ok(());
            }
        };
        self.tell(match outcome {
            Ok(()) => Message::SegmentReady,
            Err(e) => Message::SegmentFailed(e.raw_os_error().unwrap_or(libc::ENOMEM)),
        });
        Ok(())
    }

    /// Waits for `message` of the guard. Whether the guard ended without it.
    fn guard_ended_before(&self, message: Message) -> Result<bool, Error> {
        loop {
            if Message::receive(&self.control) == Some(message) {
                return Ok(false);
            }
            if self.poll(&[self.guard_fd.as_fd(), self.signals.as_fd(), self.control.as_fd()], None)? {
                return Ok(true);
            }
        }
    }

    fn tell(&self, message: Message) {
        // Fails only if the guard has ended, which is noticed next.
        let _ = message.send(&self.control);
    }

    /// Waits for at most `patience`; passes on signals. Whether the guard has ended.
    fn guard_ended(&self, patience: Option<Duration>) -> Result<bool, Error> {
        self.poll(&[self.guard_fd.as_fd(), self.signals.as_fd()], patience)
    }

    /// Waits until one of `fds` is readable, the guard's being the first; passes on signals. Whether the guard
    /// has ended.
    fn poll(&self, fds: &[BorrowedFd<'_>], patience: Option<Duration>) -> Result<bool, Error> {
        let timeout =
            patience.map(|p| Timespec { tv_sec: p.as_secs() as i64, tv_nsec: i64::from(p.subsec_nanos()) });
        let mut fds: Vec<PollFd<'_>> =
            fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Error::system("waiting for the guard")(e)),
        }
        while let Some(event) = self.signals.next() {
            self.tell(Message::Signal(event.signal));
            if event.signal == libc::SIGTSTP {
                // The ranks are told to stop; now this process, so that the shell sees the job stopped.
                let _ = kill_process(rustix::process::getpid(), Signal::STOP);
            }
        }
        Ok(fds[0].revents().contains(PollFlags::IN))
    }

    /// The guard has ended: its exit code, or the end of everything it left.
    fn verdict(&self) -> Result<u8, Error> {
        let status = waitid(WaitId::PidFd(self.guard_fd.as_fd()), WaitIdOptions::EXITED)
            .map_err(Error::system("asking how the guard ended"))?;
        tree::end_all();
        if let Some(code) = status.as_ref().and_then(|s| s.exit_status()) {
            return Ok(code as u8);
        }
        let signal = status.and_then(|s| s.terminating_signal()).unwrap_or(libc::SIGKILL);
        if self.is_daemon {
            return Ok(128u8.wrapping_add(signal as u8));
        }
        let message = format!(
            "mpiexec: the guard process {} of this job was killed\n  seen: {}\n  \
             next: all ranks were ended; start the job again\n",
            self.guard.as_raw_nonzero(),
            signals::name(signal)
        );
        let _ = std::io::stderr().write_all(message.as_bytes());
        Ok(128u8.wrapping_add(signal as u8))
    }
}
