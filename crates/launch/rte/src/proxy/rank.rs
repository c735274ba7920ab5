//! What the proxy keeps of each rank.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use inquest::Status;
use pmi::wire::LineBuffer;
use rustix::io::Errno;
use rustix::process::{Signal, kill_process_group};

use crate::lines::{Lines, Prefix};
use crate::outlet::Outlet;
use crate::output_file::OutputFile;
use crate::process::Process;

/// An unfinished line (a prompt, a progress bar) passes after this time.
const PROMPT_DELAY: Duration = Duration::from_millis(100);
/// C libraries write so many bytes at a time to a pipe, and cut lines wherever their buffer is full, in bytes. What
/// ends there is no prompt.
const BUFFER: usize = 4096;

/// One rank: the process started for it, its connection and its output.
pub struct Rank {
    /// The process that was started. It is reaped when the whole job has ended, so its number stays its own.
    pub process: Process,
    /// How it ended.
    pub status: Option<Status>,
    /// The rank that does not reach it any more, for which it was ended.
    pub accused_by: Option<u32>,
    /// It has ended, and a debugger that is attached to it keeps how from its parent until it lets go.
    pub is_traced: bool,
    /// The MPI program itself, where that is a descendant of the process started (a wrapper script).
    pub program: Option<Program>,
    /// Process id of the MPI program, by the kernel's word.
    pub mpi_pid: Option<i32>,
    /// Our end of the PMI connection; `None` once it is closed.
    pub socket: Option<OwnedFd>,
    /// What was read from it.
    pub input: LineBuffer,
    /// The descriptor that came along last.
    pub handed: Option<OwnedFd>,
    /// What it has not taken yet.
    pub unsent: Vec<u8>,
    /// An event is to come when it takes more.
    pub waits_to_send: bool,
    /// Standard output and error.
    pub streams: [Option<Stream>; 2],
}

/// An MPI program below a wrapper.
pub struct Program {
    /// Its process, which is not always a child of ours.
    pub process: Process,
    /// It has ended.
    pub ended: bool,
}

impl Rank {
    /// Whether nothing of this rank runs any more (its grandchildren do not count).
    pub fn is_over(&self) -> bool {
        self.status.is_some() && self.program.as_ref().is_none_or(|program| program.ended)
    }

    /// Process id of its MPI program, as far as is known.
    pub fn pid(&self) -> i32 {
        self.mpi_pid.unwrap_or(self.process.pid().as_raw_nonzero().get())
    }

    /// Its processes that have not ended as far as is known.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        let own = self.status.is_none().then_some(&self.process);
        let program = self.program.as_ref().filter(|program| !program.ended).map(|program| &program.process);
        own.into_iter().chain(program)
    }

    /// Asks how the process ended, without reaping it.
    pub fn observe_exit(&mut self) {
        if self.status.is_none() {
            self.status = self.process.status();
        }
    }

    /// Sends `signal` to the rank's process group and to its MPI program, which a wrapper may have moved
    /// to another group.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // A group that is gone is what an ending wants anyway.
            let _ = kill_process_group(self.process.pid(), signal);
        }
        if let Some(program) = self.program.as_ref().filter(|program| !program.ended) {
            program.process.signal(signal);
        }
    }
}

/// One output stream of a rank.
pub struct Stream {
    /// Where it is read: a pipe or the master of a pseudo-terminal, nonblocking.
    pub reader: OwnedFd,
    /// Cuts it into lines.
    pub lines: Lines,
    /// When the unfinished line passes as it is.
    pub prompt: Option<Instant>,
    /// Goes before each line.
    pub prefix: Prefix,
    /// A file that gets the lines.
    pub file: Option<OutputFile>,
    /// The console that gets the lines: index into the proxy's writers.
    pub console: Option<usize>,
    /// Number of this stream among all of the job.
    pub id: usize,
    /// Not read for now: its console is full.
    pub paused: bool,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// This many bytes.
    Bytes(usize),
    /// Nothing now.
    Dry,
    /// The end.
    Ended,
}

impl Stream {
    /// Reads once and passes whole lines on.
    pub fn read(&mut self, buffer: &mut [u8], writers: &mut [Outlet]) -> Flow {
        let got = match rustix::io::read(&self.reader, &mut *buffer) {
            Ok(0) => return Flow::Ended,
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Flow::Dry,
            // A pseudo-terminal returns EIO once no process has its other side open.
            Err(_) => return Flow::Ended,
        };
        let (lines, prefix) = (&mut self.lines, &self.prefix);
        deliver(self.file.as_mut(), self.console, self.id, writers, |out| {
            lines.feed(&buffer[..got], prefix, out)
        });
        let may_be_prompt = self.lines.has_partial() && !got.is_multiple_of(BUFFER);
        self.prompt = may_be_prompt.then(|| Instant::now() + PROMPT_DELAY);
        Flow::Bytes(got)
    }

    /// Passes on what has no newline at its end.
    pub fn flush(&mut self, writers: &mut [Outlet]) {
        self.prompt = None;
        let (lines, prefix) = (&mut self.lines, &self.prefix);
        deliver(self.file.as_mut(), self.console, self.id, writers, |out| {
            lines.flush(prefix, out);
        });
    }
}

/// Has `fill` produce the lines once and gives them to the file, the console, or both.
fn deliver(
    file: Option<&mut OutputFile>,
    console: Option<usize>,
    id: usize,
    writers: &mut [Outlet],
    fill: impl FnOnce(&mut Vec<u8>),
) {
    match (file, console) {
        (None, None) => fill(&mut Vec::new()),
        (None, Some(which)) => writers[which].put(id, fill),
        (Some(file), console) => {
            let mut text = Vec::new();
            fill(&mut text);
            file.write(&text);
            if let Some(which) = console {
                writers[which].put(id, |out| out.extend_from_slice(&text));
            }
        }
    }
}
