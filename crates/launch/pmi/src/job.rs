//! A rank's membership in its job, and what it can ask its launcher for.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use platform::memory_file::MemoryFile as Segment;

use crate::Error;
use crate::abort::Abort;
use crate::failed::Failed;
use crate::foreign::{Foreign, Whose};
use crate::lost::Suspicions;
use crate::native::Native;
use crate::protocol::ACCUSE;
use crate::space::Space;
use crate::star::Star;

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
    /// The proxy of this node: an ancestor of all its ranks (see `PR_SET_PTRACER`). None under other launchers.
    pub proxy_pid: Option<i32>,
    /// Shared memory of this node, allocated, zeroed and sealed. None for a job of one rank per node.
    pub segment: Option<Segment>,
    /// Memory in which the ranks of this node leave what the launcher may read (`observe`), allocated, zeroed and sealed.
    /// None where no process of ours watches the node.
    pub observation: Option<Segment>,
    /// `MPI_APPNUM`: index of the program in an MPMD job.
    pub app_num: i32,
    /// `MPI_UNIVERSE_SIZE`, where the launcher has one.
    pub universe_size: Option<u32>,
    /// This node has more ranks than processors it may use: waiting must not spin.
    pub oversubscribed: bool,
    /// Where the parents wait, of a job that was spawned.
    pub parent: Option<String>,
    /// Entries of `MPI_INFO_ENV` (MPI-5.0 section 11.2.1) that the launcher knows.
    pub info: Vec<(String, String)>,
    pub(crate) service: Service,
}

/// The service that answers requests.
#[derive(Debug)]
pub(crate) enum Service {
    /// None is needed: a job of one rank keeps its keys itself.
    Alone(Vec<(String, String)>),
    /// Our own `mpiexec`.
    Native(Native),
    /// A launcher of others.
    Launcher(Foreign),
}

impl Service {
    fn fence(&mut self, rank: u32) -> Result<(), Error> {
        match self {
            Service::Alone(_) => Ok(()),
            Service::Native(native) => native.fence(),
            Service::Launcher(foreign) => foreign.fence(rank),
        }
    }
}

/// A fence that another thread waits in; see [`Job::begin_fence`].
#[derive(Debug)]
pub struct Fence {
    service: Service,
    rank: u32,
}

impl Fence {
    /// Waits as [`Job::fence`] does.
    ///
    /// # Errors
    /// As [`Job::fence`].
    pub fn wait(&mut self) -> Result<(), Error> {
        self.service.fence(self.rank)
    }
}

impl Job {
    /// Place of this rank among those of its node ([`Job::local_ranks`]).
    pub fn local_index(&self) -> usize {
        self.local_ranks.iter().position(|&rank| rank == self.rank).unwrap_or(0)
    }

    /// A job of one rank, without a launcher.
    pub(crate) fn singleton() -> Result<Job, Error> {
        Ok(Job {
            rank: 0,
            size: 1,
            job_id: crate::random()?,
            node_of: vec![0],
            local_ranks: vec![0],
            local_pids: vec![std::process::id() as i32],
            proxy_pid: None,
            segment: None,
            observation: None,
            app_num: 0,
            universe_size: Some(platform::processor::allowed().len() as u32),
            oversubscribed: false,
            parent: None,
            info: Vec::new(),
            service: Service::Alone(Vec::new()),
        })
    }

    /// Whether Alhena's own `mpiexec` started the job. It has looked at the parameters then.
    pub fn is_native(&self) -> bool {
        matches!(&self.service, Service::Native(_))
    }

