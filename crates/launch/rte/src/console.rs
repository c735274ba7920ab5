//! mpiexec's own standard output and error, written without ever blocking: a reader that stops (a pager, a
//! terminal after ^S) must not keep the launcher from seeing a rank die.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::closed;
use crate::poller::{Poller, Token};

/// Above this many waiting bytes ranks are no longer read.
const HIGH_WATER: usize = 1 << 20;
/// What a pipe or socket that polls writable takes without blocking (`PIPE_BUF`).
const SAFE_WRITE: usize = 4096;

/// One output with its queue.
pub struct Writer {
    fd: OwnedFd,
    mode: WriteMode,
    queue: Vec<u8>,
    /// Bytes at the front of the queue that are written already.
    written: usize,
    /// The reader is gone.
    broken: bool,
    /// The first error that lost output.
    loss: Option<Errno>,
    /// [`Writer::take_loss`] has returned it.
    loss_told: bool,
    /// A reader takes what is written: a pipe, a socket, a terminal.
    has_reader: bool,
    /// The stream whose unfinished line is the last thing in the output.
    open_line: Option<usize>,
    is_terminal: bool,
    /// The event loop was asked to report when more can be written.
    watched: bool,
    /// Bytes that were taken so far: whether the reader reads.
    taken: u64,
    /// Nothing is written any more, see [`Writer::give_up`].
    given_up: bool,
}

/// How to write without blocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// A file: writing never waits for a reader.
    Direct,
    /// Opened anew as nonblocking, so that the flag does not show in other processes.
    Nonblocking,
    /// Poll first, then write little.
    Cautious,
    /// mpiexec was started without this output.
    Closed,
}

impl Writer {
    /// Takes `fd` as an output.
    pub fn new(fd: BorrowedFd<'_>) -> io::Result<Writer> {
        let was_closed = closed::at_start(fd);
        let own = rustix::io::fcntl_dupfd_cloexec(fd, 3)?;
        let is_terminal = rustix::termios::isatty(&own);
        let file_type = FileType::from_raw_mode(rustix::fs::fstat(&own)?.st_mode);
        let (fd, mode) = match file_type {
            _ if was_closed => (own, WriteMode::Closed),
            FileType::RegularFile => (own, WriteMode::Direct),
            FileType::Fifo | FileType::CharacterDevice => match reopen(&own, OFlags::WRONLY) {
                Ok(again) => (again, WriteMode::Nonblocking),
                Err(_) => (own, WriteMode::Cautious),
            },
            _ => (own, WriteMode::Cautious),
        };
        Ok(Writer {
            fd,
            mode,
            queue: Vec::new(),
            written: 0,
            broken: false,
            loss: None,
            loss_told: false,
            has_reader: is_terminal || matches!(file_type, FileType::Fifo | FileType::Socket),
            open_line: None,
            is_terminal,
            watched: false,
            taken: 0,
            given_up: false,
        })
    }

    /// Whether a person is likely to watch.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The error that lost output, the first time this is asked after it has happened.
    pub fn take_loss(&mut self) -> Option<Errno> {
        self.loss.filter(|_| !std::mem::replace(&mut self.loss_told, true))
    }

