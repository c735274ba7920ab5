//! Gets and puts whose bytes are compared with those of their owner.
//!
//! Bytes that a NIC or the kernel moves by itself pass no checksum. So the process that got or put them asks the owner of the
//! exposed memory for sums of it, piece by piece, and compares them with those of its own memory. The copy is reported as over
//! when all are equal.
//!
//! ```text
//!   process that copies                                 owner
//!   get or put, by the network ◄──────────────────────► exposed memory
//!   it is over: ask ──── key, offset, length ─────────►
//!                                                       sums of that memory
//!              ◄──────── a sum for each piece ────────── answer
//!   equal: ask for the next pieces, or the copy is over
//! ```
//! A get may be repeated at any time, and a put until it is reported as over: until then its owner has no notice of it,
//! and keeps the memory exposed.
//!
//! A put whose address was damaged may have written where another put was compared before, and a copy of one may arrive late. Where
//! that matters, the owner seals its memory: with the last question about it, the owner conceals the memory, so that nothing is stored
//! any more, and then makes the sums of all of it, which have to be those of its earlier answers.
//!
//! A machine without transport or clock, for transports over transports. What a peer asks for is checked against what it was
//! exposed.
#![deny(unsafe_code)]

mod exposed;
mod question;
mod table;

pub use exposed::Exposed;
pub use question::{Ask, Question, of_payload, to_payload};
pub use table::{Letter, Step, Table};

use btl::{Peer, RemoteKey};
use mem::{Slab, UserMem};
use sums::PIECE;

use crate::question::MOST_ASKED;

/// Which way bytes are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Out of a peer's memory.
    Get,
    /// Into it.
    Put,
}

/// A get or put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Which of them.
    pub kind: Kind,
    /// The owner of the exposed memory.
    pub peer: Peer,
    /// The memory of this process, in runs that are one message together.
    pub local: Vec<UserMem>,
    /// What the owner has exposed.
    pub key: RemoteKey,
    /// The first byte of it.
    pub offset: u64,
    /// What its end is reported with.
    pub cookie: u64,
}

impl Copy {
    fn len(&self) -> u64 {
        self.local.iter().map(|run| run.len() as u64).sum()
    }
}

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It answers no question.
    Stray,
    /// These pieces are equal: ask for the next ones.
    Next(Ask),
    /// All of it is equal: the copy with this cookie is over.
    Equal(u64),
    /// The owner exposes that no more: the copy with this cookie has failed.
    Gone(u64),
    /// A piece differs. The copy is as it was when it began: it may be repeated, or given up.
    Differs(Difference),
}

/// The first piece that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its first byte in what was exposed.
    pub offset: u64,
    /// Its length.
    pub len: u64,
    /// The sum of it that the owner has.
    pub theirs: u32,
    /// The sum of it in the memory of this process.
    pub ours: u32,
}

/// The copies of a process that are under way.
#[derive(Debug, Default)]
pub struct Copies {
    all: Slab<State, 20, 10>,
}

#[derive(Debug)]
struct State {
    copy: Copy,
    /// Bytes that were compared.
    compared: u64,
    /// A question is under way.
    is_asked: bool,
    /// The transport moves its bytes.
    is_moving: bool,
    /// How often they were moved before, and were not equal.
    tries: u32,
}

impl Copies {
    /// A copy begins; its name, for the transport that does it. `None`: too many are under way.
    pub fn begin(&mut self, copy: Copy) -> Option<u32> {
        self.all.insert(State { copy, compared: 0, is_asked: false, is_moving: true, tries: 0 }).ok()
    }

    /// A copy that is under way.
    pub fn get(&self, name: u32) -> Option<&Copy> {
        self.all.get(name).map(|state| &state.copy)
    }

    /// A copy is over, or was never begun.
    pub fn end(&mut self, name: u32) -> Option<Copy> {
        self.all.remove(name).map(|state| state.copy)
    }

    /// The copies from and to `peer` whose bytes the transport is still moving.
    pub fn moving(&self, peer: Peer) -> Vec<u32> {
        let is_moving = |(_, state): &(u32, &State)| state.copy.peer == peer && state.is_moving;
        self.all.iter().filter(is_moving).map(|(name, _)| name).collect()
    }

    /// Nothing more comes from `peer`.
    pub fn forget(&mut self, peer: Peer) {
        let of_peer: Vec<u32> =
            self.all.iter().filter(|(_, state)| state.copy.peer == peer).map(|(name, _)| name).collect();
        of_peer.into_iter().for_each(|name| self.all.discard(name));
    }

    /// The transport has moved the bytes: what to ask the owner.
    pub fn moved(&mut self, name: u32) -> Option<Ask> {
        let state = self.all.get_mut(name)?;
        (state.compared, state.is_moving) = (0, false);
        Some(state.ask(name))
    }

    /// A copy that differs is to be made again, unless it was tried `most` times: the copy.
    pub fn again(&mut self, name: u32, most: u32) -> Option<&Copy> {
        let state = self.all.get_mut(name)?;
        state.tries += 1;
        state.is_moving = state.tries < most;
        state.is_moving.then_some(&state.copy)
    }

