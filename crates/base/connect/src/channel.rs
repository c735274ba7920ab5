//! What protects a connection after the exchange: bytes in records, each signed, and encrypted where that is wished.
//!
//! ```text
//!   record     0        4                 4 + length
//!              length   bytes             tag (16 bytes)
//!   last word  0                    4       16                16 + length
//!              length | 2^31        nonce   bytes             tag (16 bytes)
//! ```
//!
//! ChaCha20-Poly1305 (RFC 8439). Each direction of each connection has a key of its own, and a record's nonce is its number.
//! So a record that was changed, left out, repeated, reordered or taken from elsewhere opens no more; the length need
//! not be signed, since another length gives another tag. Where bytes are not encrypted they are signed alone, as
//! associated data.
//!
//! A process that ends the job from a signal handler may have interrupted itself in the middle of a record. Its **last
//! word** ([`Urgent`]) has a key and a random nonce of its own, and needs no memory.

use core::fmt;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};

/// Most bytes of a record that are the user's.
pub const RECORD: usize = 16 << 10;
/// Bytes of a record beside those.
pub const OVERHEAD: usize = LENGTH + TAG;
/// Bytes of a last word beside those that are the user's.
pub const URGENT_OVERHEAD: usize = LENGTH + NONCE + TAG;

const LENGTH: usize = 4;
const NONCE: usize = 12;
const TAG: usize = 16;
/// Marks the length of a last word.
const URGENT: u32 = 1 << 31;

/// How a connection is protected. The greater one does all that the smaller one does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Protection {
    /// After the exchange bytes go as they are.
    None = 0,
    /// Bytes are signed: a change of one ends the connection.
    Integrity = 1,
    /// Bytes are signed and encrypted.
    Encrypt = 2,
}

impl Protection {
    pub(crate) fn from_byte(byte: u8) -> Option<Protection> {
        [Protection::None, Protection::Integrity, Protection::Encrypt].get(usize::from(byte)).copied()
    }
}

/// The other side has not sent what came: the connection was tampered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forged;

impl fmt::Display for Forged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what came is not what the other side has sent: bytes were changed on their way")
    }
}

impl std::error::Error for Forged {}

/// A key of one direction of one connection.
#[derive(Clone, Copy)]
pub(crate) struct Key([u8; 32]);

impl Key {
    pub(crate) const fn new(bytes: [u8; 32]) -> Key {
        Key(bytes)
    }

    fn cipher(&self) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new(&self.0.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// What both sides have after the exchange. It is neither copied nor cloned: a number must not be used twice.
#[derive(Debug)]
pub struct Session {
    protection: Protection,
    /// Seals what this side sends.
    pub sealer: Sealer,
    /// Opens what the other side sends.
    pub opener: Opener,
    /// This side's last word.
    pub urgent: Urgent,
}

impl Session {
    /// The key of this side's records and of its last word, and those of the other side.
    pub(crate) fn new(protection: Protection, ours: (Key, Key), theirs: (Key, Key)) -> Session {
        let hides = protection == Protection::Encrypt;
        let sealer = Sealer { key: ours.0, cipher: ours.0.cipher(), count: 0, hides };
        let opener = Opener {
            key: theirs.0,
            cipher: theirs.0.cipher(),
            urgent: theirs.1,
            count: 0,
            hides,
            is_forged: false,
        };
        Session { protection, sealer, opener, urgent: Urgent(ours.1) }
    }

    /// How the connection is protected, as both sides have agreed.
    pub fn protection(&self) -> Protection {
        self.protection
    }
}

/// Seals what one side sends.
pub struct Sealer {
    key: Key,
    cipher: ChaCha20Poly1305,
    count: u64,
    hides: bool,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("key", &self.key).field("count", &self.count).finish_non_exhaustive()
    }
}

impl Sealer {
    /// Adds `bytes` to `out`, in as many records as they need.
    pub fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for part in bytes.chunks(RECORD) {
            self.seal_with(part.len(), out, |space| space.copy_from_slice(part));
        }
    }

    /// Adds one record of `len` bytes to `out`, 1 to [`RECORD`]. `fill` writes them.
    pub fn seal_with(&mut self, len: usize, out: &mut Vec<u8>, fill: impl FnOnce(&mut [u8])) {
        debug_assert!((1..=RECORD).contains(&len));
        let start = out.len();
        out.extend_from_slice(&(len as u32).to_le_bytes());
        out.resize(start + LENGTH + len, 0);
        let bytes = &mut out[start + LENGTH..];
        fill(bytes);
        let tag = seal(&self.cipher, &number(&mut self.count), bytes, self.hides);
        out.extend_from_slice(&tag);
    }
}

/// Opens what the other side sends.
pub struct Opener {
    key: Key,
    cipher: ChaCha20Poly1305,
    urgent: Key,
    count: u64,
    hides: bool,
    is_forged: bool,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("key", &self.key).field("count", &self.count).finish_non_exhaustive()
    }
}

