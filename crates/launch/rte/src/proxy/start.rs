//! Starting the ranks.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use pmi::scm;
use pmi::wire::LineBuffer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

use super::Proxy;
use super::rank::Rank;
use crate::environment::{self, RankPlace};
use crate::poller::Token;
use crate::process::Process;
use crate::signals::Set;
use crate::spawn::{Command, SpawnError, Spawner};
use crate::spec::Tables;

/// A rank that could not be started.
pub(super) struct StartError {
    pub rank: usize,
    pub error: SpawnError,
}

impl Proxy {
    /// Prints what is about to run, as far as that was asked for.
    pub(super) fn announce(&mut self) {
        if self.job.spec.display_map {
            let line = |(rank, &app): (usize, &usize)| {
                let program = self.job.spec.apps[app].program.to_string_lossy();
                let rank = self.number(rank);
                format!("mpiexec: rank {rank} runs {program} on {}\n", self.job.host)
            };
            let map: String = self.job.app_of.iter().enumerate().map(line).collect();
            self.note(&map);
        }
        if self.job.spec.report_bindings {
            let report = self.job.plan.report(&self.job.host, &self.job.world);
            self.note(&report);
        }
        self.trace(|proxy| {
            let pid = rustix::process::getpid().as_raw_nonzero();
            format!("proxy process {pid} starts {} ranks on {}", proxy.job.app_of.len(), proxy.job.host)
        });
        self.flush_consoles();
    }

    /// Starts all ranks in order; `mask` is the mask of blocked signals that they begin with.
    pub(super) fn start(&mut self, mask: &Set) -> Result<(), StartError> {
        let mut spawner = Spawner::new();
        for rank in 0..self.job.app_of.len() {
            let started =
                self.start_rank(rank, mask, &mut spawner).map_err(|error| StartError { rank, error })?;
            self.trace(|proxy| {
                format!("rank {} is process {}", proxy.number(rank), started.process.pid().as_raw_nonzero())
            });
            self.ranks.push(started);
        }
        Ok(())
    }

    /// Has mpiexec know the processes of the ranks, for debuggers.
    pub(super) fn report_processes(&mut self) {
        let process = |(slot, rank): (usize, &Rank)| {
            (self.number(slot) as u32, rank.process.pid().as_raw_nonzero().get())
        };
        let all = self.ranks.iter().enumerate().map(process).collect();
        if let Some(up) = &mut self.up {
            up.started(all);
        }
    }

    fn start_rank(&mut self, rank: usize, mask: &Set, spawner: &mut Spawner) -> Result<Rank, SpawnError> {
        let (ours, theirs) = self.connection(rank).map_err(at("making a PMI connection"))?;
        let place = RankPlace {
            rank: self.number(rank),
            size: self.job.node_of.len(),
            local_rank: rank,
            local_size: self.job.app_of.len(),
            pmi_fd: theirs.as_raw_fd(),
            pmi_inode: rustix::fs::fstat(&theirs).map_err(at("looking at a PMI connection"))?.st_ino,
            socket: self.callers.name(),
            universe: self.job.spec.universe_size,
        };
        let stdin = self.stdin_of(rank).map_err(at("opening standard input"))?;
        let (stdout, stdout_stream) = self.output_of(rank, 0).map_err(at("opening standard output"))?;
        let (stderr, stderr_stream) = match self.job.spec.output.merge {
            true => (None, None),
            false => {
                let (fd, stream) = self.output_of(rank, 1).map_err(at("opening standard error"))?;
                (Some(fd), stream)
            }
        };

        let program = self.job.programs[self.job.app_of[rank]].as_ref();
        let no_program = || at("finding the program")(io::Error::other("it was not looked for"));
        let program = program.ok_or_else(no_program)?;
        let own_variables = environment::of_rank(&place);
        let tables: Vec<CString> = self.job.spec.tables.iter().filter_map(Tables::entry).collect();
        let variables = own_variables.iter().chain(&tables).chain(&program.environment);
        let variables: Vec<&CStr> = variables.map(|entry| entry.as_c_str()).collect();
        let arguments: Vec<&CStr> = program.arguments.iter().map(|argument| argument.as_c_str()).collect();
        let mut command = Command {
            program: &program.path,
            arguments: &arguments,
            environment: &variables,
            directory: program.directory.as_deref(),
            standard: [stdin.as_fd(), stdout.as_fd(), stderr.as_ref().unwrap_or(&stdout).as_fd()],
            keep: Some(theirs.as_fd()),
            cpus: self.job.plan.cpus[rank].as_ref(),
            mask,
            open_files: self.job.open_files,
        };
        let child = match spawner.spawn(&command) {
            // A script without `#!`, which a shell would run itself.
            Err(error) if error.source.raw_os_error() == Some(libc::ENOEXEC) && program.is_text() => {
                let words: Vec<&CStr> =
                    [c"sh", &program.path].into_iter().chain(arguments[1..].iter().copied()).collect();
                (command.program, command.arguments) = (c"/bin/sh", &words);
                spawner.spawn(&command)?
            }
            result => result?,
        };
        let no_pid = || at("creating a process")(io::Error::other("no process id"));
        let process = Process::created(Pid::from_raw(child.pid).ok_or_else(no_pid)?, child.pidfd);
        process.watch(&self.poller, Token::Exit(rank)).map_err(at("watching a process"))?;
        Ok(Rank {
            process,
            status: None,
            is_traced: false,
            accused_by: None,
            program: None,
            mpi_pid: None,
            socket: Some(ours),
            input: LineBuffer::default(),
            handed: None,
            unsent: Vec::new(),
            waits_to_send: false,
            streams: [stdout_stream, stderr_stream],
        })
    }

    /// A PMI connection: our nonblocking end, on which the kernel names each sender, and the rank's end.
    fn connection(&self, rank: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        scm::want_credentials(ours.as_fd())?;
        self.poller.watch(&ours, Token::Pmi(rank))?;
        Ok((ours, theirs))
    }
}

fn at<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> SpawnError {
    move |source| SpawnError { step, source: source.into() }
}
