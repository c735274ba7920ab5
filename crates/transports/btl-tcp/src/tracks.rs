//! What is kept of the rails of a process ([`crate::rails`]).

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use btl::{Peer, Turn};

/// First and longest pause before a rail that is lost is tried again.
pub(crate) const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The longest pause where no other rail leads to the peer.
pub(crate) const LONGEST_AWAY: Duration = Duration::from_secs(2);

/// What is kept of all rails.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    pub(crate) turns: VecDeque<(Peer, u8, Turn)>,
    /// Conversations that are lost: when they are tried again, and the pause after that.
    pub(crate) lost: HashMap<u32, (Instant, Duration)>,
}