impl Opener {
    /// Bytes of the record that begins with `raw`, in all, once its first [`OVERHEAD`] bytes are known: its length is
    /// there.
    ///
    /// # Errors
    /// No record has this length.
    pub fn extent(raw: &[u8]) -> Result<Option<usize>, Forged> {
        let Some(length) = raw.first_chunk::<LENGTH>().map(|bytes| u32::from_le_bytes(*bytes)) else {
            return Ok(None);
        };
        let len = (length & !URGENT) as usize;
        let overhead = if length & URGENT != 0 { URGENT_OVERHEAD } else { OVERHEAD };
        if (1..=RECORD).contains(&len) { Ok(Some(overhead + len)) } else { Err(Forged) }
    }

    /// Opens all records that are whole at the front of `raw`, takes them away there, and adds their bytes to `into`.
    ///
    /// # Errors
    /// One does not open; then none opens any more. What was opened before it is in `into`.
    pub fn open(&mut self, raw: &mut Vec<u8>, into: &mut Vec<u8>) -> Result<(), Forged> {
        let mut taken = 0;
        let opened = loop {
            match Opener::extent(&raw[taken..]) {
                Ok(Some(whole)) if taken + whole <= raw.len() => {
                    match self.open_one(&mut raw[taken..taken + whole]) {
                        Ok(bytes) => into.extend_from_slice(bytes),
                        Err(forged) => break Err(forged),
                    }
                    taken += whole;
                }
                Ok(_) => break Ok(()),
                Err(forged) => break Err(forged),
            }
        };
        raw.drain(..taken);
        opened
    }

    /// Opens `record` where it lies; the user's bytes.
    ///
    /// # Errors
    /// It does not open; then none opens any more.
    pub fn open_one<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a [u8], Forged> {
        let opened = self.try_open(record);
        self.is_forged |= opened.is_err();
        opened.map(|bytes| &*bytes)
    }

    fn try_open<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a mut [u8], Forged> {
        if self.is_forged || Opener::extent(record)? != Some(record.len()) {
            return Err(Forged);
        }
        let (length, rest) = record.split_at_mut(LENGTH);
        // The length's highest bit.
        let is_urgent = length[LENGTH - 1] & 0x80 != 0;
        let (rest, tag) = rest.split_last_chunk_mut::<TAG>().ok_or(Forged)?;
        if is_urgent {
            let (nonce, bytes) = rest.split_first_chunk_mut::<NONCE>().ok_or(Forged)?;
            open(&self.urgent.cipher(), nonce, bytes, tag, true)?;
            return Ok(bytes);
        }
        open(&self.cipher, &number(&mut self.count), rest, tag, self.hides)?;
        Ok(rest)
    }
}

/// Seals one last word. Plain data, and no memory is needed, so that a signal handler may use it.
#[derive(Clone, Copy, Debug)]
pub struct Urgent(Key);

impl Urgent {
    /// Writes `bytes`, 1 to [`RECORD`], sealed to `space`, which has [`URGENT_OVERHEAD`] bytes more; the part of it that is to
    /// be sent. `nonce` is random.
    pub fn seal<'a>(&self, nonce: [u8; NONCE], bytes: &[u8], space: &'a mut [u8]) -> &'a [u8] {
        let whole = URGENT_OVERHEAD + bytes.len();
        let space = &mut space[..whole];
        let (head, rest) = space.split_at_mut(LENGTH + NONCE);
        head[..LENGTH].copy_from_slice(&(bytes.len() as u32 | URGENT).to_le_bytes());
        head[LENGTH..].copy_from_slice(&nonce);
        let (body, tag) = rest.split_at_mut(bytes.len());
        body.copy_from_slice(bytes);
        tag.copy_from_slice(&seal(&self.0.cipher(), &nonce, body, true));
        space
    }
}

/// The next record's number as a nonce. 2^64 records are not sent.
fn number(count: &mut u64) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    nonce[NONCE - 8..].copy_from_slice(&count.to_le_bytes());
    *count += 1;
    nonce
}

/// Signs `bytes`, and encrypts them if they are to be hidden.
fn seal(cipher: &ChaCha20Poly1305, nonce: &[u8; NONCE], bytes: &mut [u8], hides: bool) -> [u8; TAG] {
    let nonce = Nonce::from(*nonce);
    let sealed = match hides {
        true => cipher.encrypt_inout_detached(&nonce, &[], bytes.into()),
        false => cipher.encrypt_inout_detached(&nonce, bytes, (&mut [][..]).into()),
    };
    sealed.expect("a record is shorter than 256 GiB").into()
}

