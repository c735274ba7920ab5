//! Packets: words of a frame's header.
//!
//! ```text
//!   word 0   byte 0: class and kind   byte 1: flags   upper half: sequence number, of packets with an envelope
//!   EAGER    context|source   tag|request     length                                    payload
//!   STAGED   context|source   tag|request     length|buffer    key, 3 words
//!   OFFER    context|source   tag|request     length           key, 3 words
//!   CTS      request|receive  offset          length           key, 3 words
//!   all others: request|other, offset, length as far as they need them
//! ```

use btl::{Class, RemoteKey};
use mem::PeerBytes;
use pml::Envelope;

/// Kinds of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A message with its payload (E0).
    Eager = 1,
    /// A message in a registered buffer (E1).
    Staged = 2,
    /// A message that its receive is to ask for (R0, R1).
    Offer = 3,
    /// The message of this request is to be dropped, if nothing has matched it.
    Cancel = 4,
    /// The buffer of this message is free.
    Fetched = 5,
    /// The buffer of this message cannot be fetched: its sender is to send fragments.
    Unfetched = 6,
    /// A fragment of such a message.
    Piece = 7,
    /// The synchronous message of this request was matched.
    Matched = 8,
    /// A piece of the message is wanted.
    Cts = 9,
    /// A fragment of a message.
    Data = 10,
    /// A piece was stored.
    Fin = 11,
    /// The whole message is here.
    Done = 12,
    /// The answer to [`Kind::Cancel`]: whether the message was dropped is the flag.
    Cancelled = 13,
}

const KINDS: [Kind; 13] = [
    Kind::Eager,
    Kind::Staged,
    Kind::Offer,
    Kind::Cancel,
    Kind::Fetched,
    Kind::Unfetched,
    Kind::Piece,
    Kind::Matched,
    Kind::Cts,
    Kind::Data,
    Kind::Fin,
    Kind::Done,
    Kind::Cancelled,
];

/// Words of an [`Kind::Eager`] packet, and of the longest one.
const EAGER_WORDS: usize = 4;
const WORDS: usize = 7;
/// Bytes of an [`Kind::Eager`] packet before its payload.
pub(crate) const EAGER_BYTES: usize = EAGER_WORDS * size_of::<u64>();

/// A packet's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub kind: Kind,
    /// A synchronous message; a cancelled one; a key follows, for [`Kind::Offer`] and [`Kind::Cts`].
    pub sync: bool,
    pub keyed: bool,
    pub seq: u32,
    pub words: [u64; WORDS - 1],
}

/// No request: a message of which its sender keeps nothing.
pub(crate) const NO_REQUEST: u32 = u32::MAX;

pub(crate) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(crate) fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

pub(crate) fn low(word: u64) -> u32 {
    word as u32
}

impl Packet {
    /// A packet about two named things, a place and a length.
    pub fn about(kind: Kind, request: u32, other: u32, offset: u64, len: u64) -> Packet {
        let words = [pair(request, other), offset, len, 0, 0, 0];
        Packet { kind, sync: false, keyed: false, seq: 0, words }
    }

    /// A message.
    pub fn message(kind: Kind, envelope: &Envelope, request: u32, total: u64, sync: bool) -> Packet {
        let words = [
            pair(envelope.context, envelope.source as u32),
            pair(envelope.tag as u32, request),
            total,
            0,
            0,
            0,
        ];
        Packet { kind, sync, keyed: false, seq: 0, words }
    }

    pub fn with_key(mut self, key: Option<RemoteKey>) -> Packet {
        if let Some(RemoteKey(key)) = key {
            self.words[3..].copy_from_slice(&key);
            self.keyed = true;
        }
        self
    }

    pub fn key(&self) -> Option<RemoteKey> {
        self.keyed.then(|| RemoteKey([self.words[3], self.words[4], self.words[5]]))
    }

    pub fn envelope(&self) -> Envelope {
        Envelope {
            context: high(self.words[0]),
            source: low(self.words[0]) as i32,
            tag: high(self.words[1]) as i32,
        }
    }

    /// The request of a message.
    pub fn request(&self) -> u32 {
        low(self.words[1])
    }

    /// Whether it has a place in its sender's sequence.
    pub fn is_ordered(&self) -> bool {
        matches!(self.kind, Kind::Eager | Kind::Staged | Kind::Offer | Kind::Cancel)
    }

    /// The header, and how many of its words are sent.
    pub fn encode(&self) -> ([u64; WORDS], usize) {
        let flags = u64::from(self.sync) << 8 | u64::from(self.keyed) << 9;
        let mut words = [0; WORDS];
        words[0] = u64::from(Class::Pml.byte(self.kind as u8)) | flags | u64::from(self.seq) << 32;
        words[1..].copy_from_slice(&self.words);
        (words, if self.keyed { WORDS } else { EAGER_WORDS })
    }

    /// The packet that a header is, if it is one.
    pub fn decode(header: PeerBytes<'_>) -> Option<Packet> {
        if header.len() < EAGER_BYTES {
            return None;
        }
        let first = header.word(0);
        let kind = *KINDS.iter().find(|&&kind| Class::Pml.byte(kind as u8) == first as u8)?;
        let (sync, keyed) = (first >> 8 & 1 == 1, first >> 9 & 1 == 1);
        if keyed && header.len() < WORDS * size_of::<u64>() {
            return None;
        }
        let count = if keyed { WORDS } else { EAGER_WORDS };
        let mut words = [0; WORDS - 1];
        words[..count - 1].iter_mut().enumerate().for_each(|(index, word)| *word = header.word(index + 1));
        Some(Packet { kind, sync, keyed, seq: high(first), words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_survive_their_encoding() {
        let envelope = Envelope { context: 7, source: 3, tag: 0x7fff_ffff };
        for (number, kind) in KINDS.into_iter().enumerate() {
            for key in [None, Some(RemoteKey([1, 2, u64::MAX]))] {
                let mut packet = Packet::message(kind, &envelope, 5, 1 << 40, number % 2 == 1).with_key(key);
                packet.seq = u32::MAX - 1;
                let (words, count) = packet.encode();
                let bytes: Vec<u8> = words[..count].iter().flat_map(|word| word.to_ne_bytes()).collect();
                assert_eq!(Packet::decode(PeerBytes::of(&bytes)), Some(packet));
                assert_eq!((packet.key(), packet.envelope(), packet.request()), (key, envelope, 5));
                assert_eq!(Packet::decode(PeerBytes::of(&bytes[..bytes.len() - 8])), None);
            }
        }
    }
}
