//! Messages that travel with sums (`mpi_checksum verify`).
//!
//! ```text
//!   0        4        8                16
//!   ┌────────┬────────┬────────────────┬────────┬─────────────────┬────────┬──────────────┐
//!   │ CRC of the      │ length of the  │ CRC of │ first piece,    │ CRC of │ next piece …  │
//!   │ envelope, 0     │ payload        │ it     │ sums::PIECE     │ it     │               │
//!   └─────────────────┴────────────────┴────────┴─────────────────┴────────┴──────────────┘
//! ```
//! The envelope is the match bits, the source beside them, the length, the receiver and the job. A receive that is shorter than its
//! message verifies the pieces that it has room for as a whole.

use std::fmt;

use mem::{PeerBytes, PeerSpace, Source};
use mtl::{Limits, Message, Peer};
use pml::Data;
use sums::{Damage, Faults, Half, PIECE, Place};

use crate::bounce::Bounce;

const HEADER: usize = 16;
const SUM: usize = 4;

/// What a layer that verifies is given.
pub struct Verified {
    /// This process.
    pub me: Peer,
    /// The number of its job.
    pub job: u64,
    /// The network, with its device, for people.
    pub path: String,
    /// Faults for tests.
    pub faults: Option<Faults>,
    /// Ends the job, with the lines to print.
    pub end: fn(&str) -> !,
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The length of a message whose payload has `len` bytes.
pub(crate) fn framed(len: u64) -> u64 {
    (HEADER as u64).saturating_add(len).saturating_add(len.div_ceil(PIECE as u64) * SUM as u64)
}

/// The length of the payload of a message of `len` bytes; what is left where no payload has that length.
pub(crate) fn payload(len: u64) -> u64 {
    let body = len.saturating_sub(HEADER as u64);
    body - body.div_ceil((PIECE + SUM) as u64) * (SUM as u64).min(body)
}

/// Where a piece and its sum are, of a payload of `len` bytes.
fn piece(index: usize, len: usize) -> (usize, usize) {
    (HEADER + index * (SUM + PIECE), (len - index * PIECE).min(PIECE))
}

impl Verified {
    fn envelope(&self, to: Peer, bits: u64, source: u64, len: u64) -> u32 {
        sums::of_words(0, &[u64::from(to.0), self.job, bits, source, len])
    }

    /// What is sent for `data`.
    pub(crate) fn pack(
        &mut self,
        limits: &Limits,
        data: Data,
        (to, bits, source): (Peer, u64, u64),
    ) -> Bounce {
        let len = data.total() as usize;
        let mut bounce = Bounce::new(framed(len as u64) as usize);
        let bytes = bounce.bytes_mut();
        let envelope = self.envelope(to, bits, shown(limits, source), len as u64);
        bytes[..SUM].copy_from_slice(&envelope.to_le_bytes());
        bytes[8..HEADER].copy_from_slice(&(len as u64).to_le_bytes());
        let mut source = data;
        if let Data::Typed(stream) = &mut source {
            stream.seek(0);
        }
        for index in 0..len.div_ceil(PIECE) {
            let (at, len) = piece(index, len);
            let (sum, body) = bytes[at..at + SUM + len].split_at_mut(SUM);
            match &mut source {
                Data::Contiguous(memory) => memory.fill(PeerSpace::of(body)),
                Data::Typed(stream) => stream.fill(PeerSpace::of(body)),
            }
            sum.copy_from_slice(&sums::of_bytes(0, PeerBytes::of(body)).to_le_bytes());
        }
        let bits = bytes.len() * 8;
        if let Some(bit) = self.faults.as_mut().and_then(|faults| faults.of_frame(bits)) {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bounce
    }

    /// Verifies a message, of which the first `stored` bytes have arrived, and stores its payload; how much of it.
    pub(crate) fn unpack(
        &self,
        limits: &Limits,
        message: &Message,
        bounce: &Bounce,
        stored: usize,
        into: &mut Data,
    ) -> u64 {
        let bytes = bounce.bytes(stored);
        let len = payload(message.len);
        let sent = bytes.word(0) as u32;
        let found = self.envelope(self.me, message.bits, shown(limits, message.data), len);
        let is_whole = bytes.len() >= HEADER && framed(len) == message.len && bytes.word(1) == len;
        if sent != found || !is_whole || bytes.word(0) >> 32 != 0 {
            self.end(message, (Half::Envelope, sent, found));
        }
        let mut poured = 0;
        for index in 0..(len as usize).div_ceil(PIECE) {
            let (at, len) = piece(index, len as usize);
            let (sum, body) = (bytes.part(at, SUM), bytes.part(at + SUM, len));
            if body.len() == len {
                let mut sent = [0; SUM];
                sum.copy_to(&mut sent);
                let (sent, found) = (u32::from_le_bytes(sent), sums::of_bytes(0, body));
                if sent != found {
                    let half = Half::Payload { offset: (index * PIECE) as u64, len: len as u64 };
                    self.end(message, (half, sent, found));
                }
            }
            poured += into.pour((index * PIECE) as u64, body);
        }
        poured
    }

    #[cold]
    fn end(&self, message: &Message, (half, sent, found): (Half, u32, u32)) -> ! {
        let of = |peer: Peer| format!("of rank {}", peer.0);
        let place = Place { path: self.path.clone(), from: of(message.from), to: sums::host() };
        let what = "a message".to_owned();
        let damage = Damage { what, from: message.from.0, to: self.me.0, place, half, sent, found };
        (self.end)(&damage.to_string())
    }
}

/// Of the word beside the bits, what the receiver sees of the source.
fn shown(limits: &Limits, data: u64) -> u64 {
    if limits.data_bits >= u32::BITS { data & u64::from(u32::MAX) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_lead_back() {
        let piece = PIECE as u64;
        for len in [0, 1, 2, 100, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1, 10 * piece + 7] {
            assert_eq!(payload(framed(len)), len);
        }
        // Lengths of no message.
        for len in [0, 15, 17, 20, framed(piece) + 1, framed(piece) + 4] {
            assert_ne!(framed(payload(len)), len, "{len}");
        }
    }
}