    /// Publishes `value` under `key` and this process's rank. Other ranks see it after the next [`Job::fence`].
    /// A handful of keys, of any text.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match &mut self.service {
            Service::Alone(kept) => {
                kept.retain(|(k, _)| k != key);
                kept.push((key.to_owned(), value.to_owned()));
                Ok(())
            }
            Service::Native(native) => {
                native.put(key, value);
                Ok(())
            }
            Service::Launcher(foreign) => {
                foreign.put(key, value);
                Ok(())
            }
        }
    }

    /// The value that `rank` published under `key` before the last fence; `None` if it did not.
    pub fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, Error> {
        match &mut self.service {
            Service::Alone(kept) => Ok(kept.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())),
            Service::Native(native) => {
                let Some((node, whose)) = whose(rank, &self.node_of) else { return Ok(None) };
                Ok(native.get(node, whose.place, key))
            }
            Service::Launcher(foreign) => {
                let Some((_, whose)) = whose(rank, &self.node_of) else { return Ok(None) };
                foreign.get(whose, key)
            }
        }
    }

    /// Waits until every rank of the job has called `fence`; afterwards all earlier puts are visible.
    pub fn fence(&mut self) -> Result<(), Error> {
        self.service.fence(self.rank)
    }

    /// A fence for another thread to wait in; until [`Job::end_fence`] nothing else may be asked of the launcher.
    pub fn begin_fence(&mut self) -> Fence {
        let service = std::mem::replace(&mut self.service, Service::Alone(Vec::new()));
        Fence { service, rank: self.rank }
    }

    /// Takes back what [`Job::begin_fence`] gave.
    pub fn end_fence(&mut self, fence: Fence) {
        self.service = fence.service;
    }

    /// Has the launcher print `text`, lines that may be the same for many ranks; another launcher's rank prints them
    /// itself.
    pub fn report(&mut self, text: &str) -> Result<(), Error> {
        match &mut self.service {
            Service::Native(native) => native.report(text),
            _ => {
                text.lines()
                    .for_each(|line| eprintln!("alhena: rank {} to {}", self.rank, line.replace('\t', ": ")));
                Ok(())
            }
        }
    }

    /// Reports to the launcher that MPI is finalized: from now on this process may exit without ending the job.
    pub fn finalized(&mut self) -> Result<(), Error> {
        match &mut self.service {
            Service::Alone(_) => Ok(()),
            Service::Native(native) => native.tell_state("MPI_Finalize", false),
            Service::Launcher(foreign) => foreign.space.finalized(),
        }
    }

    /// Takes [`Job::finalized`] back: a session was initialized after the last one had ended (MPI-5.0
    /// section 11.3). Other launchers take no such report.
    pub fn resumed(&mut self) -> Result<(), Error> {
        match &mut self.service {
            Service::Native(native) => native.tell_state("MPI_Session_init", true),
            _ => Ok(()),
        }
    }

    /// Where to report hosts that do not answer, if mpiexec has started the job on several.
    pub fn suspicions(&self) -> Option<Suspicions> {
        match &self.service {
            Service::Native(native) if self.node_of.iter().any(|&node| node != self.node_of[0]) => {
                Some(Suspicions { launcher: native.connection.as_raw_fd() })
            }
            _ => None,
        }
    }

    /// What has failed, as far as the launcher has informed this process since the last call, in the order in which it informs all;
    /// nothing while another thread waits in a fence.
    pub fn take_failed(&mut self) -> Vec<Failed> {
        match &mut self.service {
            Service::Native(native) => native.connection.take_failed(),
            _ => Vec::new(),
        }
    }

    /// Has the launcher end a rank that this process does not reach any more, and that has not said goodbye: no rank may take it for
    /// failed while it goes on.
    pub fn accuse(&mut self, rank: u32) {
        if let Service::Native(native) = &mut self.service {
            // Where the launcher is gone, so is the job.
            let _ = native.connection.send("failures", &format!("cmd={ACCUSE} rank={rank}\n"));
        }
    }

    /// What is readable when the launcher has sent something.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.service {
            Service::Native(native) => Some(native.connection.as_fd()),
            _ => None,
        }
    }

    /// What `MPI_Abort` needs to end the job.
    pub fn abort(&self) -> Abort {
        let (mut launcher, mut urgent, mut pmix) = (-1, None, None);
        match &self.service {
            Service::Alone(_) => {}
            Service::Native(native) => launcher = native.connection.as_raw_fd(),
            Service::Launcher(foreign) => match &foreign.space {
                Space::Pmi(server) | Space::Star(Star { server, .. }) => {
                    launcher = server.connection.as_raw_fd();
                    urgent = server.connection.urgent();
                }
                Space::Pmix(client) => pmix = Some(client.abort()),
            },
        }
        Abort { launcher, urgent, native: self.is_native(), pmix, rank: Some(self.rank) }
    }
}

/// The node of `rank`, and the rank as its node's record has it.
fn whose(rank: u32, node_of: &[u32]) -> Option<(u32, Whose)> {
    let &node = node_of.get(rank as usize)?;
    let leader = node_of.iter().position(|&other| other == node)? as u32;
    let place = node_of[..rank as usize].iter().filter(|&&other| other == node).count() as u32;
    Some((node, Whose { leader, place }))
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
        assert_eq!(job.get(0, "a").unwrap().as_deref(), Some("3"));
        assert_eq!(job.get(0, "b").unwrap(), None);
    }
}
