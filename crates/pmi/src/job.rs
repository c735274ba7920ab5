//! A rank's membership in its job, and what it can ask its launcher for.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::Error;
use crate::Segment;
use crate::abort::Abort;
use crate::connection::Connection;
use crate::welcome::STATE;
use crate::wire::{MAX_KEY, MAX_VALUE, escape, unescape};

/// Everything a rank knows about its job once it has joined. Made by [`crate::attach`].
#[derive(Debug)]
pub struct Job {
    /// Rank of this process in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Random number that all ranks of the job share and no other job has.
    pub job_id: u64,
    /// Node index of each rank.
    pub node_of: Vec<u32>,
    /// World ranks on this node, ascending.
    pub local_ranks: Vec<u32>,
    /// Process ids of `local_ranks`, as the kernel reported them (not as the ranks claimed).
    pub local_pids: Vec<i32>,
    /// The guard of this node: an ancestor of all its ranks (see `PR_SET_PTRACER`). None under other launchers.
    pub guard_pid: Option<i32>,
    /// Shared memory of this node, allocated, zeroed and sealed. None for a job of one rank per node.
    pub segment: Option<Segment>,
    /// `MPI_APPNUM`: index of the program in an MPMD job.
    pub app_num: i32,
    /// `MPI_UNIVERSE_SIZE`, where the launcher has one.
    pub universe_size: Option<u32>,
    /// This node has more ranks than processors it may use: waiting must not spin.
    pub oversubscribed: bool,
    /// Entries of `MPI_INFO_ENV` (MPI-5.0 section 11.2.1) that the launcher knows.
    pub info: Vec<(String, String)>,
    pub(crate) service: Service,
}

/// Who answers requests.
#[derive(Debug)]
pub(crate) enum Service {
    /// Nobody is needed: a job of one rank keeps its keys itself.
    Alone(Vec<(String, String)>),
    Server(Server),
}

/// A PMI-1 server.
pub(crate) struct Server {
    pub(crate) connection: Connection,
    pub(crate) kvs: String,
    /// It is our own `mpiexec`, which knows messages beyond PMI-1.
    pub(crate) native: bool,
}

impl Job {
    /// A job of one rank, without a launcher.
    pub(crate) fn singleton() -> Result<Job, Error> {
        Ok(Job {
            rank: 0,
            size: 1,
            job_id: crate::random()?,
            node_of: vec![0],
            local_ranks: vec![0],
            local_pids: vec![std::process::id() as i32],
            guard_pid: None,
            segment: None,
            app_num: 0,
            universe_size: None,
            oversubscribed: false,
            info: Vec::new(),
            service: Service::Alone(Vec::new()),
        })
    }

    /// Whether Alhena's own `mpiexec` started the job. It has looked at the parameters then.
    pub fn is_native(&self) -> bool {
        matches!(&self.service, Service::Server(server) if server.native)
    }

    /// Publishes `value` under `key`. Other ranks see it after the next [`Job::fence`].
    /// Keys up to 64 bytes, values up to 1024 bytes after escaping; any text may be in them.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let step = "put";
        let (escaped_key, escaped) = (escape(key), escape(value));
        for (text, limit) in [(&escaped_key, MAX_KEY), (&escaped, MAX_VALUE)] {
            if text.len() >= limit {
                return Err(Error::TooLong { what: text.clone().into_owned(), limit: limit - 1 });
            }
        }
        match &mut self.service {
            Service::Alone(kept) => {
                kept.retain(|(k, _)| k != key);
                kept.push((key.to_owned(), value.to_owned()));
            }
            Service::Server(Server { connection, kvs, .. }) => {
                let text = format!("cmd=put kvsname={kvs} key={escaped_key} value={escaped}\n");
                let reply = connection.request(step, &text, "put_result")?;
                if reply.line().number::<i32>("rc").unwrap_or(0) != 0 {
                    return Err(Error::Refused { step, message: reply.line().text().to_owned() });
                }
            }
        }
        Ok(())
    }

    /// The value that some rank published under `key` before the last fence; `None` if nobody did.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        match &mut self.service {
            Service::Alone(kept) => Ok(kept.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())),
            Service::Server(server) => server.get(key),
        }
    }

    /// Waits until every rank of the job has called `fence`; afterwards all earlier puts are visible.
    pub fn fence(&mut self) -> Result<(), Error> {
        if let Service::Server(server) = &mut self.service {
            server.connection.request("fence", "cmd=barrier_in\n", "barrier_out")?;
        }
        Ok(())
    }

    /// Tells the launcher that MPI is finalized: from now on this process may exit without ending the job.
    pub fn finalized(&mut self) -> Result<(), Error> {
        match &mut self.service {
            Service::Alone(_) => Ok(()),
            Service::Server(Server { connection, native: true, .. }) => {
                connection.send("MPI_Finalize", &format!("cmd={STATE} active=0\n"))
            }
            Service::Server(server) => {
                server.connection.request("MPI_Finalize", "cmd=finalize\n", "finalize_ack").map(drop)
            }
        }
    }

    /// Takes [`Job::finalized`] back: a session was initialized after the last one had ended (MPI-5.0
    /// section 11.3). Other launchers cannot be told.
    pub fn resumed(&mut self) -> Result<(), Error> {
        match &mut self.service {
            Service::Server(Server { connection, native: true, .. }) => {
                connection.send("MPI_Session_init", &format!("cmd={STATE} active=1\n"))
            }
            _ => Ok(()),
        }
    }

    /// What `MPI_Abort` needs to end the job.
    pub fn abort(&self) -> Abort {
        let launcher = self.connection_fd().map_or(-1, |fd| fd.as_raw_fd());
        Abort { launcher, rank: Some(self.rank) }
    }

    /// The launcher's connection, to be watched by a progress engine: it becomes readable when the
    /// launcher has closed it, which ends the job.
    pub fn connection_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.service {
            Service::Server(server) => Some(server.connection.as_fd()),
            Service::Alone(_) => None,
        }
    }
}

impl Server {
    pub(crate) fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        let text = format!("cmd=get kvsname={} key={}\n", self.kvs, escape(key));
        let reply = self.connection.request("get", &text, "get_result")?;
        let line = reply.line();
        if line.number::<i32>("rc").unwrap_or(0) != 0 {
            return Ok(None);
        }
        Ok(line.get_rest("value").map(|value| unescape(value).into_owned()))
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("kvs", &self.kvs).field("native", &self.native).finish_non_exhaustive()
    }
}

/// An error code as a process can return it: never 0, for `MPI_Abort` is no success.
pub fn exit_status(code: i32) -> i32 {
    if code & 0xff == 0 { 1 } else { code & 0xff }
}

/// The ranks on `node`, ascending.
pub(crate) fn ranks_on(node: u32, node_of: &[u32]) -> Vec<u32> {
    (0..node_of.len() as u32).filter(|&rank| node_of[rank as usize] == node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singleton_keeps_its_own_keys() {
        let mut job = Job::singleton().unwrap();
        job.put("a", "1 2").unwrap();
        job.put("a", "3").unwrap();
        job.fence().unwrap();
        assert_eq!(job.get("a").unwrap().as_deref(), Some("3"));
        assert_eq!(job.get("b").unwrap(), None);
        assert!(job.put(&"k".repeat(100), "").is_err());
    }

    #[test]
    fn an_abort_is_never_a_success() {
        assert_eq!(exit_status(0), 1);
        assert_eq!(exit_status(256), 1);
        assert_eq!(exit_status(7), 7);
    }
}
