//! Joining a job of our own `mpiexec`: one round trip.

use std::env;

use crate::Segment;
use crate::connection::{Connection, socket_inode};
use crate::job::{Job, Server, Service, Space};
use crate::welcome::{HELLO, MAX_BODY, PROTOCOL, VARIABLE, WELCOME, Welcome};
use crate::wire::unescape;
use crate::{Error, launcher};

const STEP: &str = "MPI_Init";

/// The native connection: `None` where the environment names none.
pub(crate) fn connection() -> Result<Option<Connection>, Error> {
    let Some((fd, inode)) = env::var(VARIABLE).ok().and_then(|text| parse_variable(&text)) else {
        return Ok(None);
    };
    // A foreign launcher between mpiexec and this process hands out connections of its own.
    if env::var("PMI_FD").ok().and_then(|v| v.parse().ok()) != Some(fd) {
        return Ok(None);
    }
    if socket_inode(fd) == Some(inode) {
        return Ok(Connection::inherit(fd));
    }
    match launcher::check_singleton() {
        Ok(()) => Ok(None),
        Err(_) => Err(Error::StartedByRank { fd }),
    }
}

/// Says hello and becomes a rank. Returns when all ranks of this node have said hello.
pub(crate) fn join(mut connection: Connection) -> Result<Job, Error> {
    let rank: u32 = env::var("PMI_RANK")
        .ok()
        .and_then(|v| v.parse().ok())
        .ok_or_else(|| Error::protocol(STEP, "PMI_RANK is no number"))?;
    let version = env!("CARGO_PKG_VERSION");
    let hello = format!("cmd={HELLO} protocol={PROTOCOL} version={version} rank={rank}\n");
    let reply = connection.request(STEP, &hello, WELCOME)?;
    let line = reply.line();
    let length = line.number::<usize>("bytes").unwrap_or(0);
    if line.number::<i32>("rc") != Some(0) {
        return match line.get("version") {
            Some(launcher) if launcher != version => Err(Error::Version { launcher: launcher.to_owned() }),
            _ => Err(Error::Refused {
                step: STEP,
                message: unescape(line.get("msg").unwrap_or("")).into_owned(),
            }),
        };
    }
    if length > MAX_BODY {
        return Err(Error::protocol(STEP, line.text()));
    }
    let body = connection.receive_body(STEP, length)?;
    let welcome = Welcome::parse(&body).ok_or_else(|| Error::protocol(STEP, &body))?;
    job(rank, welcome, connection)
}

fn job(rank: u32, welcome: Welcome, mut connection: Connection) -> Result<Job, Error> {
    let incomplete = || Error::protocol(STEP, "an incomplete welcome");
    let &node = welcome.node_of.get(rank as usize).ok_or_else(incomplete)?;
    let local_ranks: Vec<u32> = crate::job::ranks_on(node, &welcome.node_of);
    if local_ranks.len() != welcome.local_pids.len() {
        return Err(incomplete());
    }
    let segment = match (welcome.segment_bytes, connection.take_descriptor()) {
        (Some(bytes), Some(fd)) => Some(Segment { fd, bytes }),
        (None, _) => None,
        (Some(_), None) => return Err(incomplete()),
    };
    let kvs = kvs_name(welcome.job_id);
    Ok(Job {
        rank,
        size: welcome.node_of.len() as u32,
        job_id: welcome.job_id,
        node_of: welcome.node_of,
        local_ranks,
        local_pids: welcome.local_pids,
        guard_pid: welcome.guard_pid,
        segment,
        app_num: welcome.app_num,
        universe_size: welcome.universe_size,
        oversubscribed: welcome.oversubscribed,
        info: welcome.info,
        service: Service::Launcher(Space::Pmi(Server { connection, kvs, native: true })),
    })
}

/// Name of the key-value space of a native job.
pub fn kvs_name(job_id: u64) -> String {
    format!("alhena_{job_id:016x}")
}

fn parse_variable(text: &str) -> Option<(i32, u64)> {
    let (fd, inode) = text.split_once(':')?;
    Some((fd.parse().ok()?, inode.parse().ok()?))
}
