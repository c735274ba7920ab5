//! Which communicators have a shared area: those whose processes are on one node.

use abi::Result;
use btl::Peer;
use node::AreaName;

use super::kept;
use super::select::may_share;
use super::state::Turns;
use objects::domain::Token;
use objects::state::State;

/// Gives `MPI_COMM_WORLD` the node's first area, if all its processes are here.
pub fn open_world_area(state: &mut State) {
    open_area(state, abi::COMM_WORLD, AreaName { number: 0, base: 0 });
}

fn open_area(state: &mut State, comm: abi::Comm, name: AreaName) {
    let me = Peer(state.me());
    let State { tables, comms, node, params, .. } = state;
    let Ok(comm) = comms.get_mut(comm) else { return };
    let node = node.as_ref().filter(|_| params.tuned.areas);
    let members: Vec<Peer> = comm.addressed().iter().map(|&peer| Peer(peer)).collect();
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

/// An area for the members of a communicator, if one is free.
fn claim(state: &State, members: &[Peer]) -> Option<AreaName> {
    let node = state.node.as_ref()?;
    if state.failures.any {
        node.release_areas_of_the_dead();
    }
    node.claim_area(members)
}

/// Gives a new communicator an area, if its processes are on one node and one is free; where none is, they make one in memory of its own
/// once they have called often. All of them call this, and all or none of them know an intra-communicator `of`, to which they belong.
pub fn share(t: &mut Token, comm: abi::Comm, of: Option<abi::Comm>) -> Result<()> {
    let leads = {
        let state = t.lock();
        let found = state.comm(comm)?;
        if !may_share(&state, found) {
            return Ok(());
        }
        let members = || found.addressed().iter().map(|&peer| Peer(peer)).collect::<Vec<_>>();
        (found.rank == 0).then(members)
    };
    let claimed = leads.and_then(|members| claim(&t.lock(), &members));
    let mut words = claimed.map_or([0, 0], |name| [name.number as u64, name.base]);
    super::share_words(t, comm, 0, &mut words)?;
    let mut state = t.lock();
    if words[0] == 0 {
        kept::find(&mut state, comm)?.wants_area = true;
        return Ok(());
    }
    open_area(&mut state, comm, AreaName { number: words[0] as usize, base: words[1] });
    of.map_or(Ok(()), |of| inherit_vote(&mut state, comm, of))
}
