//! Failures over several jobs. The launchers of jobs of which one has spawned the other inform the processes of both; those of jobs that
//! have met in another way inform their own alone.
//!
//! ```text
//!   a job's launcher ── announces ──► its processes ── Failed ──► those of other jobs that they know
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
    let Some(Process { job, rank }) = state.p2p.peers().process(failed) else { return };
    let (me, is_own) = (state.me(), failed.0 < own);
    let concerned = state.comms.iter().filter(|comm| comm.contains(failed));
    let mut others: BTreeSet<u32> =
        concerned.flat_map(|comm| comm.group.members().iter().chain(comm.addressed())).copied().collect();
    if is_own {
        // They may have a communicator with the dead one that this process did not come to make.
        others.extend(state.p2p.others().filter(|&peer| !state.p2p.is_apart(peer)).map(|peer| peer.0));
    }
    let is_informed =
        |&peer: &u32| peer == me || (is_own && peer < own) || state.failures.announced.contains(&Peer(peer));
    let others: Vec<u32> = others.into_iter().filter(|peer| !is_informed(peer)).collect();
    for peer in others {
        frames::send(state, Peer(peer), FAILED, [job, u64::from(rank), 0], Vec::new());
    }
}

/// The process `from` reports that another one has failed: of its own job, or of a communicator with this process.
pub fn hear(state: &mut State, from: Peer, process: Process) {
    let Some(peer) = state.p2p.peers().find(process) else { return };
    let is_of_its_job = state.p2p.peers().process(from).is_some_and(|from| from.job == process.job);
    let shares = |comm: &Comm| comm.contains(from) && comm.contains(peer);
    let may_know = is_of_its_job || state.comms.iter().any(shares);
    if state.failures.announced.contains(&peer) || !may_know {
        return;
    }
    if !state.accuse(peer) {
        state.announce(peer);
    }
}

/// Has a connection made with each of these that is of another job.
pub fn greet(state: &mut State, peers: Vec<u32>) {
    let own = state.p2p.peers().own_size();
    for peer in peers.into_iter().filter(|&peer| peer >= own) {
        frames::send(state, Peer(peer), GREETING, [0; 3], Vec::new());
    }
}
