//! The words before what a frame carries.
//!
//! ```text
//!   word     63            48 47    40 39    32 31                             0
//!    0      ┌────────────────────────┬────────┬───────┬─────────────────────────┐
//!           │ epoch 16      │ path 8 │ kind 8 │       header CRC 32             │
//!    1      ├───────────────────────────────────────┬────────┬─────┬──────┬─────┤
//!           │ sequence 48                           │ words 4│mask3│ crc 1│try 8│
//!    2      ├───────────────────────────────────────┴────────┴─────┴──────┴─────┤
//!           │ payload CRC 32                │ length of the body 32             │
//!    3      ├───────────────────────────────┴───────────────────────────────────┤
//!           │ acknowledged 48                       │ 0                         │
//!    4 …    ├───────────────────────────────────────────────────────────────────┤
//!           │ up to four words: which of the 256 later ones are there, too      │
//!           └───────────────────────────────────────────────────────────────────┘
//!   body     `words` words of the header that is carried, then its payload
//! ```
//! The header CRC is over all these words, itself 0, and over the carried header. The payload CRC continues with the payload
//! from there, so that good payload under another frame's header fails.
//!
//! What `sequence` and `try` name depends on the kind: the frame itself; in an acknowledgement the frame that made it leave;
//! the damaged frame; or the number of a probe.

use crate::mask::Mask;

/// Fewest words of a frame's header.
pub const MIN_HEADER_WORDS: usize = 4;
/// Most words of a frame's header.
pub const MAX_HEADER_WORDS: usize = 8;
/// Most words of a header that is carried.
pub const MAX_CARRIED: usize = 8;

const SEQUENCE_BITS: u32 = 48;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Something that is carried.
    Data = 1,
    /// Nothing but what has been delivered.
    Ack = 2,
    /// The payload of a frame was damaged.
    Damaged = 3,
    /// Asks for an answer by the same path.
    Probe = 4,
    /// The answer.
    Answer = 5,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Data, Kind::Ack, Kind::Damaged, Kind::Probe, Kind::Answer]
            .into_iter()
            .find(|&kind| kind as u8 == byte)
    }
}

/// A frame's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub kind: Kind,
    pub path: u8,
    pub epoch: u16,
    /// 48 bits of it travel.
    pub sequence: u64,
    pub attempt: u8,
    /// Words of the carried header.
    pub words: u8,
    /// The payload is under a checksum.
    pub has_crc: bool,
    pub length: u32,
    /// All up to this one have been delivered. 48 bits of it travel.
    pub acked: u64,
    pub mask: Mask,
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
}

impl Head {
    /// The header of a frame with `body`, whose first [`Head::words`] words are the carried header.
    pub(crate) fn seal(&self, seed: u32, body: &[u8]) -> Words {
        self.seal_again(seed, body, &mut None)
    }

    /// As [`Head::seal`]; `sum` keeps the payload's checksum for the next departure of the frame.
    pub(crate) fn seal_again(&self, seed: u32, body: &[u8], sum: &mut Option<u32>) -> Words {
        let mask = self.mask.words();
        let mut words = [0; MAX_HEADER_WORDS];
        words[0] =
            u64::from(self.epoch) << 48 | u64::from(self.path) << 40 | u64::from(self.kind as u8) << 32;
        words[1] = self.sequence << 16
            | u64::from(self.words) << 12
            | (mask.len() as u64) << 9
            | u64::from(self.has_crc) << 8
            | u64::from(self.attempt);
        words[2] = u64::from(self.length);
        words[3] = self.acked << 16;
        words[4..4 + mask.len()].copy_from_slice(mask);
        let count = MIN_HEADER_WORDS + mask.len();
        let carried = Carried::of(body, self.words);
        if self.has_crc {
            // First, since the header's checksum is over it, too.
            let made = || crc32c::crc32c_append(self.identity(seed, &carried), &body[carried.bytes()..]);
            words[2] |= u64::from(*sum.get_or_insert_with(made)) << 32;
        }
        words[0] |= u64::from(header_crc(seed, &words[..count], &carried));
        Words { words, count }
    }

    /// The header that was sent as `words`, if it is whole and this is the `body` that it went with; and whether the payload is
    /// whole.
    pub(crate) fn open(seed: u32, words: &[u64], body: &(impl Body + ?Sized)) -> Option<(Head, bool)> {
        if !(MIN_HEADER_WORDS..=MAX_HEADER_WORDS).contains(&words.len()) {
            return None;
        }
        let mask_words = (words[1] >> 9 & 7) as usize;
        let count = (words[1] >> 12 & 15) as u8;
        let (start, length) = (body.start(), body.length());
        if words.len() != MIN_HEADER_WORDS + mask_words
            || usize::from(count) > MAX_CARRIED
            || words[2] as u32 as usize != length
            || usize::from(count) * 8 > start.len()
        {
            return None;
        }
        let carried = Carried::of(start, count);
        if header_crc(seed, words, &carried) != words[0] as u32 {
            return None;
        }
        let mut mask = Mask::default();
        mask.0[..mask_words].copy_from_slice(&words[MIN_HEADER_WORDS..]);
        let head = Head {
            kind: Kind::of((words[0] >> 32) as u8)?,
            path: (words[0] >> 40) as u8,
            epoch: (words[0] >> 48) as u16,
            sequence: words[1] >> 16,
            attempt: words[1] as u8,
            words: count,
            has_crc: has_sum(words),
            length: length as u32,
            acked: words[3] >> 16,
            mask,
        };
        let payload = (words[2] >> 32) as u32;
        let sum = || body.sum_from(carried.bytes(), head.identity(seed, &carried));
        Some((head, !head.has_crc || sum() == payload))
    }

