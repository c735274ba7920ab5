//! Joining a job of our own `mpiexec`: one round trip.

use std::env;

use platform::memory_file::MemoryFile as Segment;

use crate::connection::{Connection, socket_inode};
use crate::job::{Job, Service};
use crate::mapping::ranks_on;
use crate::native::Native;
use crate::protocol::{HELLO, JOB, JobRecord, MAX_BODY, PROTOCOL, VARIABLE};
use crate::wire::unescape;
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

/// Sends the hello and becomes a rank. Returns when all ranks of this node have sent theirs.
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
    let local_ranks: Vec<u32> = ranks_on(node, &record.node_of);
    if local_ranks.len() != record.local_pids.len() {
        return Err(incomplete());
    }
    let segment = match record.segment_bytes {
        Some(bytes) => Some(Segment { fd: connection.take_descriptor().ok_or_else(incomplete)?, bytes }),
        None => None,
    };
    // The job runs without it as well.
    let observation = record.observation_bytes.and_then(|_| connection.take_descriptor());
    let observation = observation.and_then(|fd| Segment::adopt(fd).ok());
    Ok(Job {
        rank,
        size: record.node_of.len() as u32,
        job_id: record.job_id,
        node_of: record.node_of,
        local_ranks,
        local_pids: record.local_pids,
        proxy_pid: record.proxy_pid,
        segment,
        observation,
        app_num: record.app_num,
        universe_size: record.universe_size,
        oversubscribed: record.oversubscribed,
        parent: record.parent,
        info: record.info,
        service: Service::Native(Native::new(connection)),
    })
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
