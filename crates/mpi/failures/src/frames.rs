//! Sending frames of the class `Failure`: each is a request that nothing answers. A message longer than a frame leaves in parts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use btl::{Class, Peer};
use engine::{Guarded, Head, Refused};
use mem::PeerBytes;

use objects::state::State;

/// Kinds of frames.
pub const REVOKE: u8 = 0;
pub const CONSENSUS: u8 = 1;
/// A part of a message, and not the last one.
pub const PART: u8 = 2;
/// A process has failed.
pub const FAILED: u8 = 3;
/// Carries nothing: sending it connects the two processes.
pub const GREETING: u8 = 4;

/// What waits for room.
struct Unsent {
    to: Peer,
    kind: u8,
    words: [u64; 3],
    bytes: Vec<u8>,
    /// So many of them have left.
    gone: usize,
}

static UNSENT: Guarded<VecDeque<Unsent>> = Guarded::new(VecDeque::new());

/// Parts of messages that have arrived, by their senders.
static PARTS: Guarded<BTreeMap<Peer, Vec<u8>>> = Guarded::new(BTreeMap::new());

/// Sends a message, now or when there is room.
pub fn send(state: &mut State, to: Peer, kind: u8, words: [u64; 3], bytes: Vec<u8>) {
    UNSENT.get_mut(&mut state.tables).push_back(Unsent { to, kind, words, bytes, gone: 0 });
    flush(state);
}

/// Sends what waits, as far as there is room.
pub fn flush(state: &mut State) {
    let mut waiting = std::mem::take(UNSENT.get_mut(&mut state.tables));
    let p2p = &mut state.p2p;
    keep_refused(&mut waiting, |unsent| {
        let most = p2p.most(unsent.to);
        let (to, words) = (unsent.to, unsent.words);
        unsent.send_parts(most, |kind, part| {
            let head = Head { class: Class::Failure, kind, words: &words };
            p2p.request(to, head, &mut PeerBytes::of(part)) != Err(Refused::Busy)
        })
    });
    UNSENT.get_mut(&mut state.tables).append(&mut waiting);
}

impl Unsent {
    /// Sends what is left, at most so many bytes at a time, until `takes` refuses a part; whether it did.
    fn send_parts(&mut self, most: usize, mut takes: impl FnMut(u8, &[u8]) -> bool) -> bool {
        loop {
            let rest = &self.bytes[self.gone..];
            let is_last = rest.len() <= most;
            let (kind, length) = if is_last { (self.kind, rest.len()) } else { (PART, most) };
            if !takes(kind, &rest[..length]) {
                return true;
            }
            if is_last {
                return false;
            }
            self.gone += length;
        }
    }
}

/// Keeps what `refuses`, and what is for the same peer behind it: a shorter one might find room, and agreements rely on the order.
fn keep_refused(waiting: &mut VecDeque<Unsent>, mut refuses: impl FnMut(&mut Unsent) -> bool) {
    let mut full = BTreeSet::new();
    waiting.retain_mut(|unsent| {
        let stays = full.contains(&unsent.to) || refuses(unsent);
        if stays {
            full.insert(unsent.to);
        }
        stays
    });
}

/// A part has arrived. No honest process sends more than `most` bytes in parts: such a message is given up.
pub fn keep_part(state: &mut State, from: Peer, part: &[u8], most: usize) {
    let parts = PARTS.get_mut(&mut state.tables).entry(from).or_default();
    if parts.len() + part.len() <= most {
        parts.extend_from_slice(part);
    }
}

/// The whole message that ends with this part.
pub fn complete(state: &mut State, from: Peer, last: Vec<u8>) -> Vec<u8> {
    match PARTS.get_mut(&mut state.tables).remove(&from) {
        Some(mut whole) => {
            whole.extend(last);
            whole
        }
        None => last,
    }
}

/// Nothing more is sent to a peer, or comes from it.
pub fn forget(state: &mut State, peer: Peer) {
    UNSENT.get_mut(&mut state.tables).retain(|unsent| unsent.to != peer);
    PARTS.get_mut(&mut state.tables).remove(&peer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(to: u32, length: usize) -> Unsent {
        let bytes = (0..length).map(|byte| byte as u8).collect();
        Unsent { to: Peer(to), kind: CONSENSUS, words: [0; 3], bytes, gone: 0 }
    }

    #[test]
    fn frames_to_a_peer_stay_in_order_where_only_short_ones_find_room() {
        let mut waiting: VecDeque<Unsent> = [unsent(1, 9), unsent(2, 1), unsent(1, 2), unsent(2, 3)].into();
        keep_refused(&mut waiting, |unsent| unsent.bytes.len() > 5);
        let left: Vec<(u32, usize)> =
            waiting.iter().map(|unsent| (unsent.to.0, unsent.bytes.len())).collect();
        assert_eq!(left, [(1, 9), (1, 2)]);
    }

    #[test]
    fn a_long_message_leaves_in_parts_whatever_room_there_is() {
        for (length, most, lengths) in [(0, 4, vec![0]), (4, 4, vec![4]), (9, 4, vec![4, 4, 1])] {
            let (mut message, mut sent, mut asked) = (unsent(1, length), Vec::new(), 0);
            // Every second part is refused at first.
            while message.send_parts(most, |kind, part| {
                asked += 1;
                let takes = asked % 2 == 0;
                if takes {
                    sent.push((kind, part.to_vec()));
                }
                takes
            }) {}
            let (kinds, parts): (Vec<u8>, Vec<Vec<u8>>) = sent.into_iter().unzip();
            assert_eq!(parts.concat(), message.bytes);
            assert!(parts.iter().map(Vec::len).eq(lengths));
            let last = kinds.iter().position(|&kind| kind == CONSENSUS);
            assert_eq!(last, Some(kinds.len() - 1));
        }
    }
}
