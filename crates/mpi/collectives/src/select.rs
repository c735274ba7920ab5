//! Which algorithm a call uses, and what a communicator keeps for its collectives.

use coll::tuned::Tuned;
use std::sync::Arc;

use abi::{Error, Result};
use coll::tuned::{Choice, Misfit, Placement, Query, Unfit};
use coll::{Coll, Key, Locality, Params, Root, Schedule};
use node::NodeArea;

use super::call::Call;
use super::fast_path::FastPaths;
use super::online::Online;
use super::run::Running;
use super::turns::{Start, Turns};
use objects::comm::Comm;
use objects::state::Membership;
use objects::topology::{Neighbours, Topology};

/// What a communicator remembers for its collectives.
#[derive(Default)]
pub struct CollState {
    /// Tag of the latest call.
    sequence: u32,
    /// The tag of calls that borrow another communicator's context.
    apart: Option<i32>,
    /// Persistent collectives made so far.
    persistent: u32,
    /// Choices made so far, latest first.
    choices: Vec<(Signature, Arc<Schedule>)>,
    /// Schedules built so far, latest used first.
    schedules: Vec<(Key, Arc<Schedule>)>,
    /// Finished calls, latest last.
    #[expect(clippy::vec_box, reason = "a call in flight does not move")]
    spares: Vec<Box<Running>>,
    /// Slots shared by the processes of a communicator on one node; lent to the call that uses them.
    pub area: Option<Box<NodeArea>>,
    /// Whose turn in the area is next.
    pub turns: Turns,
    /// Whether all processes that share the area can read each other's memory; `None` until they were asked.
    pub direct: Option<bool>,
    /// Whether both processes that share the area sit on one last-level cache; asked at the same time.
    pub near: bool,
    /// What the ranks of a wide node are bound to; asked at the same time, empty where all are bound to the same.
    pub localities: Arc<[Locality]>,
    /// What goes without a schedule.
    pub fast_paths: FastPaths,
    /// Choices by trial.
    pub online: Online,
    /// How often they were settled; what was chosen before is chosen anew.
    settled: u32,
    neighbours: Option<Neighbours>,
    placement: Option<Placement>,
}

/// Bits of a tag that count calls, above them a digest of the call. The bits above that distinguish persistent
/// collectives and the library's point-to-point words ([`super::words`]).
const CALL_BITS: u32 = 16;
const SEQUENCE_BITS: u32 = 28;
const PERSISTENT: u32 = 1 << 28;
/// Persistent collectives may live long: more bits count them.
const PERSISTENT_CALL_BITS: u32 = 20;
const PERSISTENT_CALL: u32 = (1 << PERSISTENT_CALL_BITS) - 1;
/// In no number of a call; see `check`.
pub(super) const REPORTED: u32 = 1 << 29;
const SEQUENCE: u32 = (1 << SEQUENCE_BITS) - 1;
const CALL: u32 = (1 << CALL_BITS) - 1;

/// Finished calls, choices and schedules that a communicator keeps.
const SPARES: usize = 16;
const CHOICES: usize = 64;
const SCHEDULES: usize = 64;

impl CollState {
    /// Number and tag of the next call, the latter with 12 bits that name the call. No other call that may be
    /// under way on the communicator has the same.
    pub fn next_tag(&mut self, digest: u16) -> (i32, i32) {
        if let Some(tag) = self.apart {
            return (tag, tag);
        }
        self.sequence = self.sequence.wrapping_add(1) & CALL;
        let digest = u32::from(digest) << CALL_BITS & SEQUENCE;
        (self.sequence as i32, (digest | self.sequence) as i32)
    }

    /// Number and tag of a new persistent collective, for all its rounds, the latter with 8 bits that name the call.
    pub fn next_persistent_tag(&mut self, digest: u16) -> (i32, i32) {
        self.persistent = self.persistent.wrapping_add(1) & PERSISTENT_CALL;
        let digest = u32::from(digest ^ digest >> 8) << PERSISTENT_CALL_BITS & SEQUENCE;
        let number = PERSISTENT | self.persistent;
        (number as i32, (digest | number) as i32)
    }

    /// Calls of this communicator borrow another one's context, all under `tag`, which is not negative. Each begins where
    /// the one before it has ended, so the order of messages distinguishes them.
    pub fn start_apart(&mut self, tag: i32) {
        self.apart = Some(tag);
    }

