//! What this process knows of failures in a communicator, and what the program has acknowledged.

use std::sync::Arc;

use abi::{Error, Result};

use objects::comm::Comm;
use objects::domain::Token;
use objects::group::Group;
use objects::state::State;
use objects::wait::make_progress;

/// `MPIX_Comm_get_failed`: a group that later ones begin with.
pub fn get_failed(t: &mut Token, comm: abi::Comm, group: &mut abi::Group) -> Result<()> {
    make_progress(t);
    let mut state = t.lock();
    let failed = state.failed_in(state.comm(comm)?);
    *group = group_of(&mut state, failed)?;
    Ok(())
}

/// `MPIX_Comm_ack_failed`: acknowledges the first `count` of them; gives how many are acknowledged then.
pub fn ack_failed(t: &mut Token, comm: abi::Comm, count: i32, acknowledged: &mut i32) -> Result<()> {
    let count =
        usize::try_from(count).map_err(|_| Error::new(abi::ERR_ARG, "the number of failures is negative"))?;
    make_progress(t);
    let mut state = t.lock();
    let known = state.failed_in(state.comm(comm)?).len();
    let comm = state.comms.get_mut(comm)?;
    comm.acknowledged = comm.acknowledged.max(count.min(known));
    *acknowledged = comm.acknowledged as i32;
    Ok(())
}

/// `MPIX_Comm_failure_ack`: acknowledges all that are known.
pub fn failure_ack(t: &mut Token, comm: abi::Comm) -> Result<()> {
    ack_failed(t, comm, i32::MAX, &mut 0)
}

/// `MPIX_Comm_failure_get_acked`: those that are acknowledged.
pub fn failure_get_acked(t: &mut Token, comm: abi::Comm, group: &mut abi::Group) -> Result<()> {
    let mut state = t.lock();
    let failed = acknowledged_in(&state, state.comm(comm)?);
    *group = group_of(&mut state, failed)?;
    Ok(())
}

/// The failed members of a communicator that the program has acknowledged.
pub(crate) fn acknowledged_in(state: &State, comm: &Comm) -> Vec<u32> {
    let mut failed = state.failed_in(comm);
    failed.truncate(comm.acknowledged);
    failed
}

fn group_of(state: &mut State, peers: Vec<u32>) -> Result<abi::Group> {
    let me = state.me();
    state.groups.add(Arc::new(Group::new(peers.into(), me)))
}