    /// The file behind this output, for messages.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        let link = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        match self.mode {
            WriteMode::Closed => "closed".to_owned(),
            _ => std::fs::read_link(&link).unwrap_or(link.into()).display().to_string(),
        }
    }

    /// Whether the reader is gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Too much is waiting: read nothing more from ranks for now.
    pub fn is_full(&self) -> bool {
        self.queue.len() - self.written > HIGH_WATER
    }

    /// Whether bytes wait to be written.
    pub fn is_pending(&self) -> bool {
        self.written < self.queue.len()
    }

    /// Bytes that this output has taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Drops what waits, and all that comes, because its reader takes nothing and the job shall not wait for it. Ranks
    /// do not notice: what they write goes nowhere. Returns the number of bytes that waited.
    pub fn give_up(&mut self) -> usize {
        self.given_up = true;
        let waiting = self.queue.len() - self.written;
        self.queue.clear();
        self.written = 0;
        waiting
    }

    /// Queues what `fill` appends for `stream`. Should another stream's unfinished line stand last, it is
    /// ended first.
    pub fn put(&mut self, stream: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        let before = self.queue.len();
        if self.open_line.is_some_and(|other| other != stream) {
            self.queue.push(b'\n');
        }
        let start = self.queue.len();
        fill(&mut self.queue);
        if self.queue.len() == start || self.given_up {
            self.queue.truncate(before);
        } else {
            self.open_line = (self.queue.last() != Some(&b'\n')).then_some(stream);
        }
    }

    /// Writes what can be written without waiting, and has `poller` report when more can be.
    pub fn flush_and_watch(&mut self, poller: &Poller, token: Token) {
        self.flush();
        let pending = self.is_pending();
        if pending && !self.watched {
            // Only files cannot be watched, and they take everything at once.
            self.watched = poller.watch_writable(&*self, token).unwrap_or(false);
        } else if !pending && std::mem::take(&mut self.watched) {
            poller.forget(&*self);
        }
    }

    /// Writes what can be written without waiting. A file that takes no more loses what is queued; later output is
    /// tried again, because room may have been made. What has lost its reader stays broken.
    pub fn flush(&mut self) {
        while self.is_pending() && !self.broken {
            let mut rest = &self.queue[self.written..];
            if self.mode == WriteMode::Closed {
                self.loss.get_or_insert(Errno::BADF);
                break;
            }
            if self.mode == WriteMode::Cautious {
                if !is_writable(self.fd.as_fd()) {
                    return;
                }
                rest = &rest[..rest.len().min(SAFE_WRITE)];
            }
            match rustix::io::write(&self.fd, rest) {
                Ok(n) => {
                    self.written += n;
                    self.taken += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => {
                    self.loss.get_or_insert(error);
                    self.broken = self.has_reader;
                    break;
                }
            }
        }
        self.queue.clear();
        self.written = 0;
    }
}

impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A new open file description of the same pipe or terminal, nonblocking and close-on-exec.
pub fn reopen(fd: impl AsFd, access: OFlags) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    matches!(poll(&mut fds, Some(&Timespec::default())), Ok(n) if n > 0)
}

/// What writes mpiexec's standard output and error: one writer where both are the same file.
pub(crate) fn writers() -> io::Result<Vec<Writer>> {
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut writers = vec![Writer::new(stdout)?];
    let same = match (rustix::fs::fstat(stdout), rustix::fs::fstat(stderr)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    };
    if !same {
        writers.push(Writer::new(stderr)?);
    }
    Ok(writers)
}

/// Output number `which` of mpiexec, for messages.
pub(crate) fn name_of(which: usize, writer: &Writer) -> String {
    let name = if which == 0 { "standard output" } else { "standard error" };
    format!("{name} ({})", writer.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn text(writer: &mut Writer, stream: usize, text: &str) {
        writer.put(stream, |out| out.extend_from_slice(text.as_bytes()));
    }

    #[test]
    fn a_full_pipe_does_not_block_and_nothing_is_lost() {
        let (reader, end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut writer = Writer::new(end.as_fd()).unwrap();
        drop(end);
        let line = "x".repeat(99) + "\n";
        for _ in 0..5000 {
            text(&mut writer, 0, &line);
        }
        writer.flush();
        assert!(writer.is_pending());
        let (mut total, mut buffer) = (0, [0; 8192]);
        while total < 500_000 {
            total += rustix::io::read(&reader, &mut buffer).unwrap();
            writer.flush();
        }
        assert!(!writer.is_pending());
    }

    #[test]
    fn an_unfinished_line_of_another_stream_is_ended() {
        let (reader, end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut writer = Writer::new(end.as_fd()).unwrap();
        text(&mut writer, 0, "name? ");
        text(&mut writer, 0, "");
        text(&mut writer, 1, "hello\n");
        text(&mut writer, 0, "again\n");
        writer.flush();
        let mut buffer = [0; 64];
        let n = rustix::io::read(&reader, &mut buffer).unwrap();
        assert_eq!(&buffer[..n], b"name? \nhello\nagain\n");
    }

    #[test]
    fn a_reader_that_left_breaks_the_writer() {
        let (reader, end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut writer = Writer::new(end.as_fd()).unwrap();
        drop(reader);
        text(&mut writer, 0, "x\n");
        writer.flush();
        assert!(writer.is_broken() && !writer.is_pending());
        assert_eq!((writer.take_loss(), writer.take_loss()), (Some(Errno::PIPE), None));
    }

    #[test]
    fn a_full_disk_loses_output_and_is_no_lost_reader() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut writer = Writer::new(full.as_fd()).unwrap();
        text(&mut writer, 0, "x\n");
        writer.flush();
        assert!(!writer.is_broken() && !writer.is_pending());
        assert_eq!((writer.take_loss(), writer.path().as_str()), (Some(Errno::NOSPC), "/dev/full"));
    }
}
