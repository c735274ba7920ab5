//! What protects the bytes of a connection: the session that its proof has ended in ([`connect::channel`]).
//!
//! The verdict and the confirmation are sealed on all connections, each in a record of its own; so no side takes a
//! connection for the one on the word of anything between the two. After that frames are sealed where both sides see
//! different ends of the connection, or one of them wishes it (`btl_tcp_security`).
//!
//! What is sealed is copied once: the kernel must not read memory of users that may change after it was signed.

use connect::channel::{OVERHEAD, RECORD};
use connect::{Opener, Protection, Session};
use mem::PeerBytes;
use std::io;

/// Bytes of the longest record.
const WHOLE: usize = OVERHEAD + RECORD;
/// Space that reading needs: a record that is nearly whole and, behind it, another one.
pub(crate) const LEAST: usize = 2 * WHOLE;
/// Records that are sealed before the socket takes them.
const AT_A_TIME: usize = 8;

#[derive(Debug)]
pub(crate) struct Seal {
    session: Session,
    /// Space for records as they came; those that are not whole yet lie at the front.
    raw: Vec<u8>,
    /// Bytes there.
    had: usize,
    /// Records that the socket has not taken.
    out: Vec<u8>,
    written: usize,
}

impl Seal {
    pub(crate) fn new(session: Session) -> Seal {
        Seal { session, raw: Vec::new(), had: 0, out: Vec::new(), written: 0 }
    }

    /// How frames are protected.
    pub(crate) fn protection(&self) -> Protection {
        self.session.protection()
    }

    /// Whether the socket has not taken all that was sealed.
    pub(crate) fn has_unsent(&self) -> bool {
        self.written < self.out.len()
    }

    /// Reads by `read` what is there, and opens it into `into`; `Ok(None)`: nothing for now. `Ok(Some(0))`: the other side
    /// has closed. No whole record stays here, since the socket would not report that.
    pub(crate) fn read(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> io::Result<Option<usize>>,
        into: &mut [u8],
    ) -> io::Result<Option<usize>> {
        loop {
            // With space for all that they open to, several records are taken at once; else one of them to the byte.
            let most = match into.len() >= LEAST {
                true => into.len(),
                false => Opener::extent(&self.raw[..self.had]).map_err(forged)?.unwrap_or(OVERHEAD),
            };
            if self.raw.len() < most {
                self.raw.resize(most, 0);
            }
            match read(&mut self.raw[self.had..most])? {
                None => return Ok(None),
                Some(0) => return Ok(Some(0)),
                Some(bytes) => self.had += bytes,
            }
            match self.open(into)? {
                0 => {}
                opened => return Ok(Some(opened)),
            }
        }
    }

    /// Opens all whole records; the bytes that they held.
    fn open(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (mut taken, mut opened) = (0, 0);
        while let Some(whole) = Opener::extent(&self.raw[taken..self.had]).map_err(forged)?
            && taken + whole <= self.had
        {
            let bytes = self.session.opener.open_one(&mut self.raw[taken..taken + whole]).map_err(forged)?;
            let space = into.get_mut(opened..opened + bytes.len()).ok_or(io::ErrorKind::InvalidData)?;
            space.copy_from_slice(bytes);
            opened += bytes.len();
            taken += whole;
        }
        self.raw.copy_within(taken..self.had, 0);
        self.had -= taken;
        Ok(opened)
    }

