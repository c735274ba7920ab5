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
            (Some(&own), Some(&other)) => {
                let process = |peer| state.p2p.peers().process(Peer(peer));
                process(other) < process(own)
            }
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
