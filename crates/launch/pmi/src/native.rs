//! Joining a job of our own `mpiexec`: one round trip, and one for each exchange of what ranks put.

use std::env;

use crate::wireup::Table;
use platform::memory_file::MemoryFile;

use crate::Segment;
use crate::connection::{Connection, socket_inode};
use crate::foreign::put_line;
use crate::job::{Job, Service};
use crate::protocol::{FENCE, HELLO, JOB, JobRecord, MAX_BODY, PROTOCOL, REPORT, STATE, TABLE, VARIABLE};
use crate::wire::{escape, unescape};
use crate::{Error, launcher, socket};

const STEP: &str = "MPI_Init";

/// The job of our own mpiexec; `None` where the environment names none, or this process is meant to be alone.
pub(crate) fn attach() -> Result<Option<Job>, Error> {
    let Some(named) = env::var(VARIABLE).ok().and_then(|text| Named::parse(&text)) else {
        return Ok(None);
    };
    // A foreign launcher between mpiexec and this process hands out connections of its own.
    if env::var("PMI_FD").ok().and_then(|v| v.parse().ok()) != Some(named.fd) {
        return Ok(None);
    }
    let inherited = socket_inode(named.fd) == Some(named.inode);
    if let Some(connection) = inherited.then(|| Connection::inherit(named.fd)).flatten() {
        return join(connection).map(Some);
    }
    if launcher::may_be_alone() {
        return Ok(None);
    }
    let called = socket::connect(named.socket);
    let outcome = called.map_err(|error| Error::StartedByRank {
        seen: format!(
            "connection {} that {VARIABLE} names is another process's, and the launcher's socket does not answer: {error}",
            named.fd
        ),
    });
    match outcome.and_then(|(stream, _)| join(Connection::over(stream))) {
        Ok(job) => Ok(Some(job)),
        // The rank of a job of one has started this process, to which the job is as good as none.
        Err(Error::StartedByRank { .. }) if launcher::check_singleton().is_ok() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says hello and becomes a rank. Returns when all ranks of this node have said hello.
fn join(mut connection: Connection) -> Result<Job, Error> {
    let rank: u32 = env::var("PMI_RANK")
        .ok()
        .and_then(|v| v.parse().ok())
        .ok_or_else(|| Error::protocol(STEP, "PMI_RANK is no number"))?;
    let version = env!("CARGO_PKG_VERSION");
    let hello = format!("cmd={HELLO} protocol={PROTOCOL} version={version} rank={rank}\n");
    let reply = connection.request(STEP, &hello, JOB)?;
    let line = reply.line();
    let length = line.number::<usize>("bytes").unwrap_or(0);
    if line.number::<i32>("rc") != Some(0) {
        let message = unescape(line.get("msg").unwrap_or("")).into_owned();
        return Err(match line.get("version") {
            Some(launcher) if launcher != version => Error::Version { launcher: launcher.to_owned() },
            _ if line.get("busy") == Some("1") => Error::StartedByRank { seen: message },
            _ => Error::Refused { step: STEP, message },
        });
    }
    if length > MAX_BODY {
        return Err(Error::protocol(STEP, line.text()));
    }
    let body = connection.receive_body(STEP, length)?;
    let record = JobRecord::parse(&body).ok_or_else(|| Error::protocol(STEP, &body))?;
    job(rank, record, connection)
}

fn job(rank: u32, record: JobRecord, mut connection: Connection) -> Result<Job, Error> {
    let incomplete = || Error::protocol(STEP, "an incomplete job record");
    let &node = record.node_of.get(rank as usize).ok_or_else(incomplete)?;
    let local_ranks: Vec<u32> = crate::job::ranks_on(node, &record.node_of);
    if local_ranks.len() != record.local_pids.len() {
        return Err(incomplete());
    }
    let segment = match (record.segment_bytes, connection.take_descriptor()) {
        (Some(bytes), Some(fd)) => Some(Segment { fd, bytes }),
        (None, _) => None,
        (Some(_), None) => return Err(incomplete()),
    };
    Ok(Job {
        rank,
        size: record.node_of.len() as u32,
        job_id: record.job_id,
        node_of: record.node_of,
        local_ranks,
        local_pids: record.local_pids,
        proxy_pid: record.proxy_pid,
        segment,
        app_num: record.app_num,
        universe_size: record.universe_size,
        oversubscribed: record.oversubscribed,
        info: record.info,
        service: Service::Native(Native { connection, unsent: String::new(), tables: Vec::new() }),
    })
}

/// The connection with the proxy of this node.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) connection: Connection,
    /// What was put since the last exchange, as lines.
    unsent: String,
    /// What each exchange has brought, the last one first: files in memory that the ranks of this node share.
    tables: Vec<MemoryFile>,
}

impl Native {
    pub(crate) fn put(&mut self, key: &str, value: &str) {
        self.unsent += &put_line(key, value);
    }

    /// Gives what was put, waits for all ranks, and takes the table of what they have put.
    pub(crate) fn fence(&mut self) -> Result<(), Error> {
        let step = "fence";
        let lines = std::mem::take(&mut self.unsent) + &format!("cmd={FENCE}\n");
        let reply = self.connection.request(step, &lines, TABLE)?;
        if reply.line().number::<usize>("bytes") != Some(0) {
            let fd =
                self.connection.take_descriptor().ok_or_else(|| Error::protocol(step, "no table came"))?;
            self.tables.insert(0, MemoryFile::adopt(fd).map_err(Error::io(step))?);
        }
        Ok(())
    }

    /// What the rank at `place` of `node` has put under `key`.
    pub(crate) fn get(&self, node: u32, place: u32, key: &str) -> Option<String> {
        let found = self.tables.iter().find_map(|file| {
            let read = |at, into: &mut [u8]| file.read(at, into).is_ok();
            Table::new(read, file.bytes)?.get(node, place, key)
        });
        String::from_utf8(found?).ok()
    }

    /// Has the proxy print `text` together with what the other ranks report.
    pub(crate) fn report(&mut self, text: &str) -> Result<(), Error> {
        self.connection.send(STEP, &format!("cmd={REPORT} text={}\n", escape(text)))
    }

    /// Says whether MPI is initialized.
    pub(crate) fn tell_state(&mut self, step: &'static str, active: bool) -> Result<(), Error> {
        self.connection.send(step, &format!("cmd={STATE} active={}\n", u8::from(active)))
    }
}

/// Name of the key-value space of a native job.
pub fn kvs_name(job_id: u64) -> String {
    format!("alhena_{job_id:016x}")
}

/// What [`VARIABLE`] names.
struct Named {
    fd: i32,
    inode: u64,
    /// The proxy's socket.
    socket: u64,
}

impl Named {
    fn parse(text: &str) -> Option<Named> {
        let mut fields = text.split(':');
        let (fd, inode, socket) = (fields.next()?, fields.next()?, fields.next()?);
        let socket = u64::from_str_radix(socket, 16).ok()?;
        Some(Named { fd: fd.parse().ok()?, inode: inode.parse().ok()?, socket })
    }
}
