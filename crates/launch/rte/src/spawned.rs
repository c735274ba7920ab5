//! Jobs that ranks of this one have had started (`MPI_Comm_spawn`): a mpiexec for each, beside the proxy.
//!
//! ```text
//!   shell ─ mpiexec ─┬─ proxy ─ ranks
//!                    └─ mpiexec -spawned ─ proxy ─ ranks      as many as there are
//! ```
//! Such a mpiexec gets its order from the rank that asked for it ([`pmi::launch`]), and ends with that rank's job unless the
//! rank has released it. Where jobs go on when ranks fail, the two mpiexecs inform each other of failures, and pass on those of which
//! others have informed them: so each connected job knows them, whether or not its processes have met the dead.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;

use pmi::launch::Order;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::{self, Message, Received};
use crate::far_failure::FarFailure;
use crate::poller::{Poller, Token};
use crate::signals::Set;
use crate::spec::{Parent, Spawner};

/// Takes over the job that is ordered by the descriptor `fd`: makes its environment and directory this process's. The
/// arguments of mpiexec, and the rank that wants the job. `lifeline`: see [`Spawner`].
///
/// Must be called from a process with a single thread.
///
/// # Errors
/// The order cannot be read, or its directory not be entered.
pub fn adopt(fd: RawFd, lifeline: Option<RawFd>) -> io::Result<(Vec<OsString>, Parent)> {
    let socket = UnixStream::from(own(fd)?);
    let lifeline = lifeline.map(own).transpose()?;
    let order = Order::read(&socket)?;
    if order.brings_output {
        take_output(&socket)?;
    }
    socket.set_nonblocking(true)?;
    let spawner = Spawner { link: Arc::new(socket.into()), lifeline: lifeline.map(Arc::new) };
    let parent = Parent { port: order.port, spawner: Some(spawner) };
    let directory = PathBuf::from(OsString::from_vec(order.directory));
    if let Err(error) = std::env::set_current_dir(&directory) {
        let directory = directory.display();
        let text = format!("entering the directory {directory}: not possible\n  seen: {error}");
        report_failure(&parent, &text);
        return Err(error);
    }
    replace_environment(&order.environment);
    Ok((order.arguments.into_iter().map(OsString::from_vec).collect(), parent))
}

fn own(fd: RawFd) -> io::Result<OwnedFd> {
    if fd <= 2 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the mpiexec or rank that started this process left the descriptor open for it alone; a number that is none gives
    // errors.
    let own = unsafe { OwnedFd::from_raw_fd(fd) };
    rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::CLOEXEC)?;
    Ok(own)
}

