//! A blocking conversation with a PMI-1 server: send a line, wait for the line that answers it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use connect::{Session, Urgent};

use crate::failed::Failed;
use crate::wire::{Line, LineBuffer};
use crate::{Error, scm};

/// The client's end. Close-on-exec, so that children of a rank cannot send in its name.
pub(crate) struct Connection {
    socket: OwnedFd,
    input: LineBuffer,
    /// Descriptors that came with messages and were not taken yet.
    descriptors: VecDeque<OwnedFd>,
    /// What has failed, of which the server has informed this process beside its answers.
    failed: Vec<Failed>,
    /// What protects a connection that crosses a network.
    channel: Option<Box<Channel>>,
}

/// Records instead of plain text, once both sides have proven that they are of one job.
struct Channel {
    session: Session,
    /// What has come of a record that is not whole.
    raw: Vec<u8>,
}

/// An answer, owned.
pub(crate) struct Reply(String);

impl Reply {
    pub(crate) fn line(&self) -> Line<'_> {
        Line::from_text(&self.0)
    }
}

impl Connection {
    /// Takes over descriptor `fd` that the environment names. `None` unless it is an open socket.
    pub(crate) fn inherit(fd: RawFd) -> Option<Connection> {
        socket_inode(fd)?;
        // SAFETY: fcntl on a number: no memory is involved, a closed descriptor gives an error.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return None;
        }
        // SAFETY: the descriptor is open (checked above), and the launcher left it to this library alone:
        // the environment variable that names it is read once, by `attach`.
        Some(Connection::new(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Connects to a server at `host:port`.
    pub(crate) fn connect(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection::over(stream))
    }

    /// A conversation over this connection.
    pub(crate) fn over(stream: impl Into<OwnedFd>) -> Connection {
        Connection::new(stream.into())
    }

    /// A conversation over a connection whose sides have proven that they are of one job, which gave `session`.
    pub(crate) fn sealed(stream: impl Into<OwnedFd>, session: Session) -> Connection {
        let channel = Some(Box::new(Channel { session, raw: Vec::new() }));
        Connection { channel, ..Connection::new(stream.into()) }
    }

    fn new(socket: OwnedFd) -> Connection {
        Connection {
            socket,
            input: LineBuffer::default(),
            descriptors: VecDeque::new(),
            failed: Vec::new(),
            channel: None,
        }
    }

    /// This side's last word, where the connection is protected.
    pub(crate) fn urgent(&self) -> Option<Urgent> {
        self.channel.as_ref().map(|channel| channel.session.urgent)
    }

    /// Sends `text`, which ends with a newline.
    pub(crate) fn send(&mut self, step: &'static str, text: &str) -> Result<(), Error> {
        let mut sealed = Vec::new();
        let bytes = match &mut self.channel {
            Some(channel) => {
                channel.session.sealer.seal(text.as_bytes(), &mut sealed);
                &sealed[..]
            }
            None => text.as_bytes(),
        };
        scm::send_all(self.socket.as_fd(), bytes).map_err(|error| failed(step, error))
    }

    /// Sends a short `text` with a descriptor.
    pub(crate) fn send_with(
        &mut self,
        step: &'static str,
        text: &str,
        descriptor: BorrowedFd<'_>,
    ) -> Result<(), Error> {
        let sent = scm::send(self.socket.as_fd(), text.as_bytes(), &[descriptor]);
        self.send(step, &text[sent.map_err(|error| failed(step, error))?..])
    }

    /// Waits for one line.
    pub(crate) fn receive(&mut self, step: &'static str) -> Result<Reply, Error> {
        loop {
            match self.input.next_line() {
                Ok(Some(bytes)) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| Error::protocol(step, "not text"))?;
                    match Failed::parse(Line::from_text(text)) {
                        Some(failed) => self.failed.push(failed),
                        None => return Ok(Reply(text.to_owned())),
                    }
                }
                Ok(None) => self.fill(step)?,
                Err(_) => return Err(Error::protocol(step, "a line without end")),
            }
        }
    }

    /// What the server has informed this process of that has failed, since the last call, in the order of its words. Does not wait.
    /// Nothing may be asked of the server meanwhile.
    pub(crate) fn take_failed(&mut self) -> Vec<Failed> {
        let socket = self.socket.as_raw_fd();
        let is_readable = || platform::descriptor::wait_readable(socket, Some(Duration::ZERO));
        while is_readable() && self.fill("failures").is_ok() {}
        while let Ok(Some(bytes)) = self.input.next_line() {
            let text = std::str::from_utf8(bytes).ok();
            self.failed.extend(text.and_then(|text| Failed::parse(Line::from_text(text))));
        }
        std::mem::take(&mut self.failed)
    }

    /// Sends `text` and waits for the line called `answer`.
    pub(crate) fn request(&mut self, step: &'static str, text: &str, answer: &str) -> Result<Reply, Error> {
        self.send(step, text)?;
        let reply = self.receive(step)?;
        if reply.line().command() == answer { Ok(reply) } else { Err(Error::protocol(step, &reply.0)) }
    }

    /// Waits for `length` bytes that follow the line just received.
    pub(crate) fn receive_body(&mut self, step: &'static str, length: usize) -> Result<String, Error> {
        let mut body = Vec::with_capacity(length.min(1 << 20));
        loop {
            body.extend_from_slice(self.input.take_body(length - body.len()));
            if body.len() == length {
                return String::from_utf8(body).map_err(|_| Error::protocol(step, "not text"));
            }
            self.fill(step)?;
        }
    }

    /// The next descriptor that came along with what was received so far.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    fn fill(&mut self, step: &'static str) -> Result<(), Error> {
        let mut buffer = [0u8; 4096];
        match scm::receive(self.socket.as_fd(), &mut buffer) {
            Ok(received) if received.bytes == 0 => Err(Error::Lost { step }),
            Ok(received) => {
                match &mut self.channel {
                    Some(channel) => channel.take(&buffer[..received.bytes], &mut self.input, step)?,
                    None => self.input.push(&buffer[..received.bytes]),
                }
                self.descriptors.extend(received.fds);
                // No peer fills this process's table of descriptors.
                self.descriptors.truncate(2 * scm::MOST_DESCRIPTORS);
                Ok(())
            }
            Err(error) => Err(failed(step, error)),
        }
    }
}

impl Channel {
    fn take(&mut self, bytes: &[u8], input: &mut LineBuffer, step: &'static str) -> Result<(), Error> {
        self.raw.extend_from_slice(bytes);
        let mut opened = Vec::new();
        let outcome = self.session.opener.open(&mut self.raw, &mut opened);
        input.push(&opened);
        outcome.map_err(|forged| Error::protocol(step, &forged.to_string()))
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The inode of `fd` if it is an open socket.
pub(crate) fn socket_inode(fd: RawFd) -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `status` is writable and large enough; a closed descriptor gives an error.
    let status = unsafe {
        if fd < 0 || libc::fstat(fd, status.as_mut_ptr()) != 0 {
            return None;
        }
        status.assume_init()
    };
    (status.st_mode & libc::S_IFMT == libc::S_IFSOCK).then_some(status.st_ino)
}

/// What the error of a socket means.
fn failed(step: &'static str, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected => Error::Lost { step },
        _ => Error::Io { step, source: error },
    }
}
