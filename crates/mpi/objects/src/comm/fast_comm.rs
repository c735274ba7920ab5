//! What the fast paths of point-to-point calls want to know of a communicator, in the form in which they want it.

use std::sync::Arc;

use pml::Origin;

/// A part of a communicator, kept apart where one load fewer counts.
pub struct FastComm {
    /// The peer behind each rank that a call may name.
    pub peers: Arc<[u32]>,
    /// What all messages begin with.
    pub origin: Origin,
}

impl FastComm {
    /// What no communicator has: no rank is right.
    pub fn none() -> FastComm {
        FastComm { peers: Arc::new([]), origin: Origin::new(0, 0) }
    }

    /// Whether it names no rank, so that nothing in it need be right.
    pub fn is_none(&self) -> bool {
        self.peers.is_empty()
    }

    /// That of the process `rank`, with the peers that its calls may name.
    pub fn new(peers: &Arc<[u32]>, context: u32, rank: u32) -> FastComm {
        FastComm { peers: peers.clone(), origin: Origin::new(context, rank) }
    }
}
