//! A process whose end is waited for: by a pidfd, or on kernels and under profiles that have none by what every Unix has.
//!
//! | wanted                        | first choice                  | where that is refused                          |
//! |-------------------------------|-------------------------------|------------------------------------------------|
//! | to notice the end             | pidfd (`pidfd_open`, `clone`) | the caller asks again when a child has ended   |
//! | how a child has ended         | `waitid` with a pidfd         | `waitid` with the number, `waitpid`            |
//! | a signal to no other process  | `pidfd_send_signal`           | `kill`, as long as the end was not noticed     |
//!
//! Only `waitpid` reaps the child, whose number the kernel may then give to another process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use inquest::Status;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open, pidfd_send_signal,
    waitid, waitpid,
};

use crate::poller::{Poller, Token};

/// A process and, where the kernel has them, a descriptor that refers to it whatever happens to the number.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    pidfd: Option<OwnedFd>,
}

impl Process {
    /// The process `pid`, which exists.
    pub fn open(pid: Pid) -> Process {
        Process { pid, pidfd: pidfd_open(pid, PidfdFlags::empty()).ok() }
    }

    /// The process `pid`, whose `pidfd` came with its creation, where it did.
    pub fn created(pid: Pid, pidfd: Option<OwnedFd>) -> Process {
        match pidfd {
            Some(pidfd) => Process { pid, pidfd: Some(pidfd) },
            None => Process::open(pid),
        }
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable once the process has ended.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Has `poller` report the end as `token`. `false`: this kernel has no pidfds, and the caller asks for itself.
    ///
    /// # Errors
    /// The system's errors.
    pub fn watch(&self, poller: &Poller, token: Token) -> io::Result<bool> {
        self.pidfd.as_ref().map_or(Ok(false), |pidfd| poller.watch(pidfd, token).map(|()| true))
    }

    /// Takes [`Process::watch`] back.
    pub fn forget(&self, poller: &Poller) {
        if let Some(pidfd) = &self.pidfd {
            poller.forget(pidfd);
        }
    }

    /// How this child has ended; `None`: it has not. It stays a zombie where the kernel can report that without reaping
    /// it. Not to be asked again after an answer.
    pub fn status(&self) -> Option<Status> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // Kernels before 5.4 have no waitid for pidfds.
        let by_pidfd =
            self.pidfd.as_ref().and_then(|pidfd| waitid(WaitId::PidFd(pidfd.as_fd()), options).ok());
        if let Some(answer) = by_pidfd.or_else(|| waitid(WaitId::Pid(self.pid), options).ok()) {
            return answer.and_then(|status| match status.terminating_signal() {
                Some(signal) => Some(Status::Killed(signal)),
                None => status.exit_status().map(Status::Exited),
            });
        }
        let (_, status) = waitpid(Some(self.pid), WaitOptions::NOHANG).ok()??;
        match status.terminating_signal() {
            Some(signal) => Some(Status::Killed(signal)),
            None => status.exit_status().map(Status::Exited),
        }
    }

    /// Sends `signal` to the process, which has not ended as far as the caller knows.
    pub fn signal(&self, signal: Signal) {
        let sent = self.pidfd.as_ref().map(|pidfd| pidfd_send_signal(pidfd, signal));
        if !matches!(sent, Some(Ok(()) | Err(rustix::io::Errno::SRCH))) {
            // It has ended meanwhile, or is another user's: neither can be helped.
            let _ = kill_process(self.pid, signal);
        }
    }
}

/// Reaps child `pid` if it has ended. The stop of one that another thread of this process traces is left to that thread: a wait
/// for it would take it.
pub fn reap(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let seen = waitid(WaitId::Pid(pid), options | WaitIdOptions::NOWAIT);
    if seen.is_ok_and(|status| status.is_some_and(|one| one.exited() || one.killed() || one.dumped())) {
        // What has ended stays so.
        let _ = waitid(WaitId::Pid(pid), options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_seen_with_and_without_a_pidfd() {
        for has_pidfd in [true, false] {
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            let pid = Pid::from_raw(child.id() as i32).unwrap();
            let process = if has_pidfd { Process::open(pid) } else { Process { pid, pidfd: None } };
            assert_eq!(process.status(), None);
            process.signal(Signal::TERM);
            loop {
                if let Some(status) = process.status() {
                    assert_eq!(status, Status::Killed(15));
                    break;
                }
                platform::waiter::give_way();
            }
            child.wait().unwrap();
        }
    }
}
