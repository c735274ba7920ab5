//! The commands that make pages for tools on other hosts ([`super::errands`]).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use live::Question;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal};

use crate::poller::{Poller, Token};
use crate::process::Process;

/// Commands that run at a time.
const MOST: usize = 16;

/// Bytes of a page at most.
const LONGEST: usize = 16 << 20;

/// The command that makes pages; it is installed beside mpiexec.
pub const TOOL: &str = "alhena";

/// Commands under way, by number of their token.
#[derive(Default)]
pub struct Errands(Vec<Option<Errand>>);

/// A command.
pub struct Errand {
    /// mpiexec's number of the question.
    pub number: u32,
    process: Process,
    output: OwnedFd,
    /// What it has printed.
    pub page: Vec<u8>,
    until: Instant,
}

impl Errands {
    /// Whether no more is to be started.
    pub fn is_full(&self) -> bool {
        self.0.iter().flatten().count() >= MOST
    }

    /// Follows one.
    ///
    /// # Errors
    /// The system's: its output cannot be watched.
    pub fn add(&mut self, errand: Errand, poller: &Poller) -> io::Result<()> {
        let free = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        poller.watch(&errand.output, Token::Errand(free))?;
        match self.0.get_mut(free) {
            Some(place) => *place = Some(errand),
            None => self.0.push(Some(errand)),
        }
        Ok(())
    }

    /// One that has printed something: takes it if that was all.
    pub fn hear(&mut self, index: usize, poller: &Poller) -> Option<Errand> {
        let is_whole = self.0.get_mut(index)?.as_mut()?.read();
        is_whole.then(|| self.take(index, poller)).flatten()
    }

    /// Ends those that have had their time; the moment at which the next one has had it.
    pub fn end_late(&mut self, now: Instant, poller: &Poller) -> Option<Instant> {
        for index in 0..self.0.len() {
            let is_late = self.0[index].as_ref().is_some_and(|errand| errand.until <= now);
            if let Some(errand) = is_late.then(|| self.take(index, poller)).flatten() {
                errand.process.signal(Signal::KILL);
            }
        }
        self.0.iter().flatten().map(|errand| errand.until).min()
    }

    fn take(&mut self, index: usize, poller: &Poller) -> Option<Errand> {
        let errand = self.0.get_mut(index)?.take()?;
        poller.forget(&errand.output);
        Some(errand)
    }
}

impl Errand {
    /// Starts the command. `tool`: the connection that it finds at its standard input.
    ///
    /// # Errors
    /// The system's: there is no such command, or no process for it.
    pub fn start(
        number: u32,
        question: &Question,
        patience: Duration,
        tool: UnixStream,
    ) -> io::Result<Errand> {
        let (output, words) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let mut command = Command::new(std::env::current_exe()?.with_file_name(TOOL));
        command.args(question.words()).args(["--json", "--for-mpiexec"]).stdin(OwnedFd::from(tool));
        // In one pipe: what a command that fails has printed is the reason.
        let child = command.stdout(words.try_clone()?).stderr(words).spawn()?;
        let process = Process::open(Pid::from_child(&child));
        Ok(Errand { number, process, output, page: Vec::new(), until: Instant::now() + patience })
    }

    /// Reads what is there. Whether that was all.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 64 * 1024];
        loop {
            match rustix::io::read(&self.output, &mut chunk) {
                Ok(bytes @ 1..) if self.page.len() + bytes <= LONGEST => {
                    self.page.extend_from_slice(&chunk[..bytes])
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                _ => return true,
            }
        }
    }
}
