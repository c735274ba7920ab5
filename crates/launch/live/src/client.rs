//! The side of the tools.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use observe::{Area, Section};
use platform::memory_file::MemoryFile;
use pmi::{scm, socket};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::description::Description;
use crate::directory;
use crate::question::{Answer, Question};
use crate::server::{GREETING, heading};

/// A proxy answers at once, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// mpiexec reports within the patience of a question which hosts have not answered; the way back is this much longer.
const WAY_BACK: Duration = Duration::from_secs(2);

/// Bytes of a description, or of all answers, at most.
const LONGEST: u64 = 256 << 20;

/// A job, as long as a tool looks at it.
#[derive(Debug)]
pub struct Connection {
    /// What it is.
    pub description: Description,
    /// What its ranks show; `None`: none has called `MPI_Init`, or there is no memory for it.
    area: Option<Arc<Area>>,
    /// At its end the proxy takes the question back that no tool has left.
    stream: UnixStream,
}

impl Connection {
    /// Connects with the job of this number.
    ///
    /// # Errors
    /// The system's; `NotFound`: there is no such job of this user on this host. `InvalidData`: what answers is no such job.
    pub fn open(number: i32) -> io::Result<Connection> {
        let names = directory::all().into_iter().map(|folder| folder.join(number.to_string()));
        let path = names.into_iter().find(|path| path.exists()).ok_or(ErrorKind::NotFound)?;
        connect(&path)
    }

    /// The connection at the standard input of a command that a proxy has started for its own ranks.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn inherited() -> io::Result<Connection> {
        greet(io::stdin().as_fd().try_clone_to_owned()?.into())
    }

    /// Asks all other hosts of the job, which have so much time. [`Connection::answers`] takes their answers.
    ///
    /// # Errors
    /// The system's: the proxy takes nothing.
    pub fn ask(&self, question: Question, patience: Duration) -> io::Result<Asked> {
        let number = platform::clock::nanoseconds();
        let line = format!("{number} {} {}\n", patience.as_millis(), question.encode());
        (&self.stream).write_all(line.as_bytes())?;
        Ok(Asked { number, until: Instant::now() + patience + WAY_BACK })
    }

    /// Waits for what the other hosts answer, so long at most; `None`: they have not.
    ///
    /// # Errors
    /// `TimedOut`: mpiexec does not answer. The system's: the job has ended meanwhile.
    pub fn answers(&self, asked: &Asked, at_most: Duration) -> io::Result<Option<Vec<Answer>>> {
        let until = asked.until.min(Instant::now() + at_most);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.stream.set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
            let mut text = [0; 64];
            let received = match scm::receive(self.stream.as_fd(), &mut text) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let is_late = Instant::now() >= asked.until;
                    return if is_late { Err(ErrorKind::TimedOut.into()) } else { Ok(None) };
                }
                outcome => outcome?,
            };
            match received.fds.into_iter().next() {
                None if received.bytes == 0 => return Err(ErrorKind::UnexpectedEof.into()),
                // One that came too late for its question is of no use.
                Some(file) if &text[..received.bytes] == heading(asked.number).as_bytes() => {
                    let answers = Answer::decode(&content(file)?);
                    return answers.map(Some).ok_or_else(|| ErrorKind::InvalidData.into());
                }
                _ => {}
            }
        }
    }

    /// The sections of the job's ranks on this host, in order; none where no rank has called `MPI_Init`.
    pub fn sections(&self) -> impl Iterator<Item = Section> {
        let area = self.area.clone();
        (0..self.description.ranks.len())
            .filter_map(move |slot| area.as_ref().and_then(|area| area.section(slot)))
    }

    /// The number of a section's rank in the job.
    pub fn rank(&self, section: &Section) -> u32 {
        self.description.ranks[section.place()].rank
    }

    /// Whether the job has ended, or its ranks run another program by now: what is read is of the past.
    pub fn is_over(&self) -> bool {
        // An answer that came too late for its question may be there.
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let seen = rustix::net::recv(&self.stream, &mut [0u8; 1], flags);
        !matches!(seen, Ok((1.., _)) | Err(Errno::WOULDBLOCK))
    }
}

/// A question of which the answers are on their way.
#[derive(Debug)]
pub struct Asked {
    number: u64,
    until: Instant,
}

