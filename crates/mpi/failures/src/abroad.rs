//! Failures over several jobs: a launcher informs the processes of its own job alone.
//!
//! ```text
//!   a job's launcher ── announces ──► its processes ── Failed ──► those of other jobs that share a communicator with the dead one
//!   a connection with another job's process breaks ─► Failed ──► all that share one with it, its own job's among them
//!                                                                  └─ they accuse it, and its launcher ends it if it lives
//! ```
//! Each passes the word on once. Members of an agreement greet those of other jobs whose reports they wait for, since only a process
//! that is connected with the dead one notices its end.

use std::collections::BTreeSet;

use btl::Peer;
use engine::Process;

use crate::frames::{self, FAILED, GREETING};
use objects::comm::Comm;
use objects::state::State;

/// A failure has become known here: it is passed on to those that their launchers do not inform.
pub fn spread(state: &mut State, failed: Peer) {
    let own = state.p2p.peers().own_size();
    if state.p2p.peers().next().0 == own {
        return;
    }
    let Some(Process { job, rank }) = identity(state, failed) else { return };
    let (me, is_own) = (state.me(), failed.0 < own);
    let concerned = state.comms.iter().filter(|comm| comm.contains(failed));
    let others: BTreeSet<u32> = concerned.flat_map(members).collect();
    let is_informed =
        |&peer: &u32| peer == me || (is_own && peer < own) || state.failures.announced.contains(&Peer(peer));
    let others: Vec<u32> = others.into_iter().filter(|peer| !is_informed(peer)).collect();
    for peer in others {
        frames::send(state, Peer(peer), FAILED, [job, u64::from(rank), 0], Vec::new());
    }
}

/// Another process says that this one has failed.
pub fn hear(state: &mut State, from: Peer, process: Process) {
    let own = state.world.as_ref().map(|world| world.job.job_id);
    let peer = match own == Some(process.job) {
        true => (process.rank < state.p2p.peers().own_size()).then_some(Peer(process.rank)),
        false => state.p2p.peers().find(process),
    };
    let Some(peer) = peer else { return };
    let shares = |comm: &Comm| comm.contains(from) && comm.contains(peer);
    if state.failures.announced.contains(&peer) || !state.comms.iter().any(shares) {
        return;
    }
    match &mut state.world {
        Some(world) if own == Some(process.job) => world.job.accuse(process.rank),
        _ => state.announce(peer),
    }
}

/// Has a connection made with each of these that is of another job.
pub fn greet(state: &mut State, peers: Vec<u32>) {
    let own = state.p2p.peers().own_size();
    for peer in peers.into_iter().filter(|&peer| peer >= own) {
        frames::send(state, Peer(peer), GREETING, [0; 3], Vec::new());
    }
}

fn members(comm: &Comm) -> impl Iterator<Item = u32> + '_ {
    let remote = comm.remote.iter().flat_map(|remote| remote.members());
    comm.group.members().iter().chain(remote).copied()
}

/// What all processes call a process.
pub fn identity(state: &State, peer: Peer) -> Option<Process> {
    let peers = state.p2p.peers();
    match peers.own_rank(peer) {
        Some(rank) => Some(Process { job: state.world.as_ref()?.job.job_id, rank }),
        None => peers.process(peer),
    }
}