    /// What the payload's checksum begins with: that of all that stays the same each time the frame is sent.
    fn identity(&self, seed: u32, carried: &Carried) -> u32 {
        let own = [self.sequence & SEQUENCE_MASK, u64::from(self.length)];
        sums::of_words(sums::of_words(seed, &own), carried.as_slice())
    }
}

/// The header that a body begins with.
struct Carried {
    words: [u64; MAX_CARRIED],
    count: usize,
}

impl Carried {
    /// The first `count` words of a body that has them.
    #[inline]
    fn of(body: &[u8], count: u8) -> Carried {
        let (mut words, count) = ([0; MAX_CARRIED], usize::from(count));
        for (word, bytes) in words.iter_mut().zip(&body.as_chunks::<8>().0[..count]) {
            *word = u64::from_le_bytes(*bytes);
        }
        Carried { words, count }
    }

    fn as_slice(&self) -> &[u64] {
        &self.words[..self.count]
    }

    fn bytes(&self) -> usize {
        self.count * 8
    }
}

/// Whether the payload of a frame with this header is under a checksum, as far as is known before that is verified.
pub fn has_sum(header: &[u64]) -> bool {
    header.get(1).is_some_and(|word| word >> 8 & 1 == 1)
}

/// What a frame carries, as it lies where it has arrived.
pub trait Body {
    /// In bytes.
    fn length(&self) -> usize;
    /// What it begins with: the longest header that may be carried, or all that there is. It does not change any more.
    fn start(&self) -> &[u8];
    /// The CRC-32C of the bytes from `at` on that goes on from `sum`.
    fn sum_from(&self, at: usize, sum: u32) -> u32;
}

impl Body for [u8] {
    fn length(&self) -> usize {
        self.len()
    }

    fn start(&self) -> &[u8] {
        self
    }

    fn sum_from(&self, at: usize, sum: u32) -> u32 {
        crc32c::crc32c_append(sum, &self[at..])
    }
}

/// With its own place 0.
fn header_crc(seed: u32, words: &[u64], carried: &Carried) -> u32 {
    let first = [words[0] & !u64::from(u32::MAX)];
    sums::of_words(sums::of_words(sums::of_words(seed, &first), &words[1..]), carried.as_slice())
}

/// The number nearest to `near` that ends in these 48 bits.
pub(crate) fn expand(near: u64, low: u64) -> u64 {
    let difference = low.wrapping_sub(near) << (64 - SEQUENCE_BITS);
    // The sign of 48 bits.
    near.wrapping_add((difference as i64 >> (64 - SEQUENCE_BITS)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head() -> impl Strategy<Value = (Head, Vec<u8>)> {
        let body = (0..=8u8).prop_flat_map(|words| {
            let least = usize::from(words) * 8;
            (Just(words), proptest::collection::vec(any::<u8>(), least..least + 200))
        });
        let mask = prop_oneof![Just([0; 4]), any::<[u64; 4]>(), any::<u64>().prop_map(|one| [one, 0, 0, 0])];
        let kind = prop_oneof![
            Just(Kind::Data),
            Just(Kind::Ack),
            Just(Kind::Damaged),
            Just(Kind::Probe),
            Just(Kind::Answer)
        ];
        let numbers = (0..=SEQUENCE_MASK, 0..=SEQUENCE_MASK);
        (kind, any::<(u8, u16, u8, bool)>(), numbers, mask, body).prop_map(
            |(kind, (path, epoch, attempt, has_crc), (sequence, acked), mask, (words, body))| {
                let (length, mask) = (body.len() as u32, Mask(mask));
                let head = Head { kind, path, epoch, sequence, attempt, words, has_crc, length, acked, mask };
                (head, body)
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_sealed_is_opened_and_by_no_other((head, body) in head(), seed: u32, other: u32) {
            let words = head.seal(seed, &body);
            prop_assert_eq!(Head::open(seed, words.as_slice(), &body[..]), Some((head, true)));
            if other != seed {
                prop_assert_eq!(Head::open(other, words.as_slice(), &body[..]), None);
            }
        }

        /// Each bit of each word of the header, and of what it carries.
        #[test]
        fn a_damaged_bit_is_seen((head, body) in head(), seed: u32) {
            let sealed = head.seal(seed, &body);
            for bit in 0..sealed.as_slice().len() * 64 {
                let mut words = sealed.as_slice().to_vec();
                words[bit / 64] ^= 1 << (bit % 64);
                let opened = Head::open(seed, &words, &body[..]);
                // The payload's checksum is under the header's.
                prop_assert_eq!(opened, None, "bit {}", bit);
            }
            let carried = usize::from(head.words) * 8;
            for at in 0..body.len() {
                let mut other = body.clone();
                other[at] ^= 1 << (at % 8);
                let opened = Head::open(seed, sealed.as_slice(), &other[..]);
                let expected = (at >= carried).then_some((head, !head.has_crc));
                prop_assert_eq!(opened, expected, "byte {}", at);
            }
        }

        #[test]
        fn any_words_are_read(words: Vec<u64>, body: Vec<u8>, seed: u32) {
            prop_assert_eq!(Head::open(seed, &words, &body[..]), None);
        }

        #[test]
        fn numbers_are_found_again(near in (1u64 << 50)..1 << 60, away in -1000i64..1000) {
            let number = near.wrapping_add_signed(away);
            prop_assert_eq!(expand(near, number & SEQUENCE_MASK), number);
        }
    }

    #[test]
    fn numbers_near_the_end_of_their_bits() {
        let near = SEQUENCE_MASK - 3;
        assert_eq!(expand(near, 2), SEQUENCE_MASK + 3);
        assert_eq!(expand(near, SEQUENCE_MASK - 5), SEQUENCE_MASK - 5);
        assert_eq!(expand(1, 3), 3);
    }
}