    /// Whether the calls borrow another communicator's context.
    pub fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// A finished call to be used again, one of the same kind if there is one.
    pub fn spare(&mut self, coll: Coll, comm: abi::Comm) -> Box<Running> {
        let kept = match self.spares.iter().rposition(|running| running.coll() == coll) {
            Some(index) => Some(index),
            None => (self.spares.len() == SPARES).then_some(0),
        };
        let Some(kept) = kept else { return Box::new(Running::new(coll, comm)) };
        let mut running = self.spares.swap_remove(kept);
        // The local communicator inside an inter-communicator has another handle each time it is used.
        running.move_to(comm);
        running
    }

    /// Keeps a finished call.
    pub fn keep(&mut self, running: Box<Running>) {
        if self.spares.len() < SPARES {
            self.spares.push(running);
        }
    }

    /// Gives `running` what a finished call has prepared for the same signature, if there is one. What `running`
    /// had is kept if only the root differs: roots that take turns find theirs again.
    pub(super) fn trade(&mut self, running: &mut Running, signature: &Signature) {
        let alike = self.spares.iter_mut().find(|spare| spare.is_prepared_for(signature));
        if let Some(spare) = alike {
            return spare.swap_prepared(running);
        }
        let turns = running.signature().is_some_and(|known| known.differs_in_root(signature));
        if turns && self.spares.len() + 1 < SPARES {
            let mut spare = Box::new(Running::new(running.coll(), running.comm()));
            spare.swap_prepared(running);
            self.spares.push(spare);
        }
    }

    /// Calls to come are chosen for anew, also where a call under way keeps what it had prepared.
    pub fn forget_choices(&mut self) {
        self.settled += 1;
    }

    /// The neighbours of the process, once a neighbourhood collective was called.
    pub fn neighbours(&self) -> Option<&Neighbours> {
        self.neighbours.as_ref()
    }
}

/// What a schedule is chosen for; the part that all ranks agree on, and the process's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    query: Query,
    root: Root,
    in_place: bool,
    contiguous: bool,
    /// The library's own.
    own: bool,
    /// [`CollState::settled`].
    settled: u32,
}

impl Signature {
    /// `canonical`: one association for every count, root and placement, which keeps to the order of ranks.
    pub fn of(
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
            area: start.is_ordered() && kept.turns.has_area() && !is_neighbourhood(call.coll),
            ..facts
        };
        let (in_place, contiguous) = (call.in_place, call.contiguous());
        let (own, settled) = (start.is_own(), kept.settled);
        Signature { query, root: call.root, in_place, contiguous, own, settled }
    }
}

impl Signature {
    /// The bytes by which the algorithm is chosen; the same on every rank.
    pub fn bytes(&self) -> u64 {
        self.query.bytes
    }

    /// What the choice depends on.
    pub fn query(&self) -> &Query {
        &self.query
    }

    fn differs_in_root(&self, other: &Signature) -> bool {
        self.query == other.query && self.root != other.root
    }

    /// Whether the processes should ask each other if they can read each other's memory.
    pub fn wants_vote(&self, kept: &CollState) -> bool {
        self.query.area && kept.direct.is_none()
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

/// The node of each rank. A process of another job counts as a node of its own.
fn nodes(comm: &Comm, world: Option<&Membership>) -> Vec<u32> {
    let node_of = world.map_or(&[0][..], |world| &world.job.node_of);
    let of = |&peer: &u32| node_of.get(peer as usize).copied().unwrap_or(node_of.len() as u32 + peer);
    comm.group.members().iter().map(of).collect()
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

/// Whether a collective is one among neighbours in a topology. Each process goes its own way through it, with messages
/// alone: it must not depend on that whether the processes ask each other something.
pub(super) fn is_neighbourhood(coll: Coll) -> bool {
    matches!(
        coll,
        Coll::NeighborAllgather
            | Coll::NeighborAllgatherv
            | Coll::NeighborAlltoall
            | Coll::NeighborAlltoallv
            | Coll::NeighborAlltoallw
    )
}

impl CollState {
    /// Looks the neighbours of the process up, for its first neighbourhood collective.
    pub(super) fn meet_neighbours(&mut self, comm: &Comm) {
        if self.neighbours.is_none() {
            self.neighbours = comm.topology.as_ref().map(|topology| topology.neighbours(comm.rank));
        }
    }
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
