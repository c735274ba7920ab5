//! Which communicators have a shared area: those whose processes are on one node.

use abi::Result;
use btl::Peer;
use node::{AreaName, NodeArea, SegmentTicket};

use super::kept;
use super::state::Turns;
use objects::comm::Comm;
use objects::domain::Token;
use objects::state::State;

/// Gives `MPI_COMM_WORLD` the node's first area, if all its processes are here.
pub fn open_world_area(state: &mut State) {
    open_area(state, abi::COMM_WORLD, AreaName { number: 0, base: 0 });
}

fn open_area(state: &mut State, comm: abi::Comm, name: AreaName) {
    let me = btl::Peer(state.me());
    let State { tables, comms, node, params, .. } = state;
    let Ok(comm) = comms.get_mut(comm) else { return };
    let node = node.as_ref().filter(|_| params.tuned.areas);
    let members: Vec<btl::Peer> = comm.peers.iter().map(|&peer| btl::Peer(peer)).collect();
    if members.len() > 1 {
        let kept = kept::of(tables, comm);
        kept.area = node.and_then(|node| node.area(name, &members, me)).map(Box::new);
        kept.turns = Turns::of(&kept.area);
    }
}

/// What all processes of a communicator can do, some of them can do too. What two of them are bound to may not be known.
fn inherit_vote(state: &mut State, comm: abi::Comm, of: abi::Comm) -> Result<()> {
    let from = state.comm(of)?;
    let Some(all) = kept::at(&state.tables, from.slot) else { return Ok(()) };
    let part = state.comm(comm)?;
    if all.direct == Some(true) && (part.size() == from.size() || part.size() > 2) {
        let (direct, near) = (all.direct, all.near);
        let localities = super::localities::inherited(&all.localities, from, part);
        let kept = kept::find(state, comm)?;
        (kept.direct, kept.near, kept.localities) = (direct, near, localities);
    }
    Ok(())
}

/// Whether all processes of an intra-communicator are on this node and could share an area.
pub(super) fn may_share(state: &State, comm: &Comm) -> bool {
    let Some(node) = state.node.as_ref().filter(|_| state.params.tuned.areas) else { return false };
    let me = state.me();
    let here = |&peer: &u32| peer == me || node.reaches(btl::Peer(peer));
    !comm.is_inter() && comm.size() > 1 && comm.peers.iter().all(here)
}

/// Gives a new communicator an area, if its processes are on one node and one is free. All of them call this, and all or
/// none of them know an intra-communicator `of`, to which they belong.
pub fn share(t: &mut Token, comm: abi::Comm, of: Option<abi::Comm>) -> Result<()> {
    let leads = {
        let state = t.lock();
        let found = state.comm(comm)?;
        if !may_share(&state, found) {
            return Ok(());
        }
        (found.rank == 0).then(|| found.size())
    };
    let claimed = leads.and_then(|size| t.lock().node.as_ref().and_then(|node| node.claim_area(size)));
    let mut words = claimed.map_or([0, 0], |name| [name.number as u64, name.base]);
    super::share_words(t, comm, 0, &mut words)?;
    if words[0] != 0 {
        let mut state = t.lock();
        open_area(&mut state, comm, AreaName { number: words[0] as usize, base: words[1] });
        if let Some(of) = of {
            inherit_vote(&mut state, comm, of)?;
        }
    }
    Ok(())
}

/// An area for the rounds of one persistent collective, which come in an order of their own: all processes of the communicator
/// are here in the same call. `None`: one of them has no memory for it.
pub(super) fn own_area(t: &mut Token, comm: abi::Comm) -> Result<Option<Box<NodeArea>>> {
    let (node, members, me, leads) = {
        let state = t.lock();
        let found = state.comm(comm)?;
        let Some(node) = state.node.clone() else { return Ok(None) };
        let members: Vec<Peer> = found.peers.iter().map(|&peer| Peer(peer)).collect();
        (node, members, Peer(state.me()), found.rank == 0)
    };
    let most = t.lock().params.tuned.persistent_areas;
    let made = if leads { node.create_area(&members, me, most) } else { None };
    let mut words = made.as_ref().map_or([0; 4], |(_, ticket)| ticket.words());
    super::share_words(t, comm, 0, &mut words)?;
    let joined = match made {
        Some((area, _)) => Some(area),
        None => SegmentTicket::from_words(words)
            .filter(|_| words != [0; 4])
            .and_then(|ticket| node.join_area(members[0], &ticket, &members, me)),
    };
    let all = super::smallest(t, comm, u64::from(joined.is_some()))?;
    Ok(joined.filter(|_| all == 1).map(|mut area| {
        area.close();
        Box::new(area)
    }))
}