fn open(
    cipher: &ChaCha20Poly1305,
    nonce: &[u8; NONCE],
    bytes: &mut [u8],
    tag: &[u8; TAG],
    hides: bool,
) -> Result<(), Forged> {
    let (nonce, tag) = (Nonce::from(*nonce), Tag::from(*tag));
    let opened = match hides {
        true => cipher.decrypt_inout_detached(&nonce, &[], bytes.into(), &tag),
        false => cipher.decrypt_inout_detached(&nonce, bytes, (&mut [][..]).into(), &tag),
    };
    opened.map_err(|_| Forged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What one side of a connection sends with, and the other side receives with.
    fn sides(protection: Protection) -> (Session, Session) {
        let key = |seed| Key::new([seed; 32]);
        let (one, other) = ((key(1), key(2)), (key(3), key(4)));
        (Session::new(protection, one, other), Session::new(protection, other, one))
    }

    fn sealed(session: &mut Session, bytes: &[u8]) -> Vec<u8> {
        let mut raw = Vec::new();
        session.sealer.seal(bytes, &mut raw);
        raw
    }

    fn opened(session: &mut Session, mut raw: Vec<u8>) -> Result<Vec<u8>, Forged> {
        let mut bytes = Vec::new();
        session.opener.open(&mut raw, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn it_is_chacha20_poly1305() {
        // What another implementation of RFC 8439 gives (OpenSSL 3.0).
        let key: [u8; 32] = std::array::from_fn(|at| 0x80 + at as u8);
        let mut sealer = Sealer { key: Key(key), cipher: Key(key).cipher(), count: 0, hides: true };
        let mut raw = Vec::new();
        sealer.seal(b"Ladies and Gentlemen", &mut raw);
        assert_eq!(raw[..4], 20u32.to_le_bytes());
        assert_eq!(hex(&raw[4..]), VECTOR);
    }

    /// `Ladies and Gentlemen` under the key 80 81 … 9f and a nonce of zeros.
    const VECTOR: &str = "663d7ec45b29ceaaa35505b8c1b3d94613a50fd7d0157866152ebae413f9e87ee014e82d";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn what_is_hidden_does_not_show_and_what_is_signed_does() {
        let words = b"a word that is easily found";
        let shows = |protection| {
            let raw = sealed(&mut sides(protection).0, words);
            raw.windows(words.len()).any(|window| window == words)
        };
        assert!(shows(Protection::Integrity));
        assert!(!shows(Protection::Encrypt));
    }

    #[test]
    fn records_repeated_reordered_left_out_or_reflected_do_not_open() {
        for protection in [Protection::Integrity, Protection::Encrypt] {
            let (mut one, mut other) = sides(protection);
            let (first, second) = (sealed(&mut one, b"first"), sealed(&mut one, b"second"));
            assert_eq!(opened(&mut sides(protection).1, second.clone()), Err(Forged), "left out");
            assert_eq!(opened(&mut one, first.clone()), Err(Forged), "reflected");
            assert_eq!(opened(&mut other, first.clone()), Ok(b"first".to_vec()));
            assert_eq!(opened(&mut other, first), Err(Forged), "repeated");
            assert_eq!(opened(&mut other, second), Err(Forged), "after a forged one nothing opens");
        }
    }

    #[test]
    fn a_last_word_comes_through_between_records() {
        let (mut one, mut other) = sides(Protection::Encrypt);
        let mut space = [0; 100];
        let last = one.urgent.seal([7; 12], b"the end", &mut space).to_vec();
        let mut raw = sealed(&mut one, b"first");
        raw.extend(&last);
        raw.extend(sealed(&mut one, b"second"));
        assert_eq!(opened(&mut other, raw), Ok(b"firstthe endsecond".to_vec()));
        let mut changed = last;
        changed[20] ^= 1;
        assert_eq!(opened(&mut other, changed), Err(Forged));
    }

    proptest! {
        /// However the stream is cut, what was sent comes out.
        #[test]
        fn bytes_survive_any_cut(
            messages in proptest::collection::vec(0usize..40_000, 1..6),
            pieces in proptest::collection::vec(1usize..50_000, 1..40),
            hides in any::<bool>(),
        ) {
            let (mut one, mut other) = sides(if hides { Protection::Encrypt } else { Protection::Integrity });
            let (mut sent, mut wire) = (Vec::new(), Vec::new());
            for (seed, len) in messages.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + seed) as u8).collect();
                one.sealer.seal(&bytes, &mut wire);
                sent.extend(bytes);
            }
            let (mut raw, mut got, mut pieces) = (Vec::new(), Vec::new(), pieces.into_iter().cycle());
            while !wire.is_empty() {
                let count = pieces.next().unwrap_or(1).min(wire.len());
                raw.extend(wire.drain(..count));
                other.opener.open(&mut raw, &mut got).unwrap();
            }
            prop_assert_eq!(got, sent);
            prop_assert!(raw.is_empty());
        }

        /// A changed bit anywhere: nothing from there on comes out.
        #[test]
        fn a_changed_bit_does_not_open(at in 0usize..4000, bit in 0..8u32, hides in any::<bool>()) {
            let (mut one, mut other) = sides(if hides { Protection::Encrypt } else { Protection::Integrity });
            let mut raw = sealed(&mut one, &[1; 1000]);
            raw.extend(sealed(&mut one, &[2; 1000]));
            let at = at % raw.len();
            raw[at] ^= 1 << bit;
            // A length that grew waits for more; what then comes does not open.
            raw.resize(40_000, 0);
            let mut got = Vec::new();
            prop_assert_eq!(other.opener.open(&mut raw, &mut got), Err(Forged));
            prop_assert_eq!(got, vec![1; if at < 1000 + OVERHEAD { 0 } else { 1000 }]);
        }
    }
}
