//! Sending frames of the class `Failure`: each is a request that nothing answers.

use std::collections::VecDeque;

use btl::{Class, Peer};
use engine::{Guarded, Head, Refused};
use mem::PeerBytes;

use objects::state::State;

/// Kinds of frames.
pub const REVOKE: u8 = 0;
pub const CONSENSUS: u8 = 1;

/// What waits for room.
struct Unsent {
    to: Peer,
    kind: u8,
    words: [u64; 3],
    bytes: Vec<u8>,
}

static UNSENT: Guarded<VecDeque<Unsent>> = Guarded::new(VecDeque::new());

/// Sends a frame, now or when there is room.
pub fn send(state: &mut State, to: Peer, kind: u8, words: [u64; 3], bytes: Vec<u8>) {
    UNSENT.get_mut(&mut state.tables).push_back(Unsent { to, kind, words, bytes });
    flush(state);
}

/// Sends what waits, as far as there is room.
pub fn flush(state: &mut State) {
    let mut waiting = std::mem::take(UNSENT.get_mut(&mut state.tables));
    waiting.retain(|Unsent { to, kind, words, bytes }| {
        let head = Head { class: Class::Failure, kind: *kind, words };
        state.p2p.request(*to, head, &mut PeerBytes::of(bytes)) == Err(Refused::Busy)
    });
    UNSENT.get_mut(&mut state.tables).append(&mut waiting);
}

/// Nothing more is sent to a peer.
pub fn forget(state: &mut State, peer: Peer) {
    UNSENT.get_mut(&mut state.tables).retain(|unsent| unsent.to != peer);
}
