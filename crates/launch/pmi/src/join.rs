//! Joining a job of another launcher, the same for all key spaces.

use crate::Error;
use crate::foreign::{Foreign, Neighbours};
use crate::handover::{self, Card};
use crate::job::{Job, Service};
use crate::mapping::ranks_on;
use crate::pmi1::JobPlace;
use crate::space::Space;

const STEP: &str = "MPI_Init";
/// Keys: the number of the job, of rank 0; a node's shared memory, of its lowest rank.
const JOB: &str = "alhena-job";
const NODE: &str = "alhena-node";

/// Gives the size of a node's shared memory in bytes, for this many local ranks.
pub type SegmentBytes = fn(local_size: usize) -> u64;

/// Joins the job: the launcher gives the key space and the node of each rank; the node's shared memory is made by its
/// lowest rank ([`handover`]).
///
/// ```text
///   lowest rank of a node: memory + listening socket ── put card(name, nonce, bytes) ─┐
///   rank 0:                                             put number of the job         ├─ fence ─ get, connect
///   every rank:                                                                       ┘
/// ```
pub(crate) fn join(mut space: Space, place: JobPlace, segment_bytes: SegmentBytes) -> Result<Job, Error> {
    let JobPlace { rank, size, app_num, universe_size, node_of } = place;
    let local_ranks = ranks_on(node_of[rank as usize], &node_of);
    let (leader, local_size) = (local_ranks[0], local_ranks.len());
    if rank == 0 {
        space.put(rank, JOB, &format!("{:016x}", crate::random()?))?;
    }
    let mut host = None;
    if rank == leader && local_size > 1 {
        let new = handover::Host::new(segment_bytes(local_size))?;
        space.put(rank, NODE, &new.card().encode())?;
        host = Some(new);
    }
    space.fence()?;

    let mut job_id = 0;
    if rank == leader {
        let text = space.get(0, JOB)?;
        job_id = u64::from_str_radix(&text, 16).map_err(|_| Error::protocol(STEP, &text))?;
    }
    let (met, neighbours) = match host {
        Some(host) => {
            let (met, guests) = host.serve(job_id, local_size)?;
            (Some(met), Neighbours::Guests(guests))
        }
        None if rank == leader => (None, Neighbours::Guests(Vec::new())),
        None => {
            let text = space.get(leader, NODE)?;
            let card = Card::parse(&text).ok_or_else(|| Error::protocol(STEP, &text))?;
            let place = local_ranks.iter().position(|&local| local == rank).unwrap_or(0);
            let (met, host) = card.fetch(place, local_size)?;
            (Some(met), Neighbours::Host(host))
        }
    };
    let alone = (job_id, false, vec![std::process::id() as i32], None);
    let (job_id, oversubscribed, local_pids, segment) =
        met.map_or(alone, |met| (met.job_id, met.oversubscribed, met.pids, Some(met.segment)));
    let service = Service::Launcher(Foreign::new(space, neighbours));
    Ok(Job {
        rank,
        size,
        job_id,
        node_of,
        local_ranks,
        local_pids,
        proxy_pid: None,
        segment,
        observation: None,
        app_num,
        universe_size,
        oversubscribed,
        parent: None,
        info: Vec::new(),
        service,
    })
}
