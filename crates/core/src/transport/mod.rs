//! Opens the transports of a job.
//!
//! ```text
//!   vader: map the node's shared memory ─┐                       ┌─ Gemini: learn all addresses
//!   Gemini: attach a NIC, put its address ┴─ fence of the job ───┴─ the route table
//! ```

mod gemini;
mod registered;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use bml::{Bml, BtlParams, Selection};
use btl::Peer;
use btl_vader::{Attach, Vader, VaderParams};
use gni_soft::host::SharedDoorbell;
use pml_ob1::{Config, Ob1};

use crate::params::Params;

pub(crate) use gemini::GniParams;
pub(crate) use registered::RcacheParams;

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
    if job.size == 1 && job.segment.is_none() {
        return Ok((Bml::solo(), ob1));
    }
    let Selection { vader, ugni } = BtlParams::read(&params.values).map_err(|error| error.to_string())?.btl;
    // Gemini gives the file out, so that also peers beyond the node ring the doorbell in it.
    let file = job.segment.as_ref().filter(|_| ugni).map(|segment| segment.fd.try_clone()).transpose();
    let file = file.map_err(|error| error.to_string())?;
    let vader = if vader { attach_vader(job, params)? } else { None };
    let doorbell = vader.as_ref().zip(file).map(|(vader, file)| shared_doorbell(vader, file));
    let nic = if ugni { Some(gemini::attach(job, params, doorbell)?) } else { None };
    if vader.is_none() && nic.is_none() && job.size > 1 {
        return Err(unreachable(job));
    }
    job.fence().map_err(|error| error.to_string())?;
    let gemini = nic.map(|nic| gemini::open(nic, job, params)).transpose()?;
    if gemini.as_ref().is_some_and(|gemini| gemini.plan().msgq) {
        // Nobody may send to a shared queue that its owner has not joined.
        job.fence().map_err(|error| error.to_string())?;
    }
    let bml = Bml::new(Peer(job.rank), job.size as usize, vader, gemini);
    Ok((bml.map_err(|error| format!("alhena: {error}"))?, ob1))
}

/// The transport between the processes of this node, if they have a segment.
fn attach_vader(job: &mut pmi::Job, params: &Params) -> Result<Option<Vader>, String> {
    let Some(segment) = job.segment.take() else { return Ok(None) };
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
    Vader::attach(attach, &vader).map(Some).map_err(|error| error.to_string())
}

/// What this process sleeps on, in the node's segment, whose file is `file`.
fn shared_doorbell(vader: &Vader, file: OwnedFd) -> SharedDoorbell {
    SharedDoorbell { doorbell: vader.doorbell(), file: Arc::new(file), offset: vader.doorbell_offset() }
}

/// Nothing leads to the others: there is no shared memory, or it may not be used.
fn unreachable(job: &pmi::Job) -> String {
    let seen = match job.segment {
        Some(_) => "the parameter btl allows no transport between processes",
        None => "the launcher gave this node no shared memory, and the parameter btl allows nothing else",
    };
    format!(
        "alhena: rank {} cannot reach the other {} ranks of its job\n\
         alhena: seen: {seen}\n\
         alhena: start all ranks on one node with Alhena's own mpiexec, or allow Gemini: --mca btl self,vader,ugni",
        job.rank,
        job.size - 1,
    )
}