/// Makes the descriptors that follow an order this process's standard output and error.
fn take_output(socket: &UnixStream) -> io::Result<()> {
    let streams = pmi::scm::receive(socket.as_fd(), &mut [0])?.fds;
    if streams.len() != 2 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    for (number, stream) in (1..).zip(streams) {
        // SAFETY: numbers alone; what was open under this one is not this process's own.
        if unsafe { libc::dup2(stream.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn replace_environment(entries: &[Vec<u8>]) {
    for (name, _) in std::env::vars_os() {
        // SAFETY: this process has one thread.
        unsafe { std::env::remove_var(name) };
    }
    for entry in entries {
        // A name may begin with `=`, as shells have some.
        let Some(at) = entry.iter().skip(1).position(|&byte| byte == b'=') else { continue };
        let (name, value) = entry.split_at(at + 1);
        let (name, value) = (std::ffi::OsStr::from_bytes(name), std::ffi::OsStr::from_bytes(&value[1..]));
        // SAFETY: as above.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Reports to the rank that asked for the job why it could not be started.
pub fn report_failure(parent: &Parent, text: &str) {
    if let Some(Ok(link)) = parent.spawner.as_ref().map(|spawner| spawner.link.try_clone()) {
        // Fails only if that rank has ended.
        let _ = UnixStream::from(link).write_all(text.as_bytes());
    }
}

impl Spawner {
    /// Watches for the end of the asking rank and, where its job may go on without it, of that job.
    pub(crate) fn watch(&self, poller: &Poller) -> io::Result<()> {
        if let Some(lifeline) = &self.lifeline {
            poller.watch(&**lifeline, Token::SpawnersJob)?;
        }
        poller.watch(&*self.link, Token::Spawner)
    }

    /// Reports to the mpiexec of the spawner's job the number of this one.
    pub(crate) fn begin(&self, job: u64) {
        self.report(Message::Begun(job));
    }

    /// Reports a failure to the mpiexec of the spawner's job.
    pub(crate) fn inform(&self, failed: FarFailure) {
        self.report(Message::Failed(failed));
    }

    fn report(&self, message: Message) {
        if let Some(lifeline) = &self.lifeline {
            // Fails only if that job has ended, which is noticed next.
            let _ = message.send_patiently(&**lifeline);
        }
    }

    /// The link (`Spawner`) or the lifeline (`SpawnersJob`) is readable.
    pub(crate) fn hear(&self, poller: &Poller, token: Token) -> FromSpawner {
        let mut failures = Vec::new();
        if let (Token::SpawnersJob, Some(lifeline)) = (token, &self.lifeline) {
            let has_ended = take_failures(lifeline, &mut failures, |_| {});
            if !has_ended {
                return FromSpawner { must_end: false, failures };
            }
        }
        FromSpawner { must_end: self.must_end(poller, token), failures }
    }

    /// The rank that has asked for this job, or its job, has ended, or the rank has written a word. Whether this job is to end.
    fn must_end(&self, poller: &Poller, token: Token) -> bool {
        let heard = heard(self);
        if token == Token::Spawner && heard.is_none() {
            return false;
        }
        poller.forget(&*self.link);
        let lifeline = self.lifeline.as_ref();
        let goes_on = token == Token::Spawner && matches!(heard, Some(Heard::End)) && lifeline.is_some();
        if let Some(lifeline) = lifeline.filter(|_| !goes_on) {
            poller.forget(&**lifeline);
        }
        !goes_on && !matches!(heard, Some(Heard::Released))
    }
}

/// What the spawner's side has sent.
pub(crate) struct FromSpawner {
    /// This job is to end.
    pub must_end: bool,
    /// What has failed in that job, and in those that are connected with it.
    pub failures: Vec<FarFailure>,
}

/// Takes what another mpiexec has sent; whether it has ended.
fn take_failures(from: &OwnedFd, failures: &mut Vec<FarFailure>, mut begun: impl FnMut(u64)) -> bool {
    loop {
        match control::receive(from) {
            Received::Message(Message::Failed(failed), _) => failures.push(failed),
            Received::Message(Message::Begun(job), _) => begun(job),
            Received::Message(..) => {}
            Received::Nothing => return false,
            Received::End => return true,
        }
    }
}

/// What the end of the asking rank's side of the link means; `None`: nothing has come yet.
fn heard(spawner: &Spawner) -> Option<Heard> {
    let mut bytes = [0; 16];
    match rustix::io::read(&*spawner.link, &mut bytes) {
        Ok(0) => Some(Heard::End),
        Ok(count) if bytes[..count].contains(&pmi::launch::RELEASED) => Some(Heard::Released),
        Ok(count) if bytes[..count].contains(&pmi::launch::GIVEN_UP) => Some(Heard::GivenUp),
        Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
        Err(_) => Some(Heard::End),
    }
}

/// What the rank that asked for a job has said of it last.
enum Heard {
    /// The jobs are not connected any more.
    Released,
    /// That rank does not want the job any more.
    GivenUp,
    /// That rank has ended, perhaps with its job.
    End,
}

/// The mpiexecs of the jobs that ranks have had started.
pub(crate) struct Spawned {
    children: Vec<Spawn>,
    /// Blocked signals that they begin with.
    mask: Set,
    /// The words that start a command on another host.
    launcher: Vec<String>,
    /// The job goes on when ranks fail: then those of spawned jobs have been survived, too, where it ends well.
    survives: bool,
    /// The first exit code of one that is not 0.
    code: Option<u8>,
}

/// One of them.
struct Spawn {
    mpiexec: Child,
    /// Ends for it when this one's own ranks are over; none is left where it does not listen.
    lifeline: Option<OwnedFd>,
    /// The number of its job, once it has begun.
    job: Option<u64>,
}

impl Spawned {
    pub(crate) fn new(mask: Set, launcher: Vec<String>, survives: bool) -> Spawned {
        Spawned { children: Vec::new(), mask, launcher, survives, code: None }
    }

    /// Starts one, which gets its order by `socket`. If that fails, the rank sees the end of the socket.
    pub(crate) fn start(&mut self, socket: OwnedFd) {
        let Ok(own) = std::env::current_exe() else { return };
        let Ok((lifeline, theirs)) = control::pair() else { return };
        let mask = self.mask;
        let mut command = pmi::launch::mpiexec(&own, [socket.as_raw_fd(), theirs.as_raw_fd()]);
        command.args(&self.launcher);
        // SAFETY: the child makes a system call on values of its own only.
        unsafe {
            command.pre_exec(move || {
                mask.block();
                Ok(())
            })
        };
        match command.spawn() {
            Ok(mpiexec) => self.children.push(Spawn { mpiexec, lifeline: Some(lifeline), job: None }),
            Err(error) => {
                let text = format!("starting a mpiexec for it: not possible\n  seen: {error}");
                let _ = UnixStream::from(socket).write_all(text.as_bytes());
            }
        }
    }

    /// Takes note of those that have ended. The jobs that have ended badly.
    pub(crate) fn reap(&mut self) -> Vec<FarFailure> {
        let (code, mut failures) = (&mut self.code, Vec::new());
        self.children.retain_mut(|spawn| match spawn.mpiexec.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                let ended = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8;
                if ended != 0 {
                    code.get_or_insert(ended);
                    // It may have had no time to report that it has begun.
                    spawn.hear(&mut failures);
                    failures.extend(spawn.job.map(|job| FarFailure { job, rank: None }));
                }
                false
            }
            Err(_) => false,
        });
        failures
    }

    /// Whether all have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.children.is_empty()
    }

    /// What is readable when one of them has sent something.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.children.iter().filter_map(|spawn| Some(PollFd::new(spawn.lifeline.as_ref()?, PollFlags::IN)))
    }

    /// What they report that has failed.
    pub(crate) fn hear(&mut self) -> Vec<FarFailure> {
        let mut failures = Vec::new();
        self.children.iter_mut().for_each(|spawn| spawn.hear(&mut failures));
        failures
    }

    /// Informs all of them of a failure.
    pub(crate) fn inform(&self, failed: FarFailure) {
        for lifeline in self.children.iter().filter_map(|spawn| spawn.lifeline.as_ref()) {
            // Fails only if it has ended, which is noticed next.
            let _ = Message::Failed(failed).send_patiently(lifeline);
        }
    }

    /// This mpiexec's own ranks are over.
    pub(crate) fn own_job_is_over(&mut self) {
        self.children.iter_mut().for_each(|spawn| drop(spawn.lifeline.take()));
    }

    /// Passes a signal on.
    pub(crate) fn signal(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        for spawn in &self.children {
            let _ = kill_process(Pid::from_child(&spawn.mpiexec), signal);
        }
    }

    /// The exit code of mpiexec, whose own job has ended with `own`.
    pub(crate) fn code(&self, own: u8) -> u8 {
        match self.code {
            Some(code) if own == 0 && !self.survives => code,
            _ => own,
        }
    }
}

impl Spawn {
    fn hear(&mut self, failures: &mut Vec<FarFailure>) {
        let Some(from) = &self.lifeline else { return };
        if take_failures(from, failures, |begun| self.job = Some(begun)) {
            // Its job does not go on when ranks fail, or it has ended.
            self.lifeline = None;
        }
    }
}
