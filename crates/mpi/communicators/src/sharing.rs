//! What `MPI_COMM_TYPE_SHARED` promises (MPI-5.0 section 7.4.2): the processes of the new communicator can share memory.
//!
//! That they are on one node is not enough: the system may have no more memory for it, or not let one open what another
//! has. So those of a node try it, as a shared window does: the first makes a page and the others map it. Those that
//! could not try among themselves, and a process with which none shares is alone.

use abi::Result;
use btl::Peer;
use node::{SegmentTicket, SharedSegment};

use super::create::{let_go, split_by};
use super::inter::union;
use collectives::{gather_words, share_words};
use objects::domain::Token;
use objects::state::State;

/// The colour of this process's node; one of its own for a process that shares nothing.
pub(super) fn colour(state: &State) -> i32 {
    if state.node.is_some() { state.node() } else { i32::MAX - state.me() as i32 }
}

/// The colour of this process where an inter-communicator is split: the place, among all processes of both groups, of the
/// first one that it shares memory with. `node` is the colour of its node; `MPI_UNDEFINED`: it takes part for others, and
/// has none. Collective over both groups.
pub(super) fn colour_between(t: &mut Token, comm: abi::Comm, node: i32) -> Result<Option<i32>> {
    let mut all = union(t, comm, 0)?;
    let place = place_of_first(t, all, node);
    let_go(t, &mut all)?;
    place
}

fn place_of_first(t: &mut Token, all: abi::Comm, node: i32) -> Result<Option<i32>> {
    let part = split_by(t, all, node, 0)?;
    if part == abi::COMM_NULL {
        return Ok(None);
    }
    let mut part = narrow(t, part)?;
    let place = {
        let state = t.lock();
        let first = state.comm(part)?.group.members()[0];
        state.comm(all)?.group.members().iter().position(|&peer| peer == first)
    };
    let_go(t, &mut part)?;
    Ok(place.map(|place| place as i32))
}

/// The part of a new communicator of one colour that shares memory with this process. The communicator goes if it is
/// larger.
pub(super) fn narrow(t: &mut Token, mut comm: abi::Comm) -> Result<abi::Comm> {
    loop {
        let (rank, size) = {
            let state = t.lock();
            let comm = state.comm(comm)?;
            (comm.rank, comm.size())
        };
        if size == 1 {
            return Ok(comm);
        }
        // The page stays until all have tried.
        let page = try_page(t, comm, rank)?;
        let shares = page.is_some() || rank == 0;
        let all = gather_words(t, comm, &[u64::from(page.is_some())])?;
        drop(page);
        if all.iter().all(|&one| one == 1) {
            return Ok(comm);
        }
        let part = split_by(t, comm, i32::from(!shares), rank as i32);
        let_go(t, &mut comm)?;
        comm = part?;
        if shares {
            return Ok(comm);
        }
    }
}

/// The page that the first one makes, where this process has it.
fn try_page(t: &mut Token, comm: abi::Comm, rank: u32) -> Result<Option<SharedSegment>> {
    let node = t.lock().node.clone();
    let made = node.as_ref().filter(|_| rank == 0).and_then(|node| node.create_segment(1, 0).ok());
    let mut words = made.as_ref().and_then(SharedSegment::ticket).map_or([0; 4], |ticket| ticket.words());
    share_words(t, comm, 0, &mut words)?;
    let first = Peer(t.lock().comm(comm)?.group.members()[0]);
    let mapped = || {
        let ticket = SegmentTicket::from_words(words)?;
        node.filter(|node| node.reaches(first))?.map_segment(first, &ticket).ok()
    };
    Ok(if rank == 0 { made } else { mapped() })
}
