//! How processes ask each other: frames of a transport over transports, which keeps them to itself.
//!
//! ```text
//!            63            32 31         8 7    0
//!          ┌────────────────┬────────────┬──────┐
//!  word 0  │ number         │ mark       │ kind │   ASK, or ANSWER with the sums as its payload, 4 bytes each
//!          ├────────────────┴────────────┴──────┤
//!  1 - 3   │ ASK: key of the memory             │
//!          ├────────────────────────────────────┤
//!  4, 5    │ ASK: offset, length                │
//!          └────────────────────────────────────┘
//! ```
//! Their first byte is that of no class of frames (`btl::Class`); the mark is for those who send what has no class.

use btl::{Peer, RemoteKey};
use mem::PeerBytes;
use sums::PIECE;

/// Most bytes that one question is about: the answer fits into the smallest frame of any transport.
pub(crate) const MOST_ASKED: u64 = 64 * PIECE as u64;

const MARK: u32 = 0xa1_11ed << 8;
const ASK: u32 = MARK | 0xc1;
const ANSWER: u32 = MARK | 0xc2;

/// A question for an owner: the sums of the pieces of so many bytes from an offset on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The owner; in its own eyes the process that asks.
    pub peer: Peer,
    /// Names the copy.
    pub name: u32,
    /// What was exposed.
    pub key: RemoteKey,
    /// The first byte of it.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
}

/// A frame about a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// What sums has that memory?
    Ask(Ask),
    /// Those that the payload has.
    Answer {
        /// The number of the question.
        name: u32,
    },
}

impl Question {
    /// The words of its header.
    pub fn header(&self) -> Vec<u64> {
        let start = |kind: u32, name: u32| u64::from(name) << 32 | u64::from(kind);
        match *self {
            Question::Ask(Ask { name, key: RemoteKey([a, b, c]), offset, len, .. }) => {
                vec![start(ASK, name), a, b, c, offset, len]
            }
            Question::Answer { name } => vec![start(ANSWER, name)],
        }
    }

    /// The question of `peer` that has this header, if it is that of one.
    pub fn read(peer: Peer, header: PeerBytes<'_>) -> Option<Question> {
        let start = header.word(0);
        let name = (start >> 32) as u32;
        match (start as u32, header.len()) {
            (ASK, 48) => {
                let key = RemoteKey([header.word(1), header.word(2), header.word(3)]);
                let (offset, len) = (header.word(4), header.word(5));
                Some(Question::Ask(Ask { peer, name, key, offset, len }))
            }
            (ANSWER, 8) => Some(Question::Answer { name }),
            _ => None,
        }
    }
}

/// Sums as the payload of an answer.
pub fn to_payload(sums: &[u32]) -> Vec<u8> {
    sums.iter().flat_map(|sum| sum.to_le_bytes()).collect()
}

/// What [`to_payload`] made.
pub fn of_payload(payload: PeerBytes<'_>) -> Vec<u32> {
    payload.to_vec().as_chunks::<4>().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use btl::Class;

    fn read(words: &[u64]) -> Option<Question> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(Class::of(PeerBytes::of(&bytes)), None);
        Question::read(Peer(4), PeerBytes::of(&bytes))
    }

    #[test]
    fn what_is_written_is_read() {
        let key = RemoteKey([1, u64::MAX, 3]);
        let ask = Question::Ask(Ask { peer: Peer(4), name: u32::MAX, key, offset: 1 << 40, len: 9 });
        for question in [ask, Question::Answer { name: 7 }] {
            let words = question.header();
            assert_eq!(read(&words), Some(question));
            assert_eq!(read(&words[..words.len() - 1]), None);
        }
        assert_eq!(of_payload(PeerBytes::of(&to_payload(&[1, u32::MAX]))), [1, u32::MAX]);
    }
}
