//! Processes of other jobs part: by `MPI_Comm_disconnect`, and at the end.

use abi::{Error, Result};
use btl::Peer;
use collectives::Mode;
use objects::comm::Comm;
use objects::domain::Token;
use objects::state::State;
use pmi::launch::Launched;

use crate::table::TABLE;

/// `MPI_Comm_disconnect`: as free, after everything pending is over. Jobs that have nothing in common any more part.
pub fn disconnect(t: &mut Token, comm: &mut abi::Comm) -> Result<()> {
    if matches!(*comm, abi::COMM_WORLD | abi::COMM_SELF) {
        return Err(Error::new(abi::ERR_COMM, "a predefined communicator cannot be disconnected"));
    }
    collectives::barrier(t, Mode::Own, *comm)?;
    communicators::let_go(t, comm)?;
    release(t, is_parted);
    part(&mut t.lock());
    Ok(())
}

/// Parts from processes of other jobs with which this one has nothing in common any more.
fn part(state: &mut State) {
    let others: Vec<Peer> = state.p2p.others().collect();
    for peer in others {
        if !is_in_use(state, |&other| other == peer.0) {
            state.p2p.part_from(peer);
        }
    }
}

/// Whether a communicator or a window of this process contains such a peer.
fn is_in_use(state: &State, is_such: impl Fn(&u32) -> bool) -> bool {
    let windows = windows::WINDOWS.get(&state.tables);
    state.comms.iter().any(|comm| has(comm, &is_such))
        || windows.iter().any(|window| window.group.members().iter().any(&is_such))
}

/// Whether such a peer is in one of a communicator's groups.
fn has(comm: &Comm, is_such: impl Fn(&u32) -> bool) -> bool {
    comm.addressed().iter().chain(comm.group.members()).any(is_such)
}

/// Waits for all processes that this one is still connected with, in `MPI_Finalize`.
pub fn finalize(t: &mut Token) {
    let mut waits: Vec<abi::Request> = Vec::new();
    let connected = connected(&t.lock());
    for comm in connected {
        let mut request = abi::REQUEST_NULL;
        if collectives::barrier(t, Mode::Nonblocking(&mut request), comm).is_ok() {
            waits.push(request);
        }
    }
    for mut request in waits {
        // A process that is lost is not waited for.
        let _ = messages::request::wait(t, &mut request, None);
    }
    crate::names::forget_all(t);
    TABLE.get_mut(&mut t.lock().tables).ports.clear();
    release(t, |_, _| true);
}

/// Communicators with processes of other jobs, in the order of their contexts, which is the same for all of them.
fn connected(state: &State) -> Vec<abi::Comm> {
    let own = state.p2p.peers().own_size();
    let has_others = |comm: &&Comm| has(comm, |&peer| peer >= own);
    let mut found: Vec<&Comm> = state.comms.iter().filter(has_others).collect();
    found.sort_by_key(|comm| comm.context);
    found.into_iter().map(|comm| comm.handle).collect()
}

/// Whether nothing of this process contains a process of `job`.
fn is_parted(state: &State, job: u64) -> bool {
    let peers = state.p2p.peers();
    !is_in_use(state, |&peer| peers.process(Peer(peer)).is_some_and(|process| process.job == job))
}

/// Lets jobs that this process has had started, and that are over for it, live on.
fn release(t: &mut Token, is_over: fn(&State, u64) -> bool) {
    let released: Vec<Launched> = {
        let mut state = t.lock();
        let launched = std::mem::take(&mut TABLE.get_mut(&mut state.tables).launched);
        let (over, kept): (Vec<_>, Vec<_>) = launched.into_iter().partition(|&(job, _)| is_over(&state, job));
        TABLE.get_mut(&mut state.tables).launched = kept;
        over.into_iter().map(|(_, launched)| launched).collect()
    };
    released.into_iter().for_each(Launched::release);
}

/// More processes than processors may be on this host now: then waiting must not spin.
pub(crate) fn settle_waiting(state: &mut State) {
    let Some(world) = &state.world else { return };
    let here = world.job.local_ranks.len();
    let met = state.p2p.peers().next().0 - state.p2p.peers().own_size();
    // Where those of other jobs are is not known; one host is the usual case.
    if here + met as usize > platform::processor::allowed().len() {
        state.params.settle(true);
    }
}
