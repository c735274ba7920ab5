//! The side of the tools.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use observe::{Area, Section};
use platform::memory_file::MemoryFile;
use pmi::{scm, socket};

use crate::description::Description;
use crate::directory;
use crate::server::GREETING;

/// A proxy answers at once, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of a description at most.
const LONGEST: u64 = 64 << 20;

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
        let mut byte = [0];
        let _ = self.stream.set_nonblocking(true);
        // Nothing is ever sent after the first message.
        !matches!(scm::receive(self.stream.as_fd(), &mut byte), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }
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
    let stream = UnixStream::connect(path)?;
    socket::peer_of_same_user(stream.as_fd())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut greeting = [0; 64];
    let received = scm::receive(stream.as_fd(), &mut greeting)?;
    let strange = || io::Error::from(ErrorKind::InvalidData);
    if &greeting[..received.bytes] != GREETING {
        return Err(strange());
    }
    let mut files = received.fds.into_iter().map(MemoryFile::adopt);
    let text = files.next().ok_or_else(strange)??;
    if text.bytes > LONGEST {
        return Err(strange());
    }
    let mut bytes = vec![0; text.bytes as usize];
    text.read(0, &mut bytes)?;
    let description = Description::decode(&String::from_utf8_lossy(&bytes)).ok_or_else(strange)?;
    let area = match files.next() {
        Some(file) => Some(Area::map(&file?, description.ranks.len()).map_err(io::Error::other)?),
        None => None,
    };
    Ok(Connection { description, area, stream })
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
        drop(held);
        assert!(connection.is_over());
        drop(listener);
        assert_eq!(Connection::open(number).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
