//! The shared area of a communicator whose processes are on one node: what `coll::shared` promises, over the
//! slots of the node's segment.

use abi::{Error, Result};
use coll::schedule::{Slot, Wake};
use coll::shared::SLOT_PAYLOAD;
use mem::UserMem;
use node::{AreaName, NodeArea};
use pml::Data;
use shm::area::Owner;

use super::kept;
use super::turns::Turns;
use objects::comm::Comm;
use objects::domain::Token;
use objects::state::State;

const _: () = {
    assert!(SLOT_PAYLOAD == shm::area::PAYLOAD && coll::shared::DEPTH == shm::area::DEPTH);
    assert!(coll::shared::SHORT == shm::area::SHORT && coll::shared::MEDIUM == shm::area::MEDIUM);
    assert!(
        coll::shared::BOUNCE_BUFFERS == shm::area::BOUNCE_BUFFERS[0]
            && coll::shared::BOUNCE_BYTES == shm::area::BOUNCE_BYTES
    );
};

/// Room for `bytes` bytes of payload of a slot, which the caller may write or read now: in the slot, or in its owner's
/// bounce buffer.
#[inline(always)]
pub(super) fn payload(area: &mut NodeArea, owner: Owner, epoch: u64, bytes: usize) -> UserMem {
    area.payload(owner, epoch, bytes, bytes > SLOT_PAYLOAD)
}

/// Whether a slot with `bytes` bytes of payload may be written; if not, this process is woken when that may have
/// changed.
#[inline(always)]
pub(super) fn has_room(area: &mut NodeArea, epoch: u64, bytes: usize) -> bool {
    if bytes > SLOT_PAYLOAD {
        area.has_bounce(epoch) && area.has_room(epoch, 0)
    } else {
        area.has_room(epoch, bytes)
    }
}

/// Writes so many bytes of `data` into a slot and wakes members by `wake`. `false`: the slot is still in use.
pub(super) fn publish(
    area: &mut NodeArea,
    slot: Slot,
    epoch: u64,
    (data, bytes): (Data, usize),
    wake: Wake,
) -> bool {
    if !has_room(area, epoch, bytes) {
        return false;
    }
    let owner = match slot {
        Slot::Of(_) => area.own(),
        Slot::Flag => Owner::Flag,
    };
    fill(payload(area, owner, epoch, bytes).part(0, bytes), data);
    announce(area, owner, epoch, &[], wake)
}

/// Writes all of `data` into room of that length.
pub(super) fn fill(room: UserMem, data: Data) {
    match data {
        Data::Contiguous(memory) => {
            memory.copy_to(room);
        }
        Data::Typed(mut stream) => {
            stream.fill(room.as_space());
        }
    }
}

/// Copies what a slot holds into `data` of that length.
pub(super) fn drain(slot: UserMem, data: Data) {
    match data {
        Data::Contiguous(memory) => {
            slot.copy_to(memory);
        }
        Data::Typed(mut stream) => {
            stream.drain(slot.as_bytes());
        }
    }
}

/// Publishes where a buffer of this process is. `false`: the slot is still in use.
pub(super) fn expose(area: &mut NodeArea, epoch: u64, data: Data, wake: Wake) -> Result<bool> {
    let Data::Contiguous(memory) = data else { return Err(NOT_ONE_RUN) };
    let own = area.own();
    Ok(announce(area, own, epoch, &[memory.address() as u64, memory.len() as u64], wake))
}

/// Publishes a slot that begins with these words and wakes members by `wake`. `false`: the slot is still in use.
pub(super) fn announce(area: &mut NodeArea, owner: Owner, epoch: u64, words: &[u64], wake: Wake) -> bool {
    if !area.has_room(epoch, 0) {
        return false;
    }
    area.slots().publish(owner, epoch, words);
    match wake {
        Wake::One(member) => area.ring(member as usize),
        Wake::All => area.ring_all(),
        Wake::None => {}
    }
    true
}

/// Once a slot carries `epoch`, copies its payload to the data of `into`, as many bytes as that gives; whether it does.
pub(super) fn observe(
    area: &mut NodeArea,
    slot: Slot,
    epoch: u64,
    into: impl FnOnce() -> Result<(Data, usize)>,
) -> Result<bool> {
    let owner = match slot {
        Slot::Of(member) => Owner::Member(member as usize),
        Slot::Flag => Owner::Flag,
    };
    if !area.slots().carries(owner, epoch) {
        return Ok(false);
    }
    let (data, bytes) = into()?;
    drain(payload(area, owner, epoch, bytes).part(0, bytes), data);
    Ok(true)
}

/// Copies from the buffer that `owner` exposed, `offset` bytes from its start, what fits `into`.
pub(super) fn get(
    area: &mut NodeArea,
    (owner, peer): (u32, btl::Peer),
    epoch: u64,
    offset: i64,
    into: Data,
) -> Result<()> {
    let Data::Contiguous(into) = into else { return Err(NOT_ONE_RUN) };
    let mut words = [0; 2];
    if !area.slots().observe(Owner::Member(owner as usize), epoch, &mut words) {
        return Err(Error::new(abi::ERR_INTERN, "a buffer was read before its owner exposed it"));
    }
    let [address, bytes] = words;
    let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(into.len() as u64));
    if end.is_none_or(|end| end > bytes) {
        return Err(Error::new(
            abi::ERR_TRUNCATE,
            "a process gave less data to a collective than others expect",
        ));
    }
    let refused = Error::new(abi::ERR_OTHER, "the memory of a process of this node cannot be read any more");
    area.node().read(peer, address.wrapping_add_signed(offset), into).map_err(|_| refused)
}

const NOT_ONE_RUN: Error = Error::new(abi::ERR_INTERN, "a buffer with holes was to be read directly");

/// The answer where a schedule wants an area that the communicator does not have.
pub(super) const NONE: Error = Error::new(abi::ERR_INTERN, "the communicator has no shared area");

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
fn may_share(state: &State, comm: &Comm) -> bool {
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

/// Whether all processes of a communicator can read each other's memory, and what they are bound to: asked by all of them
/// together, once.
pub(super) fn vote_on_direct(t: &mut Token, comm: abi::Comm) -> Result<()> {
    let able = {
        let mut state = t.lock();
        let me = state.me();
        let State { tables, comms, node, .. } = &mut *state;
        let found = comms.get_mut(comm)?;
        // Until the vote is over nothing is read directly, the vote itself included.
        kept::of(tables, found).direct = Some(false);
        node.as_ref()
            .is_some_and(|node| found.peers.iter().all(|&peer| peer == me || node.can_read(btl::Peer(peer))))
    };
    let all_able = super::smallest(t, comm, u64::from(able))? == 1;
    let (near, localities) = super::localities::gather(t, comm)?;
    let mut state = t.lock();
    let kept = kept::find(&mut state, comm)?;
    (kept.direct, kept.near, kept.localities) = (Some(all_able), near, localities);
    kept.fast_paths.forget();
    Ok(())
}
