//! The words before what a frame carries.
//!
//! ```text
//!   word     63                  32 31         16 15     8 7      0
//!    0      ┌──────────────────────┬─────────────┬────────┬────────┐
//!           │ CRC of the envelope  │ 0           │ words  │ kind   │
//!    1      ├──────────────────────┼─────────────┴────────┴────────┤
//!           │ CRC of the payload   │ length of the payload         │
//!    2      ├──────────────────────┴───────────────────────────────┤
//!           │ ASK, ANSWER: the number of the question               │
//!    3 - 5  │ ASK: the key of the memory                            │
//!    6, 7   │ ASK: offset, length                                   │
//!           └───────────────────────────────────────────────────────┘
//!   body     DATA: `words` words of the header that is carried, then its payload; ANSWER: the sums, 4 bytes each
//! ```
//! The envelope is all these words, itself 0, and the carried header. The payload's CRC goes on from that of the carried header, so
//! that good payload under another frame's header fails.

use btl::MAX_HEADER_WORDS;
use mem::PeerBytes;
use sums::{Half, of_bytes, of_words};

const DATA: u8 = 1;
const ASK: u8 = 2;
const ANSWER: u8 = 3;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// A frame of the layer above, with so many words of header.
    Data { words: usize },
    /// A question.
    Ask { number: u32, key: [u64; 3], offset: u64, len: u64 },
    /// The answer: its payload is the sums.
    Answer { number: u32 },
}

/// A frame is not as it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bad {
    pub half: Half,
    pub sent: u32,
    pub found: u32,
}

/// The words of a header, ready to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    words: [u64; MAX_HEADER_WORDS],
    count: usize,
}

impl Words {
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.words[..self.count]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.words[..self.count]
    }
}

impl Frame {
    /// The header of this frame with `body`.
    pub(crate) fn seal(&self, seed: u32, body: &[u8]) -> Words {
        let (kind, carried, more): (u8, usize, &[u64]) = match *self {
            Frame::Data { words } => (DATA, words, &[]),
            Frame::Ask { number, key: [a, b, c], offset, len } => {
                (ASK, 0, &[u64::from(number), a, b, c, offset, len])
            }
            Frame::Answer { number } => (ANSWER, 0, &[u64::from(number)]),
        };
        let (header, payload) = body.split_at(carried * 8);
        let mut words = [0; MAX_HEADER_WORDS];
        let count = 2 + more.len();
        words[0] = (carried as u64) << 8 | u64::from(kind);
        let sum = of_bytes(of_bytes(seed, PeerBytes::of(header)), PeerBytes::of(payload));
        words[1] = u64::from(sum) << 32 | payload.len() as u64;
        words[2..count].copy_from_slice(more);
        words[0] |= u64::from(envelope(seed, &words[..count], PeerBytes::of(header))) << 32;
        Words { words, count }
    }

    /// The frame that arrived with this header and body.
    pub(crate) fn open(seed: u32, header: PeerBytes<'_>, body: PeerBytes<'_>) -> Result<Frame, Bad> {
        let count = (header.len() / 8).min(MAX_HEADER_WORDS);
        let mut words = [0; MAX_HEADER_WORDS];
        words.iter_mut().enumerate().take(count).for_each(|(at, word)| *word = header.word(at));
        let sent = (words[0] >> 32) as u32;
        words[0] &= u64::from(u32::MAX);
        let carried = (words[0] >> 8 & 0xff) as usize;
        let found = envelope(seed, &words[..count], body.part(0, carried * 8));
        let bad = Bad { half: Half::Envelope, sent, found };
        let frame = Frame::read(&words[..count]).filter(|_| found == sent && carried * 8 <= body.len());
        let frame = frame.ok_or(bad)?;
        let payload = body.part(carried * 8, body.len());
        let (sent, len) = ((words[1] >> 32) as u32, u64::from(words[1] as u32));
        let found = of_bytes(of_bytes(seed, body.part(0, carried * 8)), payload);
        if found != sent || payload.len() as u64 != len {
            return Err(Bad { half: Half::Payload { offset: 0, len }, sent, found });
        }
        Ok(frame)
    }

    fn read(words: &[u64]) -> Option<Frame> {
        let carried = (words.first()? >> 8 & 0xff) as usize;
        let number = |word: u64| u32::try_from(word).ok();
        match (words[0] as u8, words) {
            (DATA, &[_, _]) if carried <= MAX_HEADER_WORDS => Some(Frame::Data { words: carried }),
            (ASK, &[_, _, name, a, b, c, offset, len]) => {
                Some(Frame::Ask { number: number(name)?, key: [a, b, c], offset, len })
            }
            (ANSWER, &[_, _, name]) => Some(Frame::Answer { number: number(name)? }),
            _ => None,
        }
    }
}

/// The sum of the words of a frame's header, without itself, and of the carried header.
fn envelope(seed: u32, words: &[u64], carried: PeerBytes<'_>) -> u32 {
    of_bytes(of_words(seed, words), carried)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Frame; 4] = [
        Frame::Data { words: 2 },
        Frame::Data { words: 0 },
        Frame::Ask { number: 7, key: [1, u64::MAX, 3], offset: 1 << 40, len: 9 },
        Frame::Answer { number: u32::MAX },
    ];

    fn open(seed: u32, words: &[u64], body: &[u8]) -> Result<Frame, Bad> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Frame::open(seed, PeerBytes::of(&bytes), PeerBytes::of(body))
    }

    #[test]
    fn what_is_sealed_is_opened() {
        let body: Vec<u8> = (0..100).collect();
        for frame in ALL {
            assert_eq!(open(5, frame.seal(5, &body).as_slice(), &body), Ok(frame));
        }
        let empty = Frame::Data { words: 0 };
        assert_eq!(open(5, empty.seal(5, &[]).as_slice(), &[]), Ok(empty));
    }

    #[test]
    fn each_damaged_bit_is_seen() {
        let body: Vec<u8> = (0..100).collect();
        for frame in ALL {
            let words = frame.seal(5, &body);
            for bit in 0..words.as_slice().len() * 64 {
                let mut words = words;
                words.as_mut_slice()[bit / 64] ^= 1 << (bit % 64);
                let found = open(5, words.as_slice(), &body);
                assert!(found.is_err(), "{frame:?}: bit {bit}: {found:?}");
            }
            for bit in 0..body.len() * 8 {
                let mut body = body.clone();
                body[bit / 8] ^= 1 << (bit % 8);
                assert!(open(5, words.as_slice(), &body).is_err(), "{frame:?}: bit {bit} of the body");
            }
        }
    }

    #[test]
    fn what_was_cut_or_is_for_another_is_seen() {
        let body: Vec<u8> = (0..100).collect();
        for frame in ALL {
            let words = frame.seal(5, &body);
            assert!(open(6, words.as_slice(), &body).is_err());
            assert!(open(5, words.as_slice(), &body[..99]).is_err());
            for count in 0..words.as_slice().len() {
                assert!(open(5, &words.as_slice()[..count], &body).is_err());
            }
        }
    }
}
