//! Which algorithm a call uses, and its schedule.

use coll::tuned::Tuned;
use std::sync::Arc;

use abi::{Error, Result};
use coll::tuned::{Choice, Misfit, Placement, Query, Unfit};
use coll::{Coll, Params, Schedule};

use super::call::{Call, is_neighbourhood};
use super::mode::Start;
use super::signature::Signature;
use super::state::CollState;
use objects::comm::Comm;
use objects::state::{Membership, State};
use objects::topology::Topology;

/// Choices and schedules that a communicator keeps.
const CHOICES: usize = 64;
const SCHEDULES: usize = 64;

/// What the schedule of a call is chosen for. `canonical`: one association for every count, root and placement, which keeps to the order of ranks.
pub(super) fn signature(
    call: &Call,
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
    canonical: bool,
    start: Start,
) -> Signature {
    let reduction = call.op.is_some();
    let remote = comm.remote.as_ref().map_or(0, |remote| remote.size());
    let facts = match start {
        Start::OwnApart => lasting_query(call.coll, comm, kept, world),
        _ => plain_query(call.coll, comm, kept, world),
    };
    let query = Query {
        ranks: comm.size() + remote,
        bytes: bytes(call, comm.size()),
        element: if reduction { call.recv.layout.size } else { 0 },
        commutative: call.commutative() && !canonical,
        canonical,
        dense: !reduction || call.recv.is_dense(),
        area: start.uses_area(kept.turns.has_area()) && !is_neighbourhood(call.coll),
        ..facts
    };
    let (in_place, contiguous) = (call.in_place, call.contiguous());
    let (own, settled) = (start.is_own(), kept.settled);
    Signature { query, root: call.root, in_place, contiguous, own, settled }
}

/// Whether all processes of an intra-communicator are on this node and could share an area.
pub(super) fn may_share(state: &State, comm: &Comm) -> bool {
    let Some(node) = state.node.as_ref().filter(|_| state.params.tuned.areas) else { return false };
    let me = state.me();
    let here = |&peer: &u32| peer == me || node.reaches(btl::Peer(peer));
    !comm.is_inter() && comm.size() > 1 && comm.addressed().iter().all(here)
}

/// Whether rounds of a persistent call are faster in an area of their own than by messages, which leave at once up to the eager
/// limit, and let a rank that only sends run ahead: on an EPYC of 2 cores up to 2 KiB, and with more ranks than cores up to some lines;
/// between two ranks on one cache, what both have for each other, much further (docs/measurements/collectives.md). All processes
/// find the same. Calls whose processes may each have as much data as they like decide by the block, with a core for each rank.
pub(super) fn gains_from_area(
    call: &Call,
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
) -> bool {
    const MOST: u64 = 2 << 10;
    const MOST_OVERSUBSCRIBED: u64 = 256;
    let oversubscribed = placement(comm, kept, world) == Placement::Node { oversubscribed: true };
    let most = match call.coll {
        Coll::Barrier => return true,
        Coll::Alltoallv | Coll::Alltoallw => return !oversubscribed,
        _ if oversubscribed => MOST_OVERSUBSCRIBED,
        coll if kept.near => most_near(coll).unwrap_or(MOST),
        _ => MOST,
    };
    call.coll.all_know_bytes() && bytes(call, comm.size()) <= most
}

/// As far as two ranks on one cache are faster in an area of their own, where that is further than elsewhere.
fn most_near(coll: Coll) -> Option<u64> {
    match coll {
        Coll::Allgather | Coll::Allgatherv | Coll::Alltoall => Some(64 << 10),
        Coll::Reduce | Coll::ReduceScatter | Coll::ReduceScatterBlock | Coll::Scan | Coll::Exscan => {
            Some(512 << 10)
        }
        _ => None,
    }
}

/// The bytes that [`Query::bytes`] wants: the same on every rank of the call.
fn bytes(call: &Call, ranks: u32) -> u64 {
    match call.coll {
        Coll::Gather | Coll::Scatter | Coll::Allgather | Coll::Alltoall => call.shape().packed,
        Coll::Bcast | Coll::Reduce | Coll::Allreduce | Coll::Scan | Coll::Exscan | Coll::ReduceScatter => {
            call.recv.layout.bytes()
        }
        Coll::ReduceScatterBlock => call.recv.layout.bytes().saturating_mul(u64::from(ranks)),
        Coll::Allgatherv => call.recv.block_bytes(),
        _ => 0,
    }
}

/// What the choice depends on for calls in the area of a communicator, but for their data.
pub(super) fn plain_query(
    coll: Coll,
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
) -> Query {
    Query {
        area: true,
        direct: kept.direct == Some(true),
        near: kept.near,
        caches: !kept.localities.is_empty(),
        ..lasting_query(coll, comm, kept, world)
    }
}

/// That part of it which is the same from the first call of the communicator to the last. Calls whose place among the others
/// is not the same on all processes are chosen by it alone: what processes find out about each other in between is known to
/// one of them before such a call and to another one after it.
fn lasting_query(coll: Coll, comm: &Comm, kept: &mut CollState, world: Option<&Membership>) -> Query {
    Query {
        inter: comm.is_inter(),
        direct: false,
        ..Query::new(coll, comm.size(), placement(comm, kept, world))
    }
}

/// Where the processes of a communicator are.
pub(super) fn placement(comm: &Comm, kept: &mut CollState, world: Option<&Membership>) -> Placement {
    if let Some(placement) = kept.placement {
        return placement;
    }
    let mut nodes = nodes(comm, world);
    nodes.sort_unstable();
    nodes.dedup();
    let oversubscribed = world.is_some_and(|world| world.job.oversubscribed);
    let placement = Placement::of(comm.size() as usize, nodes.len(), oversubscribed);
    kept.placement = Some(placement);
    placement
}

