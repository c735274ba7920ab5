//! Starting daemons: a launcher for each host, at most so many at once.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

use super::{Head, Phase, Stage};
use crate::messages::Summons;
use crate::poller::Token;
use crate::process::Process;
use crate::signals::Set;
use crate::summons;

/// What is kept of a launcher's words, in bytes.
const WORDS: usize = 4096;
/// Launchers have this long to end after the job.
const GRACE: Duration = Duration::from_secs(2);

/// Time between two looks at a launcher of which no descriptor reports the end.
const PAUSE: Duration = Duration::from_millis(10);

/// A launcher that was started for a host.
pub(super) struct Launched {
    child: Child,
    process: Process,
    /// Its standard input, and what it has not taken yet.
    order: Option<(OwnedFd, Vec<u8>)>,
    /// Its standard output and error.
    output: Option<File>,
    words: VecDeque<u8>,
    /// The daemon must have called by then.
    deadline: Option<Instant>,
}

impl Launched {
    /// When the daemon must have called.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The daemon has called.
    pub fn has_called(&mut self) {
        self.deadline = None;
    }

    fn kill(&mut self) {
        // It has ended meanwhile, or is killed with all that is left here.
        let _ = self.child.kill();
    }

    /// The last lines that the launcher and the daemon have written.
    pub fn last_words(&self) -> Option<String> {
        let bytes: Vec<u8> = self.words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(3)..];
        (!last.is_empty()).then(|| last.join("; "))
    }
}

impl Head {
    /// Starts launchers for hosts that wait, as many as may be on their way at once.
    pub(super) fn launch(&mut self) {
        if self.verdict.is_ending() {
            return;
        }
        let mut under_way = self.hosts.iter().filter(|host| host.phase == Phase::Launching).count();
        for index in 0..self.hosts.len() {
            if under_way >= self.spec.launcher.at_once && self.spec.listen.is_none() {
                return;
            }
            if self.hosts[index].phase != Phase::Waiting {
                continue;
            }
            under_way += 1;
            self.hosts[index].phase = Phase::Launching;
            if self.spec.listen.is_some() {
                continue;
            }
            let command = self.command(index);
            match self.start(index, &command) {
                Ok(launched) => {
                    let pid = launched.child.id();
                    self.hosts[index].launched = Some(launched);
                    self.trace(|| format!("process {pid} is to start a daemon: {}", command.join(" ")));
                    self.write_order(index);
                }
                Err(error) => {
                    let seen = format!("{} cannot be executed: {error}", command[0]);
                    return self.could_not_reach(index, &seen);
                }
            }
        }
    }

    /// The words that start the daemon of a host.
    fn command(&self, index: usize) -> Vec<String> {
        // A link that names this program (mpirun) is as good on the other host only if it exists there.
        let own = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
        let own = own.unwrap_or_else(|| "mpiexec".to_owned());
        let host = &self.spec.hosts[index];
        match host.local {
            true => vec![own, "-daemon".to_owned()],
            false => {
                let launcher = &self.spec.launcher.words;
                let words = launcher.iter().cloned();
                words.chain([host.name.to_string(), for_shells(&own), "-daemon".to_owned()]).collect()
            }
        }
    }