/// The jobs of this user on this host, by their numbers.
pub fn jobs() -> Vec<Connection> {
    let folders = directory::all().into_iter();
    let paths =
        folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten().map(|entry| entry.path());
    let mut jobs: Vec<Connection> =
        paths.filter(|path| number(path).is_some()).filter_map(|path| there(&path)).collect();
    jobs.sort_by_key(|job| job.description.number);
    jobs
}

fn number(path: &Path) -> Option<i32> {
    path.file_name()?.to_str()?.parse().ok()
}

/// A job that answers. What a killed one has left is removed.
fn there(path: &Path) -> Option<Connection> {
    let outcome = connect(path);
    if matches!(&outcome, Err(error) if error.kind() == ErrorKind::ConnectionRefused) {
        // Another tool may have done it.
        let _ = fs::remove_file(path);
    }
    outcome.ok()
}

fn connect(path: &Path) -> io::Result<Connection> {
    let user = rustix::process::geteuid().as_raw();
    if !path.parent().is_some_and(|folder| directory::is_private(folder, user)) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    greet(UnixStream::connect(path)?)
}

/// Takes what the proxy at the other end has sent.
fn greet(stream: UnixStream) -> io::Result<Connection> {
    socket::peer_of_same_user(stream.as_fd())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut greeting = [0; 64];
    let received = scm::receive(stream.as_fd(), &mut greeting)?;
    let strange = || io::Error::from(ErrorKind::InvalidData);
    if &greeting[..received.bytes] != GREETING {
        return Err(strange());
    }
    let mut files = received.fds.into_iter();
    let text = content(files.next().ok_or_else(strange)?)?;
    let description = Description::decode(&String::from_utf8_lossy(&text)).ok_or_else(strange)?;
    let area = match files.next().map(MemoryFile::adopt) {
        Some(file) => Some(Area::map(&file?, description.ranks.len()).map_err(io::Error::other)?),
        None => None,
    };
    Ok(Connection { description, area, stream })
}

/// What is in a file that the proxy has handed over.
fn content(file: OwnedFd) -> io::Result<Vec<u8>> {
    let file = MemoryFile::adopt(file)?;
    if file.bytes > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; file.bytes as usize];
    file.read(0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::RankOf;
    use crate::server::{self, Listener};

    #[test]
    fn a_tool_gets_to_what_ranks_show() {
        // A number that no process has.
        let number = 1_900_000_000 + (std::process::id() % 1_000_000) as i32;
        let listener = Listener::open(number).unwrap();
        let memory = Area::create(2).unwrap();
        let area = Area::map(&memory, 2).unwrap();
        let rank = |rank| RankOf { rank, pid: 7, is_over: false, program: "a".into() };
        let job = Description { number, ranks: vec![rank(0), rank(1)], ..Description::default() };
        let tool = std::thread::spawn(move || Connection::open(number).unwrap());
        let held = loop {
            if let Some(held) = listener.accept().unwrap() {
                break held;
            }
        };
        server::send(held.as_fd(), &job.encode(), Some(&memory)).unwrap();
        let connection = tool.join().unwrap();
        assert_eq!(connection.description, job);
        area.section(1).unwrap().announce(1, 0);
        let section = connection.sections().nth(1).unwrap();
        assert_eq!((section.rank(), connection.rank(&section), connection.is_over()), (1, 1, false));
        let asked = connection.ask(Question::Stacks(true), PATIENCE).unwrap();
        let mut text = [0; 100];
        let length = rustix::io::read(&held, &mut text).unwrap();
        let text = std::str::from_utf8(&text[..length]).unwrap();
        let [asked_as, patience, words] = text.trim_end().splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!()
        };
        assert_eq!((Question::decode(words), patience), (Some(Question::Stacks(true)), "2000"));
        // A late answer to another question, and none of any host to this one.
        let one = Answer { host: "n1".into(), page: Ok(vec![7]) };
        server::answer(held.as_fd(), 1, &Answer::encode(&[one])).unwrap();
        assert!(!connection.is_over());
        server::answer(held.as_fd(), asked_as.parse().unwrap(), &Answer::encode(&[])).unwrap();
        assert_eq!(connection.answers(&asked, PATIENCE).unwrap(), Some(vec![]));
        drop(held);
        assert!(connection.is_over());
        drop(listener);
        assert_eq!(Connection::open(number).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
