//! epoll with names instead of numbers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// What an event is about. Ranks are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A message of the watching mpiexec process.
    Control,
    /// The watching mpiexec process ended.
    Parent,
    /// Some child ended.
    Child,
    /// A rank has sent PMI.
    Pmi(usize),
    /// A program calls at the proxy's socket.
    Callers,
    /// Such a program has sent something.
    Caller(usize),
    /// A tool that looks at the job has connected.
    Tools,
    /// Such a tool has gone, or asks something.
    Tool(usize),
    /// A command that makes a page for a tool has printed something, or has ended.
    Errand(usize),
    /// The process started for a rank ended.
    Exit(usize),
    /// The MPI program of a rank, a descendant of the process started for it, ended.
    ProgramExit(usize),
    /// A rank wrote to its standard output.
    Stdout(usize),
    /// A rank wrote to its standard error.
    Stderr(usize),
    /// mpiexec's standard output (0) or error (1) takes bytes again.
    Console(usize),
    /// mpiexec's standard input has bytes.
    Stdin,
    /// A rank's standard input takes bytes again.
    StdinOf(usize),
    /// A connection between mpiexec and the daemon of a host.
    Link(usize),
    /// The pipe through which a daemon passes standard input on takes bytes again.
    Feed,
    /// The connection with the rank that has had this job started.
    Spawner,
    /// The job of that rank is over.
    SpawnersJob,
    /// A process calls at mpiexec's port.
    Listener,
    /// mpiexec got a signal.
    Signal,
    /// The standard input of a launcher takes bytes.
    Launcher(usize),
    /// A launcher has written something.
    LauncherSays(usize),
    /// A launcher has ended.
    LauncherEnd(usize),
}

impl Token {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Token::Control => (0, 0),
            Token::Parent => (1, 0),
            Token::Child => (2, 0),
            Token::Pmi(rank) => (3, rank),
            Token::Exit(rank) => (4, rank),
            Token::ProgramExit(rank) => (5, rank),
            Token::Stdout(rank) => (6, rank),
            Token::Stderr(rank) => (7, rank),
            Token::Console(which) => (8, which),
            Token::Stdin => (9, 0),
            Token::StdinOf(rank) => (10, rank),
            Token::Link(host) => (11, host),
            Token::Feed => (12, 0),
            Token::Spawner => (20, 0),
            Token::SpawnersJob => (23, 0),
            Token::Listener => (13, 0),
            Token::Signal => (14, 0),
            Token::Launcher(host) => (15, host),
            Token::LauncherSays(host) => (16, host),
            Token::LauncherEnd(host) => (17, host),
            Token::Callers => (18, 0),
            Token::Caller(index) => (19, index),
            Token::Tools => (21, 0),
            Token::Tool(index) => (22, index),
            Token::Errand(index) => (24, index),
        };
        kind << 32 | index as u64
    }

    fn decode(data: u64) -> Token {
        let index = (data & 0xffff_ffff) as usize;
        match data >> 32 {
            0 => Token::Control,
            1 => Token::Parent,
            2 => Token::Child,
            3 => Token::Pmi(index),
            4 => Token::Exit(index),
            5 => Token::ProgramExit(index),
            6 => Token::Stdout(index),
            7 => Token::Stderr(index),
            8 => Token::Console(index),
            9 => Token::Stdin,
            10 => Token::StdinOf(index),
            11 => Token::Link(index),
            12 => Token::Feed,
            20 => Token::Spawner,
            23 => Token::SpawnersJob,
            13 => Token::Listener,
            14 => Token::Signal,
            15 => Token::Launcher(index),
            16 => Token::LauncherSays(index),
            17 => Token::LauncherEnd(index),
            18 => Token::Callers,
            21 => Token::Tools,
            22 => Token::Tool(index),
            24 => Token::Errand(index),
            _ => Token::Caller(index),
        }
    }

    /// Exits are judged last: what a process sent before it ended counts first.
    pub fn is_exit(self) -> bool {
        matches!(self, Token::Exit(_) | Token::ProgramExit(_) | Token::LauncherEnd(_))
    }
}

/// Waits for events on any number of descriptors, level-triggered.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// A poller that watches nothing.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(64) })
    }

    /// Watches `fd` for being readable (or hung up).
    pub fn watch(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token.encode()), EventFlags::IN)?)
    }

    /// Watches `fd` for being writable. `false` for files, which always are.
    pub fn watch_writable(&self, fd: impl AsFd, token: Token) -> io::Result<bool> {
        match epoll::add(&self.epoll, fd, EventData::new_u64(token.encode()), EventFlags::OUT) {
            Ok(()) | Err(Errno::EXIST) => Ok(true),
            Err(Errno::PERM) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Changes what a descriptor is watched for. One that is watched for nothing is not watched at all: epoll would go on
    /// to report its hang-up, and a loop that waits for something else would never sleep.
    pub fn set(&self, fd: impl AsFd, token: Token, readable: bool, writable: bool) -> io::Result<()> {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, readable);
        flags.set(EventFlags::OUT, writable);
        if flags.is_empty() {
            self.forget(fd);
            return Ok(());
        }
        let data = EventData::new_u64(token.encode());
        match epoll::modify(&self.epoll, &fd, data, flags) {
            Err(Errno::NOENT) => Ok(epoll::add(&self.epoll, fd, data, flags)?),
            outcome => Ok(outcome?),
        }
    }

    /// Gives the events of a watched descriptor another name, and watches it for being readable.
    pub fn set_token(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        self.set(fd, token, true, false)
    }

    /// Stops watching `fd`.
    pub fn forget(&self, fd: impl AsFd) {
        // Not watched any more is all that is wanted; an error means that it was not watched before.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until something happens or `deadline` comes; exits are listed last.
    pub fn wait(&mut self, deadline: Option<Instant>) -> io::Result<Vec<Token>> {
        let timeout = deadline.map(|at| timespec(at.saturating_duration_since(Instant::now())));
        self.events.clear();
        match epoll::wait(&self.epoll, spare(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let mut tokens: Vec<Token> =
            self.events.iter().map(|event| Token::decode(event.data.u64())).collect();
        tokens.sort_by_key(|token| token.is_exit());
        Ok(tokens)
    }
}

fn spare(events: &mut Vec<Event>) -> rustix::buffer::SpareCapacity<'_, Event> {
    rustix::buffer::spare_capacity(events)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_for_nothing_reports_no_hang_up() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.watch(&reader, Token::Stdin).unwrap();
        poller.set(&reader, Token::Stdin, false, false).unwrap();
        drop(writer);
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        assert_eq!(poller.wait(soon()).unwrap(), []);
        poller.set(&reader, Token::Stdin, true, false).unwrap();
        assert_eq!(poller.wait(None).unwrap(), [Token::Stdin]);
    }

    #[test]
    fn tokens_survive_the_kernel() {
        for token in [
            Token::Control,
            Token::Exit(7),
            Token::Stderr(70_000),
            Token::StdinOf(0),
            Token::LauncherEnd(1),
            Token::Caller(3),
            Token::Tools,
            Token::Tool(5),
            Token::Errand(2),
            Token::SpawnersJob,
        ] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