    /// `peer` answers a question.
    pub fn answered(&mut self, peer: Peer, name: u32, theirs: &[u32]) -> Verdict {
        let Some(state) = self.all.get_mut(name).filter(|state| state.copy.peer == peer && state.is_asked)
        else {
            return Verdict::Stray;
        };
        state.is_asked = false;
        let Ask { offset, len, .. } = state.question(name);
        if theirs.len() as u64 != len.div_ceil(PIECE as u64) {
            let cookie = state.copy.cookie;
            self.all.discard(name);
            return Verdict::Gone(cookie);
        }
        let ours = sums::of_runs(&state.copy.local, state.compared, len);
        if let Some(place) = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs) {
            let before = (place * PIECE) as u64;
            return Verdict::Differs(Difference {
                offset: offset + before,
                len: (len - before).min(PIECE as u64),
                theirs: theirs[place],
                ours: ours[place],
            });
        }
        state.compared += len;
        if state.compared < state.copy.len() {
            return Verdict::Next(state.ask(name));
        }
        let cookie = state.copy.cookie;
        self.all.discard(name);
        Verdict::Equal(cookie)
    }
}

impl State {
    fn ask(&mut self, name: u32) -> Ask {
        self.is_asked = true;
        self.question(name)
    }

    fn question(&self, name: u32) -> Ask {
        let Copy { peer, key, offset, .. } = self.copy;
        let len = (self.copy.len() - self.compared).min(MOST_ASKED);
        Ask { peer, name, key, offset: offset + self.compared, len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btl::RemoteKey;

    const OWNER: Peer = Peer(3);
    const KEY: RemoteKey = RemoteKey([1, 2, 3]);

    #[allow(unsafe_code, reason = "the tests keep the bytes")]
    fn view(bytes: &mut [u8]) -> UserMem {
        // SAFETY: `bytes` outlives the view in each test.
        unsafe { UserMem::of(bytes) }
    }

    fn get(local: Vec<UserMem>, offset: u64) -> Copy {
        Copy { kind: Kind::Get, peer: OWNER, local, key: KEY, offset, cookie: 77 }
    }

    fn answer(exposed: &mut Exposed, ask: &Ask) -> Vec<u32> {
        exposed.answer(&Ask { peer: Peer(0), ..*ask }, || panic!("nothing is put"))
    }

    #[test]
    fn what_is_equal_is_asked_for_piece_by_piece() {
        let len = 2 * MOST_ASKED as usize + 5;
        let (mut theirs, mut ours) = (vec![7; len + 10], vec![7; len]);
        let mut exposed = Exposed::default();
        exposed.add(Peer(0), KEY, vec![view(&mut theirs)], false);
        let mut copies = Copies::default();
        let name = copies.begin(get(vec![view(&mut ours)], 10)).unwrap();
        let mut ask = copies.moved(name).unwrap();
        for asked in [MOST_ASKED, MOST_ASKED] {
            assert_eq!(ask.len, asked);
            let Verdict::Next(next) = copies.answered(OWNER, name, &answer(&mut exposed, &ask)) else {
                panic!()
            };
            ask = next;
        }
        assert_eq!(ask.len, 5);
        assert_eq!(copies.answered(OWNER, name, &answer(&mut exposed, &ask)), Verdict::Equal(77));
        assert_eq!(copies.answered(OWNER, name, &[]), Verdict::Stray);
    }

    #[test]
    fn the_first_piece_that_differs_is_named_and_may_be_repeated() {
        let (mut theirs, mut ours) = (vec![7; 3 * PIECE], vec![7; 3 * PIECE]);
        let mut exposed = Exposed::default();
        exposed.add(Peer(0), KEY, vec![view(&mut theirs)], false);
        ours[PIECE + 9] = 8;
        ours[2 * PIECE] = 8;
        let local = view(&mut ours);
        let mut copies = Copies::default();
        let name = copies.begin(get(vec![local], 0)).unwrap();
        let ask = copies.moved(name).unwrap();
        let Verdict::Differs(found) = copies.answered(OWNER, name, &answer(&mut exposed, &ask)) else {
            panic!()
        };
        assert_eq!((found.offset, found.len), (PIECE as u64, PIECE as u64));
        assert_ne!(found.ours, found.theirs);
        local.write(mem::PeerBytes::of(&vec![7; 3 * PIECE]));
        assert_eq!(copies.again(name, 2).map(|copy| copy.cookie), Some(77));
        assert_eq!(copies.moving(OWNER), [name]);
        assert_eq!(copies.again(name, 2), None);
        let ask = copies.moved(name).unwrap();
        assert_eq!(copies.answered(OWNER, name, &answer(&mut exposed, &ask)), Verdict::Equal(77));
        assert!(copies.moving(OWNER).is_empty());
    }

    #[test]
    fn answers_of_others_and_unasked_ones_change_nothing() {
        let mut ours = [1; 10];
        let mut copies = Copies::default();
        let name = copies.begin(get(vec![view(&mut ours)], 0)).unwrap();
        assert_eq!(copies.answered(OWNER, name, &[0]), Verdict::Stray);
        copies.moved(name).unwrap();
        assert_eq!(copies.answered(Peer(1), name, &[0]), Verdict::Stray);
        assert_eq!(copies.answered(OWNER, name ^ 1, &[0]), Verdict::Stray);
        assert_eq!(copies.answered(OWNER, name, &[]), Verdict::Gone(77));
        assert!(copies.get(name).is_none());
    }

    #[test]
    fn a_lost_peer_is_forgotten() {
        let mut copies = Copies::default();
        let name = copies.begin(get(vec![UserMem::EMPTY], 0)).unwrap();
        copies.forget(Peer(1));
        assert!(copies.get(name).is_some());
        copies.forget(OWNER);
        assert!(copies.get(name).is_none());
    }
}
