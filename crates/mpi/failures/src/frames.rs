//! Sending frames of the class `Failure`: each is a request that nothing answers.

use std::collections::{BTreeSet, VecDeque};

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
    keep_refused(&mut waiting, |Unsent { to, kind, words, bytes }| {
        let head = Head { class: Class::Failure, kind: *kind, words };
        state.p2p.request(*to, head, &mut PeerBytes::of(bytes)) == Err(Refused::Busy)
    });
    UNSENT.get_mut(&mut state.tables).append(&mut waiting);
}

/// Keeps what `refuses`, and what is for the same peer behind it: a shorter one might find room, and agreements rely on the order.
fn keep_refused(waiting: &mut VecDeque<Unsent>, mut refuses: impl FnMut(&Unsent) -> bool) {
    let mut full = BTreeSet::new();
    waiting.retain(|unsent| {
        let stays = full.contains(&unsent.to) || refuses(unsent);
        if stays {
            full.insert(unsent.to);
        }
        stays
    });
}

/// Nothing more is sent to a peer.
pub fn forget(state: &mut State, peer: Peer) {
    UNSENT.get_mut(&mut state.tables).retain(|unsent| unsent.to != peer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_to_a_peer_stay_in_order_where_only_short_ones_find_room() {
        let unsent =
            |to, length| Unsent { to: Peer(to), kind: CONSENSUS, words: [0; 3], bytes: vec![0; length] };
        let mut waiting: VecDeque<Unsent> = [unsent(1, 9), unsent(2, 1), unsent(1, 2), unsent(2, 3)].into();
        keep_refused(&mut waiting, |unsent| unsent.bytes.len() > 5);
        let left: Vec<(u32, usize)> =
            waiting.iter().map(|unsent| (unsent.to.0, unsent.bytes.len())).collect();
        assert_eq!(left, [(1, 9), (1, 2)]);
    }
}
