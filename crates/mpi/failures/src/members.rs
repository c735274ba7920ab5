//! The processes of a communicator in an order that all of them know.

use btl::Peer;
use objects::comm::Comm;
use objects::state::State;

/// The members of a communicator, as its processes number them for agreements.
pub struct Members {
    /// The peers. Those of an inter-communicator are one group after the other.
    pub peers: Vec<u32>,
    /// Whether this process is of the second group.
    pub is_second: bool,
    /// This process.
    pub me: u32,
}

impl Members {
    /// Those of a communicator.
    pub fn of(state: &State, comm: &Comm) -> Members {
        let (own, me) = (comm.group.members(), state.me());
        let other: &[u32] = comm.remote.as_ref().map_or(&[], |remote| remote.members());
        // Groups of an inter-communicator have no process in common, so their first processes differ.
        let is_second = match (own.first(), other.first()) {
            (Some(&own), Some(&other)) => identity(state, other) < identity(state, own),
            _ => false,
        };
        let (first, second) = if is_second { (other, own) } else { (own, other) };
        let peers: Vec<u32> = first.iter().chain(second).copied().collect();
        let me = peers.iter().position(|&peer| peer == me).unwrap_or(0) as u32;
        Members { is_second, me, peers }
    }

    /// The place of a peer.
    pub fn place(&self, peer: u32) -> Option<u32> {
        self.peers.iter().position(|&member| member == peer).map(|place| place as u32)
    }
}

/// What all processes call a process.
fn identity(state: &State, peer: u32) -> (u64, u32) {
    let own = state.world.as_ref().map_or(0, |world| world.job.job_id);
    match (state.p2p.peers().own_rank(Peer(peer)), state.p2p.peers().process(Peer(peer))) {
        (Some(rank), _) => (own, rank),
        (None, Some(process)) => (process.job, process.rank),
        (None, None) => (u64::MAX, peer),
    }
}