    /// Seals the beginning of `pieces`, or all of them; the bytes that were taken. 0: the socket has not taken what was
    /// sealed before.
    pub(crate) fn send(
        &mut self,
        pieces: &[PeerBytes<'_>],
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.flush(&mut write)?;
        if self.has_unsent() {
            return Ok(0);
        }
        let mut left = pieces.iter().map(|piece| piece.len()).sum::<usize>().min(AT_A_TIME * RECORD);
        let (taken, mut rest) = (left, pieces.iter().copied());
        let mut piece = PeerBytes::of(&[]);
        while left > 0 {
            let len = left.min(RECORD);
            self.session.sealer.seal_with(len, &mut self.out, |mut space| {
                while !space.is_empty() {
                    if piece.is_empty() {
                        let Some(next) = rest.next() else { break };
                        piece = next;
                        continue;
                    }
                    let count = piece.len().min(space.len());
                    piece.copy_to(&mut space[..count]);
                    piece = piece.part(count, usize::MAX);
                    space = &mut space[count..];
                }
            });
            left -= len;
        }
        self.flush(&mut write)?;
        Ok(taken)
    }

    /// Writes by `write` what the socket takes.
    pub(crate) fn flush(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while self.has_unsent() {
            match write(&self.out[self.written..])? {
                0 => return Ok(()),
                written => self.written += written,
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }
}

fn forged(forged: connect::channel::Forged) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, forged.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use connect::exchange::{Answering, Calling};
    use connect::{Ends, Role, Secret, Who};
    use proptest::prelude::*;

    fn seals(protection: Protection) -> (Seal, Seal) {
        let who = Who { role: Role::Process, job: 1, from: 2, to: 3 };
        let (secret, ends) = (Secret::new(7), Ends::UNKNOWN);
        let calling = Calling::new(secret, who, &ends, protection, 8);
        let answering = Answering::new(secret, *calling.hello(), &ends, protection, 9);
        let (proof, session) = calling.prove(answering.challenge()).unwrap();
        (Seal::new(session), Seal::new(answering.check(&proof).unwrap()))
    }

    /// A socket that takes and gives so many bytes at a time.
    fn take(wire: &mut Vec<u8>, most: usize, into: &mut [u8]) -> Option<usize> {
        let count = most.min(wire.len()).min(into.len());
        into[..count].copy_from_slice(&wire[..count]);
        wire.drain(..count);
        (count > 0).then_some(count)
    }

    proptest! {
        /// Words to the byte, then frames however the stream is cut; nothing stays behind that no socket reports.
        #[test]
        fn words_and_frames_come_through(
            lens in proptest::collection::vec(1usize..90_000, 1..5),
            cut in 1usize..70_000,
            space in LEAST..100_000,
            hides in any::<bool>(),
        ) {
            let (mut one, mut other) = seals(if hides { Protection::Encrypt } else { Protection::Integrity });
            let (mut wire, mut sent, mut got) = (Vec::new(), Vec::new(), Vec::<u8>::new());
            let put = |wire: &mut Vec<u8>, bytes: &[u8]| {
                let count = bytes.len().min(cut);
                wire.extend(&bytes[..count]);
                Ok(count)
            };
            prop_assert_eq!(one.send(&[PeerBytes::of(b"word")], |bytes| put(&mut wire, bytes)).unwrap(), 4);
            for (seed, len) in lens.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + seed) as u8).collect();
                let mut at = 0;
                while at < len {
                    let half = (len - at) / 2;
                    let pieces = [PeerBytes::of(&bytes[at..at + half]), PeerBytes::of(&bytes[at + half..])];
                    at += one.send(&pieces, |bytes| put(&mut wire, bytes)).unwrap();
                }
                sent.extend(bytes);
            }
            let mut word = [0; 4];
            while other.read(|into| Ok(take(&mut wire, cut, into)), &mut word).unwrap() != Some(4) {}
            prop_assert_eq!(&word, b"word");
            while !wire.is_empty() {
                let mut into = vec![0; space];
                if let Some(count) = other.read(|into| Ok(take(&mut wire, cut, into)), &mut into).unwrap() {
                    got.extend(&into[..count]);
                }
            }
            prop_assert_eq!(got, sent);
            prop_assert_eq!(other.had, 0);
        }
    }

    #[test]
    fn a_socket_that_is_full_is_waited_for() {
        let (mut one, _) = seals(Protection::Encrypt);
        let bytes = [1; 100];
        assert_eq!(one.send(&[PeerBytes::of(&bytes)], |_| Ok(0)).unwrap(), 100);
        assert!(one.has_unsent());
        assert_eq!(one.send(&[PeerBytes::of(&bytes)], |_| Ok(0)).unwrap(), 0);
        one.flush(|bytes| Ok(bytes.len())).unwrap();
        assert!(!one.has_unsent());
    }
}
