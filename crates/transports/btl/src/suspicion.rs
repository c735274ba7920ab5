//! What a transport suspects of a peer and cannot know: that the network between the two hosts takes nothing.
//!
//! A transport sees that a peer is silent. Whether the peer's host has died, or the network to it, or whether it is only busy, the
//! launcher finds out: it has a process on each host. So a transport that sees silence reports it early, waits on, and
//! gives the peer up by itself only after its own, longer time.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

use crate::Peer;

/// A peer's host has not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspicion {
    /// The peer.
    pub peer: Peer,
    /// For so long.
    pub silent: Duration,
    /// The user wants the network to have so long at least.
    pub patience: Duration,
    /// Where the peer is reached; the first addresses are tried first.
    pub places: Vec<SocketAddr>,
    /// What a process that calls there sends before it closes the connection: the peer takes it for no stranger's.
    pub greeting: Vec<u8>,
}

/// Takes suspicions, without waiting. One is repeated as long as it lasts, a few times a second at most.
pub trait Suspects: Debug + Send {
    /// A transport suspects this.
    fn suspect(&mut self, suspicion: Suspicion);
}
