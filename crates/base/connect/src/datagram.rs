//! Datagrams that only processes of a job can make, in any order and without a connection.
//!
//! ```text
//!   0        4        8                16             16 + length
//!   from     to       number           bytes          tag (16 bytes)
//! ```
//!
//! ChaCha20-Poly1305 (RFC 8439) with one key for the job's datagrams, made from its secret. Sender and number are the nonce, so
//! no nonce comes twice; the first 16 bytes are signed. A datagram that the network, or an attacker, repeats opens again: its
//! receiver must take each thing once.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use core::fmt;
use hmac_sha256::HMAC;

use crate::Secret;
use crate::channel::Forged;

/// Bytes of a datagram beside those that are carried.
pub const OVERHEAD: usize = HEAD + TAG;
/// Bytes before those that are carried.
pub const HEAD: usize = 16;

const TAG: usize = 16;
const PURPOSE: &[u8] = b"datagrams of a job";

/// A process that makes and opens datagrams. Neither copied nor cloned: a number must not be used twice.
pub struct Datagrams {
    cipher: ChaCha20Poly1305,
    me: u32,
    hides: bool,
    number: u64,
}

impl fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Datagrams")
            .field("me", &self.me)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// What a datagram was.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The process that made it.
    pub from: u32,
    /// The later of two datagrams of a process has the greater number.
    pub number: u64,
    /// What it carries.
    pub bytes: &'a mut [u8],
}

impl Datagrams {
    /// Process `me` of a job with this number. `hides`: all is encrypted, which all processes must do or none.
    pub fn new(secret: Secret, job: u64, me: u32, hides: bool) -> Datagrams {
        let text = [PURPOSE, &job.to_le_bytes(), &[u8::from(hides)]].concat();
        let key = HMAC::mac(text, secret.bytes());
        Datagrams { cipher: ChaCha20Poly1305::new(&key.into()), me, hides, number: 0 }
    }

    /// Makes `datagram` one for process `to` that carries `len` bytes, which `fill` writes.
    pub fn seal(&mut self, to: u32, len: usize, datagram: &mut Vec<u8>, fill: impl FnOnce(&mut [u8])) {
        self.number += 1;
        datagram.clear();
        datagram.extend_from_slice(&self.me.to_le_bytes());
        datagram.extend_from_slice(&to.to_le_bytes());
        datagram.extend_from_slice(&self.number.to_le_bytes());
        datagram.resize(HEAD + len, 0);
        let (head, bytes) = datagram.split_at_mut(HEAD);
        fill(bytes);
        let nonce = nonce(self.me, self.number);
        let sealed = match self.hides {
            true => self.cipher.encrypt_inout_detached(&nonce, head, bytes.into()),
            false => self.cipher.encrypt_inout_detached(&nonce, datagram, (&mut [][..]).into()),
        };
        let tag: [u8; TAG] = sealed.expect("a datagram is shorter than 256 GiB").into();
        datagram.extend_from_slice(&tag);
    }

    /// Opens a datagram where it lies.
    ///
    /// # Errors
    /// No process of the job has made it for this one, or it was changed.
    pub fn open<'a>(&self, datagram: &'a mut [u8]) -> Result<Opened<'a>, Forged> {
        let (signed, tag) = datagram.split_last_chunk_mut::<TAG>().ok_or(Forged)?;
        let head = *signed.first_chunk::<HEAD>().ok_or(Forged)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (from, to) = (word(0), word(4));
        let number = u64::from(word(12)) << 32 | u64::from(word(8));
        if to != self.me || from == self.me {
            return Err(Forged);
        }
        let (nonce, tag) = (nonce(from, number), Tag::from(*tag));
        let opened = match self.hides {
            true => self.cipher.decrypt_inout_detached(&nonce, &head, (&mut signed[HEAD..]).into(), &tag),
            false => self.cipher.decrypt_inout_detached(&nonce, signed, (&mut [][..]).into(), &tag),
        };
        opened.map_err(|_| Forged)?;
        Ok(Opened { from, number, bytes: &mut signed[HEAD..] })
    }
}

fn nonce(from: u32, number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&from.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(by: &mut Datagrams, to: u32, bytes: &[u8]) -> Vec<u8> {
        let mut datagram = Vec::new();
        by.seal(to, bytes.len(), &mut datagram, |space| space.copy_from_slice(bytes));
        datagram
    }

    proptest! {
        /// Whole ones open; with one bit changed, or at another process, none does.
        #[test]
        fn only_what_the_job_has_made_opens(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            hides in any::<bool>(),
            bit in any::<usize>(),
            cut in 1usize..50,
        ) {
            let of = |key, job, me| Datagrams::new(Secret::new(key), job, me, hides);
            let (mut one, other) = (of(7, 1, 2), of(7, 1, 3));
            for number in 1..3 {
                let whole = made(&mut one, 3, &bytes);
                prop_assert_eq!(whole.len(), bytes.len() + OVERHEAD);
                let mut copy = whole.clone();
                let opened = other.open(&mut copy).unwrap();
                prop_assert_eq!((opened.from, opened.number, &*opened.bytes), (2, number, &*bytes));
                let mut bent = whole.clone();
                let bit = bit % (bent.len() * 8);
                bent[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(other.open(&mut bent).is_err());
                let mut short = whole[..whole.len().saturating_sub(cut)].to_vec();
                prop_assert!(other.open(&mut short).is_err());
                for stranger in [of(8, 1, 3), of(7, 2, 3), of(7, 1, 4), of(7, 1, 2)] {
                    prop_assert!(stranger.open(&mut whole.clone()).is_err());
                }
                let blind = Datagrams::new(Secret::new(7), 1, 3, !hides);
                prop_assert!(blind.open(&mut whole.clone()).is_err());
            }
        }
    }
}