/// The node of each rank. With processes of other jobs each process counts as a node of its own: none knows where those
/// are, and all have to choose alike.
fn nodes(comm: &Comm, world: Option<&Membership>) -> Vec<u32> {
    let node_of = world.map_or(&[0][..], |world| &world.job.node_of);
    let of = |&peer: &u32| node_of.get(peer as usize).copied();
    let known: Option<Vec<u32>> = comm.group.members().iter().map(of).collect();
    known.unwrap_or_else(|| (0..comm.size()).collect())
}

/// The schedule of a call, from the communicator's store or built now.
pub(super) fn schedule(
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
    tuned: &Tuned,
    signature: &Signature,
) -> Result<Arc<Schedule>> {
    if let Some(at) = kept.choices.iter().position(|(known, _)| known == signature) {
        kept.choices[..=at].rotate_right(1);
        return Ok(kept.choices[0].1.clone());
    }
    let schedule = choose(comm, kept, world, tuned, signature)?;
    kept.choices.truncate(CHOICES - 1);
    kept.choices.insert(0, (*signature, schedule.clone()));
    Ok(schedule)
}

fn choose(
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
    tuned: &Tuned,
    signature: &Signature,
) -> Result<Arc<Schedule>> {
    let Signature { query, own, .. } = signature;
    if query.bytes == 0 && query.coll.all_know_bytes() && !query.inter {
        return Ok(Arc::default());
    }
    let choice = match kept.online.winner(query) {
        _ if *own => tuned.select_own(query).map_err(unfit)?,
        Some(choice) => choice,
        None => match tuned.select(query) {
            // They have not asked each other yet; a blocking call does, and then chooses again.
            Err(Unfit::Forced(_, Misfit::Direct | Misfit::Caches)) if kept.direct.is_none() => {
                tuned.select_own(query).map_err(unfit)?
            }
            choice => choice.map_err(unfit)?,
        },
    };
    build(comm, kept, world, signature, choice)
}

#[cold]
fn unfit(why: Unfit) -> Error {
    Error::unsupported("no algorithm of the collective suits the call").described(|| why.to_string())
}

/// The schedule of a choice, from the communicator's store or built now.
pub(super) fn build(
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
    signature: &Signature,
    choice: Choice,
) -> Result<Arc<Schedule>> {
    let Signature { query, root, in_place, contiguous, .. } = *signature;
    let nodes = renumbered(nodes(comm, world));
    let localities = if query.caches { Arc::clone(&kept.localities) } else { Arc::default() };
    let neighbours = kept.neighbours.as_ref();
    let params = Params {
        remote: comm.remote.as_ref().map(|remote| remote.size()),
        root,
        in_place,
        commutative: query.commutative,
        contiguous,
        segments: choice.segments,
        blocks: choice.blocks,
        fanout: choice.fanout,
        topology: Some(coll::Topology::new(&nodes)),
        localities: &localities,
        neighbours: coll::Neighbours {
            sources: neighbours.map_or(&[], |neighbours| &neighbours.sources),
            destinations: neighbours.map_or(&[], |neighbours| &neighbours.destinations),
            cartesian: matches!(comm.topology, Some(Topology::Cart(_))),
        },
        ..Params::new(comm.rank, comm.size())
    };
    let key = params.key(choice.algorithm.0);
    let build = choice.algorithm.get().build;
    let found = kept.schedules.iter().position(|(known, _)| *known == key);
    if let Some(at) = found {
        kept.schedules[..=at].rotate_right(1);
        return Ok(kept.schedules[0].1.clone());
    }
    let built = Arc::new(build(&params).of(choice.algorithm));
    kept.schedules.truncate(SCHEDULES - 1);
    kept.schedules.insert(0, (key, built.clone()));
    Ok(built)
}

/// Node numbers without gaps, in the order in which the nodes appear.
fn renumbered(nodes: Vec<u32>) -> Vec<u32> {
    let mut seen: Vec<u32> = Vec::new();
    let number = |node: u32| match seen.iter().position(|&known| known == node) {
        Some(at) => at as u32,
        None => {
            seen.push(node);
            seen.len() as u32 - 1
        }
    };
    nodes.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use coll::algorithms::registry::{Memory, of};
    use coll::{Coll, Locality};

    use super::{CollState, is_neighbourhood, lasting_query, plain_query};
    use objects::comm::Comm;
    use objects::errhandler::Handler;
    use objects::group::Group;

    #[test]
    fn calls_in_no_order_are_chosen_by_what_never_changes() {
        let group = Group::new([0, 1].into(), 0);
        let comm = Comm::new(2, group.into(), 0, Handler::Return);
        let asked = |kept: &mut CollState| {
            let lasting = lasting_query(Coll::Allreduce, &comm, kept, None);
            (lasting, plain_query(Coll::Allreduce, &comm, kept, None))
        };
        let mut kept = CollState::default();
        let before = asked(&mut kept);
        (kept.direct, kept.near, kept.localities) = (Some(true), true, vec![Locality::default(); 2].into());
        let after = asked(&mut kept);
        assert!(before.0 == after.0 && before.1 != after.1);
    }

    #[test]
    fn neighbours_share_no_area() {
        for coll in Coll::ALL.into_iter().filter(|&coll| is_neighbourhood(coll)) {
            assert!(of(coll).all(|(_, algorithm)| algorithm.needs.memory == Memory::None), "{}", coll.name());
        }
    }
}