    fn start(&self, index: usize, words: &[String]) -> std::io::Result<Launched> {
        let (says, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped());
        command.stdout(write.try_clone()?).stderr(write);
        // Ctrl-C is for mpiexec, which ends daemons in its own way.
        command.process_group(0);
        let mask = self.mask;
        let parent = std::process::id();
        // SAFETY: the child makes system calls on values of its own only.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() as u32 != parent {
                    libc::_exit(127);
                }
                apply(&mask);
                Ok(())
            })
        };
        let mut child = command.spawn()?;
        drop(command);
        let process = Process::open(Pid::from_child(&child));
        process.watch(&self.poller, Token::LauncherEnd(index))?;
        rustix::io::ioctl_fionbio(&says, true)?;
        self.poller.watch(&says, Token::LauncherSays(index))?;
        let summons = Summons {
            secret: self.secret.encode(),
            addresses: self.addresses.clone(),
            host: index as u32,
            order: self.order.clone(),
        };
        let order = child.stdin.take().map(|stdin| (OwnedFd::from(stdin), summons::write(&summons)));
        if let Some((stdin, _)) = &order {
            rustix::io::ioctl_fionbio(stdin, true)?;
        }
        Ok(Launched {
            child,
            process,
            order,
            output: Some(says.into()),
            words: VecDeque::new(),
            deadline: Some(Instant::now() + self.spec.launcher.timeout),
        })
    }

    /// Writes what the launcher of a host takes of the daemon's order.
    pub(super) fn write_order(&mut self, index: usize) {
        let Some(launched) = &mut self.hosts[index].launched else { return };
        let Some((stdin, bytes)) = &mut launched.order else { return };
        while !bytes.is_empty() {
            match rustix::io::write(&*stdin, bytes) {
                Ok(written) => drop(bytes.drain(..written)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Fails only if it is watched already.
                    let _ = self.poller.watch_writable(&*stdin, Token::Launcher(index));
                    return;
                }
                // Its end is seen next.
                Err(_) => break,
            }
        }
        self.poller.forget(&*stdin);
        launched.order = None;
    }

    /// Reads what the launcher of a host, or the daemon below it, has written.
    pub(super) fn hear_launcher(&mut self, index: usize) {
        let Some(launched) = &mut self.hosts[index].launched else { return };
        let Some(output) = &mut launched.output else { return };
        let mut bytes = [0; 4096];
        loop {
            match output.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => {
                    launched.words.extend(&bytes[..count]);
                    let surplus = launched.words.len().saturating_sub(WORDS);
                    launched.words.drain(..surplus);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.poller.forget(&*output);
        launched.output = None;
        // Without a pidfd the end of its output is all that shows it. One that goes on has time until its deadline.
        if launched.process.pidfd().is_none() && !matches!(launched.child.try_wait(), Ok(None)) {
            self.launcher_ended(index);
        }
    }

    /// The launcher of a host has ended, which it should not do before its daemon has called.
    pub(super) fn launcher_ended(&mut self, index: usize) {
        self.hear_launcher(index);
        // The daemon may have called before it ended.
        self.hear_callers();
        let host = &mut self.hosts[index];
        let Some(launched) = &mut host.launched else { return };
        launched.process.forget(&self.poller);
        let status = launched.child.wait();
        let words = launched.last_words().map_or(String::new(), |words| format!(": {words}"));
        host.launched = None;
        if host.phase == Phase::Launching {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            self.could_not_reach(index, &format!("its launcher has ended with {how}{words}"));
        }
    }

    /// Gives up on daemons that do not call.
    pub(super) fn look_for_late_daemons(&mut self, now: Instant) {
        let late = |host: &super::HostState| {
            let deadline = host.launched.as_ref().and_then(Launched::deadline);
            deadline.is_some_and(|at| at <= now)
        };
        let Some(index) = self.hosts.iter().position(late) else { return };
        let Some(launched) = &mut self.hosts[index].launched else { return };
        launched.deadline = None;
        let words = launched.last_words().map_or(String::new(), |words| format!("; it wrote: {words}"));
        let timeout = self.spec.launcher.timeout.as_secs();
        let addresses = self.addresses.join(", ");
        let seen = format!("its daemon has not called at {addresses} for {timeout} s{words}");
        self.could_not_reach(index, &seen);
    }

    /// There is no daemon on a host: the job ends before it has begun.
    pub(super) fn could_not_reach(&mut self, index: usize, seen: &str) {
        let name = &self.hosts[index].name;
        let next = self.next_step(index, seen);
        // A variable that an outer job has left is easily overlooked.
        let by = self.spec.allocated_by.map_or(String::new(), |by| format!(" (a host that {by} names)"));
        let text = format!(
            "mpiexec: starting a daemon on host {name}: not possible\n  seen: {seen}{by}\n  next: {next}\n"
        );
        self.refuse(1, &text);
    }

    /// What may help after `seen`.
    fn next_step(&self, index: usize, seen: &str) -> String {
        let name = &self.hosts[index].name;
        if seen.contains(summons::UNREACHED) {
            // The daemon has started: neither the launcher nor the program is at fault.
            return format!(
                "let TCP connections from {name} to this host through the firewall (its ports: `sysctl \
                 net.ipv4.ip_local_port_range`), or open one and let workers call there: `mpiexec -listen PORT`"
            );
        }
        let words = self.command(index);
        let by_hand = format!("run `{}` by hand; it must say that no order came", words.join(" "));
        match self.spec.allocated_by {
            _ if seen.starts_with(&format!("{} cannot be executed", words[0])) => format!(
                "install {0}, or name another launcher: -launcher-exec \"PROGRAM ARGUMENTS\"; see `command -v {0}`",
                words[0]
            ),
            Some(variable) => {
                format!("{by_hand}; where this is no job of a batch system, run `unset {variable}`")
            }
            None => by_hand,
        }
    }

    /// Everything is written: daemons that still look for programs, and proxies that have finished, see the end of their
    /// connections, and launchers have some time to end by themselves.
    pub(super) fn close(&mut self) {
        self.stage = Stage::Closing(Instant::now() + GRACE);
        for host in &mut self.hosts {
            if let Some(link) = host.link.take() {
                self.poller.forget(&link);
            }
            // A launcher whose daemon has never called may wait for ever.
            if host.phase != Phase::Finished
                && let Some(launched) = &mut host.launched
            {
                launched.kill();
            }
        }
    }

    /// Whether all launchers have ended. Those that are left at `end` are killed.
    pub(super) fn launchers_ended(&mut self, end: Instant) -> bool {
        let is_late = end <= Instant::now();
        for host in &mut self.hosts {
            let Some(launched) = &mut host.launched else { continue };
            if is_late {
                launched.kill();
                let _ = launched.child.wait();
            }
            // No descriptor may report it, and what it has written before does not matter any more.
            if is_late || !matches!(launched.child.try_wait(), Ok(None)) {
                launched.process.forget(&self.poller);
                host.launched = None;
            }
        }
        self.hosts.iter().all(|host| host.launched.is_none())
    }

    /// When to look whether launchers have ended although no descriptor reports it.
    pub(super) fn launchers_looked_at(&self) -> Option<Instant> {
        let Stage::Closing(end) = self.stage else { return None };
        let is_mute = |host: &super::HostState| {
            host.launched.as_ref().is_some_and(|launched| launched.process.pidfd().is_none())
        };
        let mute = self.hosts.iter().any(is_mute).then(|| Instant::now() + PAUSE);
        mute.into_iter().chain([end]).min()
    }

    /// The user does not want to wait for launchers.
    pub(super) fn hurry_launchers(&mut self) {
        if let Stage::Closing(end) = &mut self.stage {
            *end = Instant::now();
        }
    }
}

fn apply(mask: &Set) {
    mask.block();
}

/// A path as shells of all kinds take it: as it is where it has no character that means something to one.
fn for_shells(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
