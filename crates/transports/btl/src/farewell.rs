//! Goodbyes: a process that leaves announces it to its peers, and its end is no loss for them afterwards.
//!
//! ```text
//!   the process that leaves                         a peer
//!     all that it sent is on its way
//!     ── goodbye (turn 1) ─────────────────────────►  notes it
//!     owes nothing any more ([`Btl::owes`]); may end
//!                                                     PeerLost: it had left, so nothing is missing
//!     ── here again (turn 2) ──────────────────────►  its end would be a loss again
//! ```
//!
//! Programs with sessions leave and come back; the two words are numbered, since frames of a peer may overtake each other:
//! the highest number counts, an odd one is a goodbye. Only peers that would miss the process ([`Btl::would_miss`]) get
//! one, so a goodbye makes no connection.
//!
//! A peer that has left may come back, and may have done so already. So returns are reported to it, too, and it gets goodbyes,
//! and all that was sent to it, where that takes no turns of it ([`Btl::reaches_away`]).

use std::collections::HashMap;

use crate::{Arrival, Btl, Class, Peer};
use mem::UserMem;

/// The peers that got a goodbye of this process, and those whose goodbye came.
#[derive(Debug, Default)]
pub struct Farewells {
    /// Counts the times that this process left and came back; odd: it has left.
    turn: u64,
    /// The turn that was sent to each peer last.
    told: HashMap<Peer, u64>,
    /// The highest turn that came from each peer.
    heard: HashMap<Peer, u64>,
}

/// Bits of a frame's word below the turn: class and kind.
const TURN: u32 = 8;

impl Farewells {
    /// This process leaves, unless it has: [`Farewells::advance`] sends the goodbyes.
    pub fn leave(&mut self) {
        self.turn |= 1;
    }

    /// This process is there again, if it had left.
    pub fn come_back(&mut self) {
        self.turn += self.turn % 2;
    }

    /// Whether this process leaves or has left.
    pub fn is_away(&self) -> bool {
        self.turn % 2 == 1
    }

    /// Sends the peers below `count` what they do not know yet, as far as there is room. Whether all know.
    pub fn advance<B: Btl>(&mut self, btl: &mut B, count: u32) -> bool {
        let (turn, is_away) = (self.turn, self.is_away());
        if turn == 0 {
            return true;
        }
        let mut all_know = true;
        for peer in (0..count).map(Peer) {
            // A peer that got no goodbye need not learn that it is over.
            let known = self.told.get(&peer).copied().unwrap_or(if is_away { 0 } else { turn });
            if known == turn || !btl.reaches(peer) || !btl.would_miss(peer) {
                continue;
            }
            let has_left = self.has_left(peer);
            if has_left && is_away && !btl.reaches_away(peer) {
                continue;
            }
            let word = u64::from(Class::Farewell.byte(0)) | turn << TURN;
            let mut nothing = UserMem::EMPTY;
            match btl.send(peer, &[word], &mut nothing) {
                Ok(()) => drop(self.told.insert(peer, turn)),
                // There need not be room at one that is not there.
                Err(_) => all_know &= has_left,
            }
        }
        all_know
    }

    /// Whether this process may end: the peers below `count` know what [`Farewells::advance`] had to send, and all that
    /// was sent reaches those that are still there, or that can be reached all the same.
    pub fn may_end<B: Btl>(&mut self, btl: &mut B, count: u32) -> bool {
        self.advance(btl, count) && !self.owes(btl, count)
    }

    /// Whether all that was sent has left as far as this process's work is concerned, or waits for peers alone that have left: one that
    /// has ended since acknowledges nothing.
    pub fn is_flushed<B: Btl>(&self, btl: &B, count: u32) -> bool {
        btl.is_flushed() || !self.owes(btl, count)
    }

    /// Whether a peer below `count` is to get something yet that is still there, or that can be reached all the same.
    fn owes<B: Btl>(&self, btl: &B, count: u32) -> bool {
        let takes = |peer| !self.has_left(peer) || btl.reaches_away(peer);
        (0..count).map(Peer).any(|peer| btl.reaches(peer) && takes(peer) && btl.owes(peer))
    }

    /// Takes a frame of [`Class::Farewell`].
    pub fn accept(&mut self, arrival: &Arrival) {
        let turn = arrival.header.word(0) >> TURN;
        let heard = self.heard.entry(arrival.peer).or_default();
        *heard = (*heard).max(turn);
    }

    /// `peer` is another process from now on, or none.
    pub fn forget(&mut self, peer: Peer) {
        self.told.remove(&peer);
        self.heard.remove(&peer);
    }

    /// Whether the goodbye of `peer` came and it is not back.
    pub fn has_left(&self, peer: Peer) -> bool {
        self.heard.get(&peer).is_some_and(|turn| turn % 2 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::PeerBytes;

    /// Words may overtake each other: the highest turn counts.
    #[test]
    fn late_words_do_not_count() {
        let mut farewells = Farewells::default();
        for (turn, has_left) in
            [(1, true), (2, false), (5, true), (4, true), (3, true), (6, false), (1, false)]
        {
            let word = [u64::from(Class::Farewell.byte(0)) | turn << TURN];
            let bytes: Vec<u8> = word.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let header = PeerBytes::of(Vec::leak(bytes));
            farewells.accept(&Arrival { peer: Peer(3), header, payload: PeerBytes::of(&[]), token: 0 });
            assert_eq!(farewells.has_left(Peer(3)), has_left, "turn {turn}");
            assert!(!farewells.has_left(Peer(4)));
        }
    }

    #[test]
    fn leaving_twice_is_leaving_once() {
        let mut farewells = Farewells::default();
        farewells.come_back();
        assert!(!farewells.is_away());
        for _ in 0..2 {
            farewells.leave();
            assert!(farewells.is_away());
        }
        farewells.come_back();
        assert!(!farewells.is_away());
    }
}
