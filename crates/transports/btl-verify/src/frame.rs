//! The words before what a frame carries.
//!
//! ```text
//!   word     63                  32 31                  8 7      0
//!    0      ┌──────────────────────┬─────────────────────┬────────┐
//!           │ CRC of the envelope  │ 0                   │ words  │
//!    1      ├──────────────────────┼─────────────────────┴────────┤
//!           │ CRC of the payload   │ length of the payload         │
//!           └──────────────────────┴───────────────────────────────┘
//!   body     `words` words of the header that is carried, then its payload
//! ```
//! The envelope is both words, without its own CRC, and the carried header. The payload's CRC goes on from that of the carried header,
//! so that good payload under another frame's header fails.

use btl::MAX_HEADER_WORDS;
use mem::PeerBytes;
use sums::{Half, of_bytes, of_words};

/// A frame is not as it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bad {
    pub half: Half,
    pub sent: u32,
    pub found: u32,
}

/// The words of the header of a frame with `body`, whose first `words` words are the header that is carried.
pub(crate) fn seal(seed: u32, words: usize, body: &[u8]) -> [u64; 2] {
    let (header, payload) = body.split_at(words * 8);
    let header = PeerBytes::of(header);
    let sum = of_bytes(of_bytes(seed, header), PeerBytes::of(payload));
    let own = [words as u64, u64::from(sum) << 32 | payload.len() as u64];
    [u64::from(envelope(seed, own, header)) << 32 | own[0], own[1]]
}

/// How many words of carried header the frame has that arrived with this header and body, if it is as it was sent.
pub(crate) fn open(seed: u32, header: PeerBytes<'_>, body: PeerBytes<'_>) -> Result<usize, Bad> {
    let own = [header.word(0) & u64::from(u32::MAX), header.word(1)];
    let (sent, words) = ((header.word(0) >> 32) as u32, carried(header));
    let carried = body.part(0, words * 8);
    let found = envelope(seed, own, carried);
    let is_one = header.len() == 16 && words <= MAX_HEADER_WORDS && words * 8 <= body.len();
    if found != sent || own[0] >> 8 != 0 || !is_one {
        return Err(Bad { half: Half::Envelope, sent, found });
    }
    let payload = body.part(words * 8, body.len());
    let (sent, len) = ((own[1] >> 32) as u32, u64::from(own[1] as u32));
    let found = of_bytes(of_bytes(seed, carried), payload);
    if found != sent || payload.len() as u64 != len {
        return Err(Bad { half: Half::Payload { offset: 0, len }, sent, found });
    }
    Ok(words)
}

/// How many words of carried header a frame with this header names.
pub(crate) fn carried(header: PeerBytes<'_>) -> usize {
    usize::from(header.word(0) as u8)
}

/// The sum of the words of a frame's header, without itself, and of the carried header.
fn envelope(seed: u32, own: [u64; 2], carried: PeerBytes<'_>) -> u32 {
    of_bytes(of_words(seed, &own), carried)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(seed: u32, words: &[u64], body: &[u8]) -> Result<usize, Bad> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        open(seed, PeerBytes::of(&bytes), PeerBytes::of(body))
    }

    #[test]
    fn what_is_sealed_is_opened() {
        let body: Vec<u8> = (0..100).collect();
        for words in 0..=8 {
            assert_eq!(opened(5, &seal(5, words, &body), &body), Ok(words));
            assert_eq!(opened(5, &seal(5, words, &body[..words * 8]), &body[..words * 8]), Ok(words));
        }
    }

    #[test]
    fn each_damaged_bit_is_seen() {
        let body: Vec<u8> = (0..100).collect();
        for words in [0, 2, 8] {
            let sealed = seal(5, words, &body);
            for bit in 0..128 {
                let mut sealed = sealed;
                sealed[bit / 64] ^= 1 << (bit % 64);
                assert!(opened(5, &sealed, &body).is_err(), "{words} words: bit {bit}");
            }
            for bit in 0..body.len() * 8 {
                let mut body = body.clone();
                body[bit / 8] ^= 1 << (bit % 8);
                assert!(opened(5, &sealed, &body).is_err(), "{words} words: bit {bit} of the body");
            }
        }
    }

    #[test]
    fn what_was_cut_or_is_for_another_is_seen() {
        let body: Vec<u8> = (0..100).collect();
        let sealed = seal(5, 2, &body);
        assert!(opened(6, &sealed, &body).is_err());
        assert!(opened(5, &sealed, &body[..99]).is_err());
        assert!(opened(5, &sealed[..1], &body).is_err() && opened(5, &[], &body).is_err());
    }
}
