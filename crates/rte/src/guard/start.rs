//! Starting the ranks.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use pmi::scm;
use pmi::wire::LineBuffer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::Guard;
use super::rank::{Rank, Stream};
use crate::environment::{self, Place};
use crate::lines::{Lines, Prefix};
use crate::poller::Token;
use crate::signals::Set;
use crate::spawn::{Command, SpawnError, Spawner};
use crate::spec::Stdin;

/// A rank that could not be started.
pub struct StartError {
    pub rank: usize,
    pub error: SpawnError,
}

impl Guard {
    /// Starts all ranks in order; `mask` is the mask of blocked signals that they begin with.
    pub(super) fn start(&mut self, mask: &Set) -> Result<(), StartError> {
        let mut spawner = Spawner::new();
        for rank in 0..self.job.app_of.len() {
            let started = self.start_rank(rank, mask, &mut spawner).map_err(|error| StartError { rank, error })?;
            self.ranks.push(started);
        }
        Ok(())
    }

    fn start_rank(&mut self, rank: usize, mask: &Set, spawner: &mut Spawner) -> Result<Rank, SpawnError> {
        let (ours, theirs) = self.connection(rank).map_err(at("making a PMI connection"))?;
        let place = Place {
            rank,
            size: self.job.app_of.len(),
            pmi_fd: theirs.as_raw_fd(),
            pmi_inode: rustix::fs::fstat(&theirs).map_err(at("looking at a PMI connection"))?.st_ino,
            universe: self.job.spec.universe_size,
        };
        let stdin = self.stdin_of(rank).map_err(at("opening standard input"))?;
        let (stdout, stdout_stream) = self.output_of(rank, 0).map_err(at("making an output pipe"))?;
        let (stderr, stderr_stream) = if self.job.spec.output.merge {
            (None, None)
        } else {
            let (fd, stream) = self.output_of(rank, 1).map_err(at("making an output pipe"))?;
            (Some(fd), stream)
        };

        let program = &self.job.programs[self.job.app_of[rank]];
        let own_variables = environment::of_rank(&place);
        let variables: Vec<&CStr> =
            own_variables.iter().chain(&program.environment).map(|entry| entry.as_c_str()).collect();
        let arguments: Vec<&CStr> = program.arguments.iter().map(|argument| argument.as_c_str()).collect();
        let child = spawner.spawn(&Command {
            program: &program.path,
            arguments: &arguments,
            environment: &variables,
            directory: program.directory.as_deref(),
            standard: [stdin.as_fd(), stdout.as_fd(), stderr.as_ref().unwrap_or(&stdout).as_fd()],
            keep: Some(theirs.as_fd()),
            cpus: self.job.cpus[rank].as_ref(),
            mask,
            open_files: self.open_files,
        })?;
        let pid = Pid::from_raw(child.pid).ok_or_else(|| at("creating a process")(io::Error::other("no process id")))?;
        self.poller.watch(&child.pidfd, Token::Exit(rank)).map_err(at("watching a process"))?;
        Ok(Rank {
            pid,
            pidfd: child.pidfd,
            status: None,
            program: None,
            mpi_pid: None,
            socket: Some(ours),
            input: LineBuffer::default(),
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

    /// Standard input of a rank: mpiexec's own where the rank may have it, or nothing.
    fn stdin_of(&self, rank: usize) -> io::Result<OwnedFd> {
        let wanted = match self.job.spec.stdin {
            Stdin::Rank(reader) => reader as usize == rank,
            Stdin::All => true,
            Stdin::None => false,
        };
        if wanted { above_standard(rustix::stdio::stdin()) } else { Ok(File::open("/dev/null")?.into()) }
    }

    /// Where a rank writes (its end), and what we read of it.
    fn output_of(&mut self, rank: usize, channel: usize) -> io::Result<(OwnedFd, Option<Stream>)> {
        let output = &self.job.spec.output;
        let file = self.job.files[rank][channel].take();
        let label = match channel {
            _ if output.stream_prefix && channel == 0 => format!("[{rank}]<stdout>: "),
            _ if output.stream_prefix => format!("[{rank}]<stderr>: "),
            _ if output.rank_prefix => format!("[{rank}] "),
            _ => String::new(),
        };
        let prefix = Prefix { label, timestamp: output.timestamp };
        let console = (file.is_none() || output.copy).then_some(channel);
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let token = if channel == 0 { Token::Stdout(rank) } else { Token::Stderr(rank) };
        self.poller.watch(&reader, token)?;
        let stream = Stream { reader, lines: Lines::default(), prefix, file, console, id: rank * 2 + channel };
        Ok((writer, Some(stream)))
    }
}

/// A duplicate of `fd` with a number above 2, as [`Command::standard`] wants it.
fn above_standard(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    match rustix::io::fcntl_dupfd_cloexec(fd, 3) {
        Ok(fd) => Ok(fd),
        Err(rustix::io::Errno::BADF) => Ok(OpenOptions::new().read(true).open("/dev/null")?.into()),
        Err(e) => Err(e.into()),
    }
}

fn at<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> SpawnError {
    move |source| SpawnError { step, source: source.into() }
}
