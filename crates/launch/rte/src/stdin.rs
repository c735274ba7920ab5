//! Copies mpiexec's standard input to ranks.
//!
//! Needed only where a rank cannot simply have the descriptor: several readers, or a terminal (a rank is in
//! a process group of its own and would be stopped for reading it).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::console::reopen;
use crate::limits;
use crate::poller::{Poller, Token};

/// Bytes read at a time.
const CHUNK: usize = 32 * 1024;

/// The copying, one chunk at a time: the slowest reader sets the pace.
pub struct Forwarder {
    source: OwnedFd,
    /// Files are always readable and cannot be polled.
    is_file: bool,
    readers: Vec<Reader>,
    state: State,
}

/// A rank that reads.
struct Reader {
    rank: usize,
    pipe: OwnedFd,
    unsent: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The source is watched.
    Reading,
    /// Some reader has not taken the last chunk.
    Writing,
    /// The source is a terminal in whose background we are.
    Background,
}

/// What is left to do after [`Forwarder::pump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// More may come; the poller will report it.
    Waits,
    /// The source cannot be read now, and no event will come when it can.
    InBackground,
    /// Nothing will come, or no rank wants it.
    Ended,
}

impl Forwarder {
    /// Copies standard input, without readers yet.
    pub fn new(poller: &Poller) -> io::Result<Forwarder> {
        let stdin = rustix::stdio::stdin();
        let source = match reopen(stdin, OFlags::RDONLY) {
            Ok(again) => again,
            Err(_) => rustix::io::fcntl_dupfd_cloexec(stdin, 3)?,
        };
        let is_file = match poller.watch(&source, Token::Stdin) {
            Ok(()) => false,
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => true,
            Err(e) => return Err(e),
        };
        let source = if is_file { above_standard(stdin)? } else { source };
        Ok(Forwarder { source, is_file, readers: Vec::new(), state: State::Reading })
    }

    /// Copies what comes through the pipe `source`, which does not block, without readers yet.
    pub fn of(source: OwnedFd, poller: &Poller) -> io::Result<Forwarder> {
        poller.watch(&source, Token::Stdin)?;
        Ok(Forwarder { source, is_file: false, readers: Vec::new(), state: State::Reading })
    }

    /// Adds a reader and returns its end of the pipe.
    pub fn add(&mut self, rank: usize) -> io::Result<OwnedFd> {
        let (theirs, ours) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        self.readers.push(Reader { rank, pipe: ours, unsent: Vec::new() });
        Ok(theirs)
    }

    /// Copies what is there.
    pub fn pump(&mut self, poller: &Poller) -> Pumped {
        loop {
            self.readers.retain_mut(|reader| reader.flush(poller));
            if self.readers.is_empty() {
                poller.forget(&self.source);
                return Pumped::Ended;
            }
            let blocked = self.readers.iter().any(|reader| !reader.unsent.is_empty());
            self.set_state(if blocked { State::Writing } else { State::Reading }, poller);
            if blocked {
                return Pumped::Waits;
            }
            let mut buffer = [0u8; CHUNK];
            match rustix::io::read(&self.source, &mut buffer) {
                Ok(0) => {
                    poller.forget(&self.source);
                    return Pumped::Ended;
                }
                Ok(n) => {
                    self.readers.iter_mut().for_each(|reader| reader.unsent.extend_from_slice(&buffer[..n]))
                }
                Err(Errno::AGAIN | Errno::INTR) => return Pumped::Waits,
                Err(_) => {
                    self.set_state(State::Background, poller);
                    return Pumped::InBackground;
                }
            }
            if !self.is_file {
                // Read again only after an event: without the nonblocking flag a second read might wait.
                self.readers.retain_mut(|reader| reader.flush(poller));
                return Pumped::Waits;
            }
        }
    }

    fn set_state(&mut self, state: State, poller: &Poller) {
        if self.state != state && !self.is_file {
            // The source is watched all the time, so changing what for cannot fail.
            let _ = poller.set(&self.source, Token::Stdin, state == State::Reading, false);
        }
        self.state = state;
    }
}

impl Reader {
    /// Writes what the rank takes. `false` once it does not read any more.
    fn flush(&mut self, poller: &Poller) -> bool {
        while !self.unsent.is_empty() {
            match rustix::io::write(&self.pipe, &self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return poller.watch_writable(&self.pipe, Token::StdinOf(self.rank)).is_ok();
                }
                Err(_) => return false,
            }
        }
        poller.forget(&self.pipe);
        true
    }
}

/// A duplicate of `fd` with a number above 2; `/dev/null` where there is none.
pub fn above_standard(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    match rustix::io::fcntl_dupfd_cloexec(fd, 3) {
        Ok(fd) => Ok(fd),
        Err(Errno::BADF) => null(),
        Err(e) => Err(e.into()),
    }
}

/// `/dev/null`; the error names it, unless a limit is behind it and has its own advice.
pub fn null() -> io::Result<OwnedFd> {
    let named = |error: io::Error| match limits::advice(&error) {
        Some(_) => error,
        None => io::Error::new(error.kind(), format!("/dev/null: {error}")),
    };
    Ok(File::open("/dev/null").map_err(named)?.into())
}

/// Whether a rank may have `fd` itself: anything but a terminal.
pub fn may_be_inherited(fd: impl AsFd) -> bool {
    !rustix::termios::isatty(fd)
}
