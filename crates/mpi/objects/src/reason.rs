//! What waits are for, in terms of ranks: for the launcher, which finds dead-locks (`observe`, crate `deadlock`).
//!
//! A reason may only say what holds as long as the thread sleeps: that it goes on if, and not before, the named ranks do
//! something by their programs. What goes on by itself, as a transfer does, is [`Reason::outside`]. A collective call that has begun
//! goes on by itself where it can: its reason is what it lacks ([`of_call`]), and each process shows those that it has begun.

use btl::Peer;
use engine::Reason;
use observe::{Kind, Need, Part, Targets};
use pml::{Awaited, ReqId};

use crate::handle::RequestKey;
use crate::state::State;

/// Of a request of the message layer.
pub fn of_request(state: &State, id: ReqId) -> Reason {
    let Some(awaited) = state.p2p.awaited(id) else { return Reason::outside() };
    let part = of_awaited(state, awaited);
    let call = if part.kind == Kind::Send { "MPI_Send" } else { "MPI_Recv" };
    Reason { call, need: Need::All, parts: vec![part] }
}

/// Of a message that was not there.
pub fn of_message(state: &State, call: &'static str, pattern: &pml::Pattern) -> Reason {
    let (peer, tag, context) = (pattern.peer, pattern.tag, pattern.context);
    let part = of_awaited(state, Awaited::Message { peer, tag, context });
    Reason { call, need: Need::All, parts: vec![part] }
}

/// Of `need` of these requests of the program, all of which are active.
pub fn of_requests(
    state: &State,
    call: &'static str,
    need: Need,
    requests: impl IntoIterator<Item = abi::Request>,
) -> Reason {
    let parts = requests.into_iter().flat_map(|request| match RequestKey::of(request) {
        Some(RequestKey::Pml(key)) => vec![of_id(state, ReqId(key))],
        Some(RequestKey::Operation(key)) => {
            let operation = state.requests.get(key);
            if let Some(part) = operation.and_then(|it| it.lacks(state)) {
                return vec![part];
            }
            let needs = operation.map(|it| it.needs()).unwrap_or_default();
            let is_one = operation.is_some_and(|it| it.stands_for().is_some());
            // Where one of several requests is enough, one that needs several messages looks more hopeful than it is.
            let parts = needs.into_iter().map(|id| {
                let part = of_id(state, id);
                // Tags of several are the library's own.
                Part { tag: part.tag.filter(|_| is_one), ..part }
            });
            let parts: Vec<Part> = parts.collect();
            if parts.is_empty() { vec![Part::outside()] } else { parts }
        }
        None => vec![Part::outside()],
    });
    Reason { call, need, parts: parts.collect() }
}

/// Of the ends of all these requests of the message layer.
pub fn of_ids(state: &State, call: &'static str, ids: impl IntoIterator<Item = ReqId>) -> Reason {
    Reason { call, need: Need::All, parts: ids.into_iter().map(|id| of_id(state, id)).collect() }
}

fn of_id(state: &State, id: ReqId) -> Part {
    state.p2p.awaited(id).map_or_else(Part::outside, |awaited| of_awaited(state, awaited))
}

/// Of `need` of these processes, each of which brings it about by its program. `number`: which of its kind in `context` it is, if those
/// who wait for the same one need nothing of each other.
pub fn of_peers(
    state: &State,
    (kind, need): (Kind, Need),
    peers: impl IntoIterator<Item = Peer>,
    (context, number): (u32, Option<u32>),
) -> Reason {
    let peers: Vec<u32> = peers.into_iter().map(|peer| peer.0).collect();
    let part = Part { kind, need, targets: others(state, &peers), tag: None, context, round: number };
    Reason { call: "", need: Need::All, parts: vec![part] }
}

/// What a collective call lacks that this process has begun.
#[derive(Clone, Copy)]
pub enum Lack<'p> {
    /// The next step of this process.
    Step(Peer),
    /// The arrival of those of these processes that have not come to the meeting of this number.
    Arrivals(&'p [u32], u64),
    /// Something of this process itself, or it is not known.
    Unknown,
}

/// Of what the call lacks that has this tag in this context in all its processes.
pub fn of_call(state: &State, (context, tag): (u32, i32), lack: Lack<'_>) -> Part {
    let (targets, round) = match lack {
        Lack::Step(peer) => (one(state, peer), None),
        Lack::Arrivals(peers, number) => (others(state, peers), Some(number as u32)),
        Lack::Unknown => (Targets::Outside, None),
    };
    Part { kind: Kind::Collective, need: Need::All, targets, tag: Some(tag), context, round }
}

/// Of all members of a communicator that are not in the call `number` of its own kind, which none leaves before all are there.
pub fn of_all_members(state: &State, comm: abi::Comm, number: u64) -> Reason {
    let Ok(comm) = state.comm(comm) else { return Reason::outside() };
    let peers = comm.peers.iter().map(|&peer| Peer(peer));
    of_peers(state, (Kind::Collective, Need::All), peers, (comm.context, Some(number as u32)))
}

fn of_awaited(state: &State, awaited: Awaited) -> Part {
    let (kind, peer, tag, context) = match awaited {
        Awaited::Message { peer, tag, context } => (Kind::Receive, peer, tag, context),
        Awaited::Receive { peer, tag, context } => (Kind::Send, Some(peer), tag, context),
    };
    let (need, targets) = match peer {
        Some(peer) => (Need::All, one(state, peer)),
        None => (Need::Any, members(state, context)),
    };
    let tag = (tag != abi::ANY_TAG).then_some(tag);
    Part { kind, need, targets, tag, context, round: None }
}

/// The rank of a process of the own job.
pub fn rank_of(state: &State, peer: Peer) -> Option<u32> {
    state.p2p.peers().own_rank(peer)
}

fn one(state: &State, peer: Peer) -> Targets {
    rank_of(state, peer).map_or(Targets::Outside, Targets::rank)
}

/// The other processes that may send in a context.
fn members(state: &State, context: u32) -> Targets {
    let comm = state.comms.in_context(context);
    comm.map_or(Targets::Outside, |comm| others(state, &comm.peers))
}

/// These peers but this process itself.
fn others(state: &State, peers: &[u32]) -> Targets {
    let ranks: Option<Vec<u32>> = peers.iter().map(|&peer| rank_of(state, Peer(peer))).collect();
    ranks.map_or(Targets::Outside, |ranks| Targets::others(ranks, state.me()))
}
