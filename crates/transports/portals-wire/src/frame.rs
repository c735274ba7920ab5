//! Headers as words of a frame.
//!
//! ```text
//!   word 0    kind 0..8 | access 8..16 | index 16..32 | number of the frame 32..64
//!   word 1    match bits
//!   word 2    offset
//!   word 3    bytes asked for
//!   word 4    put, get-put: hdr_data      get: reply's offset     ack, reply: bytes moved
//!   word 5    descriptor 0..32 | acknowledgement wanted 32
//!   word 6    get-put, reply: reply's offset
//! ```
//! A frame of the kind [`PIECE`] has word 0 alone: its payload goes on with the data of the header before it.

use mem::PeerBytes;
use portals_soft::{Header, Spot};

/// Words of a header.
pub(super) const WORDS: usize = 7;

const PIECE: u8 = 1;
const PUT: u8 = 2;
const GET: u8 = 3;
const GET_PUT: u8 = 4;
const ACK: u8 = 5;
const REPLY: u8 = 6;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    Header(Header),
    Piece,
}

/// The first word of a piece.
pub(super) fn piece(number: u32) -> u64 {
    u64::from(PIECE) | u64::from(number) << 32
}

/// The words of a header. An index or access entry that no NIC has stays one that no NIC has.
pub(super) fn encode(header: &Header) -> [u64; WORDS] {
    let (kind, spot, fourth, fifth, sixth) = match *header {
        Header::Put { spot, hdr_data, ack } => {
            (PUT, spot, hdr_data, ack.map_or(0, |md| u64::from(md) | 1 << 32), 0)
        }
        Header::Get { spot, reply: (md, at) } => (GET, spot, at, md.into(), 0),
        Header::GetPut { spot, hdr_data, reply: (md, at) } => (GET_PUT, spot, hdr_data, md.into(), at),
        Header::Ack { md, spot, mlength } => (ACK, spot, mlength, md.into(), 0),
        Header::Reply { into: (md, at), spot, mlength } => (REPLY, spot, mlength, md.into(), at),
    };
    let access = spot.access.min(u8::MAX.into());
    let index = spot.index.min(u16::MAX.into());
    let first = u64::from(kind) | u64::from(access) << 8 | u64::from(index) << 16;
    [first, spot.match_bits, spot.offset, spot.len, fourth, fifth, sixth]
}

/// A header's first word with the number of its frame.
pub(super) fn numbered(first: u64, number: u32) -> u64 {
    first & u64::from(u32::MAX) | u64::from(number) << 32
}

/// The number of a frame.
pub(super) fn number(words: PeerBytes<'_>) -> u32 {
    (words.word(0) >> 32) as u32
}

/// What a frame is; `None`: nothing that a NIC sends.
pub(super) fn decode(words: PeerBytes<'_>) -> Option<Frame> {
    let first = words.word(0);
    let kind = first as u8;
    if kind == PIECE {
        return (words.len() >= 8).then_some(Frame::Piece);
    }
    if words.len() != WORDS * 8 {
        return None;
    }
    let spot = Spot {
        index: (first >> 16) as u16 as u32,
        access: (first >> 8) as u8 as u32,
        match_bits: words.word(1),
        offset: words.word(2),
        len: words.word(3),
    };
    let (fourth, fifth, sixth) = (words.word(4), words.word(5), words.word(6));
    let md = fifth as u32;
    Some(Frame::Header(match kind {
        PUT => Header::Put { spot, hdr_data: fourth, ack: (fifth >> 32 == 1).then_some(md) },
        GET => Header::Get { spot, reply: (md, fourth) },
        GET_PUT => Header::GetPut { spot, hdr_data: fourth, reply: (md, sixth) },
        ACK => Header::Ack { md, spot, mlength: fourth },
        REPLY => Header::Reply { into: (md, sixth), spot, mlength: fourth },
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{Frame, WORDS, decode, encode, number, numbered, piece};
    use mem::PeerBytes;
    use portals_soft::{Header, Spot};

    #[test]
    fn headers_survive_the_wire() {
        let spot = Spot { index: 63, access: 15, match_bits: u64::MAX, offset: 1 << 40, len: 1 << 41 };
        let headers = [
            Header::Put { spot, hdr_data: u64::MAX, ack: Some(u32::MAX) },
            Header::Put { spot, hdr_data: 7, ack: None },
            Header::Get { spot, reply: (3, 1 << 39) },
            Header::GetPut { spot, hdr_data: 9, reply: (4, 5) },
            Header::Ack { md: 6, spot, mlength: 1 << 41 },
            Header::Reply { into: (7, 8), spot, mlength: 11 },
        ];
        for header in headers {
            let mut words = encode(&header);
            words[0] = numbered(words[0], 77);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(number(PeerBytes::of(&bytes)), 77);
            assert_eq!(decode(PeerBytes::of(&bytes)), Some(Frame::Header(header)));
            assert_eq!(decode(PeerBytes::of(&bytes[..48])), None);
        }
        assert_eq!(decode(PeerBytes::of(&piece(3).to_ne_bytes())), Some(Frame::Piece));
        assert_eq!(decode(PeerBytes::of(&[0xff; WORDS * 8])), None);
    }
}
