//! What `MPI_COMM_TYPE_SHARED` promises (MPI-5.0 section 7.4.2): the processes of the new communicator can share memory.
//!
//! That they are on one node is not enough: the system may have no more memory for it, or not let one open what another
//! has. So those of a node try it, as a shared window does: the first makes a page and the others map it. Those that
//! could not try among themselves, and a process with which none shares is alone.

use abi::Result;
use btl::Peer;
use node::{SegmentTicket, SharedSegment};

use super::create::{free_inner, split_by};
use collectives::{gather_words, share_words};
use objects::domain::Token;
use objects::state::State;

/// The colour of this process's node; one of its own for a process that shares nothing.
pub(super) fn colour(state: &State) -> i32 {
    if state.node.is_some() { state.node() } else { i32::MAX - state.me() as i32 }
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
        free_inner(t, comm);
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
