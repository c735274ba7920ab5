//! A connection between mpiexec and a daemon, once both have proven that they are of one job: frames in both directions,
//! without blocking.
//!
//! A frame is its length in four bytes, then a message. Frames are encrypted and signed with keys of this connection
//! ([`connect::channel`]): orders, the environment and keys travel here, and a host that relays or changes packets must
//! neither read them nor put in others.
//!
//! **A host that is gone.** The kernel probes an idle connection each second ([`watch`]), and the other kernel answers,
//! whether its process runs or is stopped (a debugger, Ctrl-Z). [`Link::look_after`] sees a probe without answer and
//! sends frames without a message, which the kernel repeats faster than probes. So about seven packets have to be lost
//! before a host that lives is taken for dead, and one that is dead is noticed after [`SILENCE`], or what
//! `mpiexec -host-silence` sets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use connect::{Opener, Protection, Sealer, Session};
use rustix::net::sockopt;

use crate::wire::{self, Wire};

/// Output of ranks, and input for them, that may be on its way on one connection, in bytes: less than the window with
/// which a TCP connection begins.
pub const CREDIT: usize = 48 * 1024;
/// Longest frame that is accepted: a key space of some millions of keys.
const LONGEST: usize = 256 << 20;
/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;
/// A host that acknowledges nothing for this long is gone, unless the user sets otherwise.
pub const SILENCE: Duration = Duration::from_millis(4200);
/// Time between two calls of [`Link::look_after`].
pub const LOOK: Duration = Duration::from_millis(400);

/// The connection.
pub struct Link {
    stream: TcpStream,
    sealer: Sealer,
    opener: Opener,
    /// Records as they came, as far as they are not whole.
    raw: Vec<u8>,
    input: Vec<u8>,
    /// Bytes at the front of `input` that were taken already.
    taken: usize,
    /// Records that are to be sent.
    output: Vec<u8>,
    written: usize,
    /// A frame before it is sealed; kept for its memory.
    frame: Vec<u8>,
    /// An event comes when more can be written.
    pub watched: bool,
    /// A host that acknowledges nothing for so long is gone.
    silence: Duration,
    /// Why nothing more comes or goes.
    broken: Option<String>,
}

