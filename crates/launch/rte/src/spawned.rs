//! Jobs that ranks of this one have had started (`MPI_Comm_spawn`): a mpiexec for each, beside the proxy.
//!
//! ```text
//!   shell ─ mpiexec ─┬─ proxy ─ ranks
//!                    └─ mpiexec -spawned ─ proxy ─ ranks      as many as there are
//! ```
//! Such a mpiexec gets its order from the rank that asked for it ([`pmi::launch`]), and ends with that rank's job unless the
//! rank has released it: so mpiexec itself only waits for it.

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
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};

use crate::poller::{Poller, Token};
use crate::signals::Set;
use crate::spec::{Parent, Spawner};

/// Takes over the job that is ordered by the descriptor `fd`: makes its environment and directory this process's. The
/// arguments of mpiexec, and the rank that wants the job. `lifeline`: a descriptor that ends with that rank's job.
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

    /// The link (`Spawner`) or the lifeline (`SpawnersJob`) is readable. Whether this job is to end.
    pub(crate) fn must_end(&self, poller: &Poller, token: Token) -> bool {
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
    /// Each with what ends for it when this one's own ranks are over.
    children: Vec<(Child, Option<OwnedFd>)>,
    /// Blocked signals that they begin with.
    mask: Set,
    /// The words that start a command on another host.
    launcher: Vec<String>,
    /// The job goes on when ranks fail: then those of spawned jobs have been survived, too, where it ends well.
    survives: bool,
    /// The first exit code of one that is not 0.
    code: Option<u8>,
}

impl Spawned {
    pub(crate) fn new(mask: Set, launcher: Vec<String>, survives: bool) -> Spawned {
        Spawned { children: Vec::new(), mask, launcher, survives, code: None }
    }

    /// Starts one, which gets its order by `socket`. If that fails, the rank sees the end of the socket.
    pub(crate) fn start(&mut self, socket: OwnedFd) {
        let Ok(own) = std::env::current_exe() else { return };
        let Ok((lifeline, end)) = pipe_with(PipeFlags::CLOEXEC) else { return };
        let mask = self.mask;
        let mut command = pmi::launch::mpiexec(&own, [socket.as_raw_fd(), lifeline.as_raw_fd()]);
        command.args(&self.launcher);
        // SAFETY: the child makes a system call on values of its own only.
        unsafe {
            command.pre_exec(move || {
                mask.block();
                Ok(())
            })
        };
        match command.spawn() {
            Ok(child) => self.children.push((child, Some(end))),
            Err(error) => {
                let text = format!("starting a mpiexec for it: not possible\n  seen: {error}");
                let _ = UnixStream::from(socket).write_all(text.as_bytes());
            }
        }
    }

    /// Takes note of those that have ended. Whether any are left.
    pub(crate) fn reap(&mut self) -> bool {
        let code = &mut self.code;
        self.children.retain_mut(|(child, _)| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                let ended = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8;
                if ended != 0 {
                    code.get_or_insert(ended);
                }
                false
            }
            Err(_) => false,
        });
        !self.children.is_empty()
    }

    /// This mpiexec's own ranks are over.
    pub(crate) fn own_job_is_over(&mut self) {
        self.children.iter_mut().for_each(|(_, end)| drop(end.take()));
    }

    /// Passes a signal on.
    pub(crate) fn signal(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        for (child, _) in &self.children {
            let _ = kill_process(Pid::from_child(child), signal);
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
