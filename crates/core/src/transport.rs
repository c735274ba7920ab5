//! Opens the transports of a job.

use bml::Bml;
use btl::Peer;
use btl_vader::{Attach, Vader, VaderParams};
use pml_ob1::{Config, Ob1};

use crate::params::Params;

/// Attempts of an eager send to find room, about a microsecond in all, where the receiver has its own core.
const PATIENCE: u32 = 32;

/// The transports that reach every process of the job, and the message layer over them. Takes the job's shared
/// segment.
///
/// # Errors
/// The three lines to print.
pub(crate) fn open(job: &mut pmi::Job, params: &Params) -> Result<(Bml, Ob1), String> {
    let ob1 = Ob1::new(Config {
        unexpected_cap: params.mpi.unexpected_cap as u64,
        patience: if job.oversubscribed { 0 } else { PATIENCE },
        ..Config::new(job.size)
    });
    let Some(segment) = job.segment.take() else {
        return alone(job).map(|bml| (bml, ob1));
    };
    let vader = VaderParams::read(&params.values).map_err(|error| error.to_string())?;
    let attach = Attach {
        fd: segment.fd,
        bytes: segment.bytes,
        local_index: job.local_ranks.iter().position(|&rank| rank == job.rank).unwrap_or(0),
        local_peers: job.local_ranks.iter().map(|&rank| Peer(rank)).collect(),
        pids: job.local_pids.clone(),
        oversubscribed: job.oversubscribed,
        guard_pid: job.guard_pid,
    };
    let vader = Vader::attach(attach, &vader).map_err(|error| error.to_string())?;
    let bml = Bml::of_node(Peer(job.rank), job.size as usize, vader).map_err(|error| error.to_string())?;
    job.fence().map_err(|error| error.to_string())?;
    Ok((bml, ob1))
}

/// A job without shared memory: this process must be all of it.
fn alone(job: &pmi::Job) -> Result<Bml, String> {
    if job.size == 1 {
        return Ok(Bml::solo());
    }
    Err(format!(
        "alhena: rank {} cannot reach the other {} ranks of its job\n\
         alhena: seen: the launcher gave this node no shared memory\n\
         alhena: start all ranks on one node with Alhena's own mpiexec: mpiexec -n {} program",
        job.rank,
        job.size - 1,
        job.size
    ))
}