impl Link {
    /// A connection whose sides have proven that they are of one job, which gave this session.
    pub fn new(stream: TcpStream, session: Session) -> io::Result<Link> {
        // The acceptor and `connect::prove` see to it.
        if session.protection() != Protection::Encrypt {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_nonblocking(true)?;
        watch(&stream)?;
        let Session { sealer, opener, .. } = session;
        let [raw, input, output, frame] = [const { Vec::new() }; 4];
        let (taken, written, watched, silence, broken) = (0, 0, false, SILENCE, None);
        Ok(Link {
            stream,
            sealer,
            opener,
            raw,
            input,
            taken,
            output,
            written,
            frame,
            watched,
            silence,
            broken,
        })
    }

    /// From now on a host may acknowledge nothing for so long before it is gone.
    pub fn allow_silence(&mut self, silence: Duration) {
        self.silence = silence;
    }

    /// Why the connection is of no more use.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Sends `message` after what waits to be sent.
    pub fn send(&mut self, message: &impl Wire) {
        self.frame.clear();
        self.frame.extend_from_slice(&[0; 4]);
        message.put(&mut self.frame);
        let length = (self.frame.len() - 4) as u32;
        self.frame[..4].copy_from_slice(&length.to_le_bytes());
        self.sealer.seal(&self.frame, &mut self.output);
        self.frame.shrink_to(CHUNK);
        self.flush();
    }

    /// Whether something waits to be sent.
    pub fn is_pending(&self) -> bool {
        self.broken.is_none() && self.written < self.output.len()
    }

    /// Sends what the kernel takes.
    pub fn flush(&mut self) {
        while self.is_pending() {
            match (&self.stream).write(&self.output[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // What the other side has sent before must still be read.
                Err(error) => {
                    let reason = self.in_words(&error);
                    self.read();
                    self.broken.get_or_insert(reason);
                }
            }
        }
        self.output.clear();
        self.written = 0;
    }

    /// Reads what is there.
    pub fn read(&mut self) {
        let mut chunk = [0; CHUNK];
        while self.broken.is_none() {
            match (&self.stream).read(&mut chunk) {
                Ok(0) => self.broken = Some("it has closed its connection".to_owned()),
                Ok(bytes) => {
                    self.raw.extend_from_slice(&chunk[..bytes]);
                    if let Err(forged) = self.opener.open(&mut self.raw, &mut self.input) {
                        self.broken = Some(forged.to_string());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => self.broken = Some(self.in_words(&error)),
            }
        }
    }

    /// Sees whether the other host still answers; to be called every [`LOOK`].
    pub fn look_after(&mut self) {
        if self.broken.is_some() {
            return;
        }
        match platform::tcp::unanswered(self.stream.as_fd()) {
            Some(silent) if silent >= self.silence => self.broken = Some(silence_in_words(self.silence)),
            // What is on its way already asks for an answer, too.
            Some(_) if !self.is_pending() => {
                self.sealer.seal(&[0; 4], &mut self.output);
                self.flush();
            }
            _ => {}
        }
    }

    fn in_words(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::TimedOut => silence_in_words(self.silence),
            io::ErrorKind::ConnectionReset => "its process has ended".to_owned(),
            _ => format!("its connection is broken: {error}"),
        }
    }

    /// The next message that was read. One that makes no sense breaks the connection.
    pub fn next_message<T: Wire>(&mut self) -> Option<T> {
        // Frames without a message only ask this kernel for an answer.
        while self.input[self.taken..].starts_with(&[0; 4]) {
            self.taken += 4;
        }
        let rest = &self.input[self.taken..];
        let length = u32::from_le_bytes(*rest.first_chunk()?) as usize;
        if length > LONGEST {
            self.broken.get_or_insert_with(|| "it sent a frame that is too long".to_owned());
            return None;
        }
        let body = rest.get(4..4 + length)?;
        let message = wire::decode(body);
        self.taken += 4 + length;
        if self.taken == self.input.len() || self.taken > 16 * CHUNK {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        if message.is_none() {
            self.broken.get_or_insert_with(|| "it sent a message that makes no sense".to_owned());
        }
        message
    }

    /// Waits for the next message; `None`: the connection is broken.
    pub fn wait<T: Wire>(&mut self) -> Option<T> {
        loop {
            if let Some(message) = self.next_message() {
                return Some(message);
            }
            if self.broken.is_some() {
                return None;
            }
            self.poll(rustix::event::PollFlags::IN);
            self.look_after();
            self.read();
        }
    }

    /// Waits until everything is sent, or the connection is broken.
    pub fn drain(&mut self) {
        while self.is_pending() {
            self.poll(rustix::event::PollFlags::OUT);
            self.look_after();
            self.flush();
        }
    }

    fn poll(&self, flags: rustix::event::PollFlags) {
        let mut fds = [rustix::event::PollFd::new(&self.stream, flags)];
        let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
        // An interruption is as good as an event: the caller tries again.
        let _ = rustix::event::poll(&mut fds, Some(&limit));
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Has the kernel watch whether the other host is still there.
fn watch(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(1))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(1))?;
    // The decision is ours.
    sockopt::set_tcp_keepcnt(stream, 100)?;
    Ok(())
}

fn silence_in_words(silence: Duration) -> String {
    format!("its host has not answered for {} s", silence.as_secs())
}

/// 128 random bits.
pub fn random() -> Result<u128, String> {
    platform::random::secret().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use connect::{Acceptor, Role, Secret, Who};
    use std::net::TcpListener;
    use std::time::Instant;

    fn pair() -> (Link, Link) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let secret = Secret::new(77);
        let who = Who { role: Role::Daemon, job: 1, from: 2, to: 0 };
        let caller = std::thread::spawn(move || crate::call::call(&[address], secret, who).unwrap());
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut acceptor = Acceptor::new("the test", secret, Protection::Encrypt, None);
        acceptor.add(stream, Instant::now());
        loop {
            if let Some((stream, seen, session)) = acceptor.hear(Instant::now(), || 5, |_| Ok(())).pop() {
                assert_eq!(seen, who);
                return (Link::new(stream, session).unwrap(), caller.join().unwrap());
            }
        }
    }

    #[test]
    fn messages_pass_and_the_end_is_seen_after_the_last_one() {
        let (mut ours, mut theirs) = pair();
        let long = "x".repeat(3 << 20);
        let reader = std::thread::spawn(move || {
            let mut seen = Vec::new();
            while let Some(text) = theirs.wait::<String>() {
                seen.push(text);
            }
            (seen, theirs.broken().unwrap().to_owned())
        });
        ours.send(&"one".to_owned());
        ours.send(&long);
        ours.send(&String::new());
        ours.drain();
        drop(ours);
        let (seen, end) = reader.join().unwrap();
        assert_eq!(seen, ["one".to_owned(), long, String::new()]);
        assert!(end.contains("closed"), "{end}");
    }

    #[test]
    fn what_was_changed_or_put_in_on_the_way_breaks_the_link() {
        for put_in in [&b"\x04\0\0\0none, and a tag of 16"[..], &[0; 4], &[0xff; 64]] {
            let (ours, mut theirs) = pair();
            (&ours.stream).write_all(put_in).unwrap();
            assert_eq!(theirs.wait::<String>(), None);
            assert!(theirs.broken().unwrap().contains("changed"), "{:?}", theirs.broken());
        }
        let (mut ours, mut theirs) = pair();
        ours.sealer.seal(&[4, 0, 0, 0], &mut ours.output);
        ours.output[5] ^= 1;
        ours.drain();
        assert_eq!(theirs.wait::<String>(), None);
        assert!(theirs.broken().unwrap().contains("changed"));
    }

    #[test]
    fn nonsense_breaks_the_link() {
        let (mut ours, mut theirs) = pair();
        ours.send(&7u8);
        ours.drain();
        assert_eq!(theirs.wait::<String>(), None);
        assert!(theirs.broken().unwrap().contains("no sense"));
    }
}
