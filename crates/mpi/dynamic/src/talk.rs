//! What two leaders say to each other before their groups meet, over a stream of bytes.
//!
//! ```text
//!   connects                                    accepts
//!    │ ── offer: an encounter, its group ────────►
//!    │ ◄──────── offer: an encounter, its group ──
//!    │ ── confirmed ─────────────────────────────►   from here on both sides are bound
//! ```
//! The encounter of the side that accepts is taken.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use communicators::acquaint::{Encounter, Side};
use connect::Session;
use platform::descriptor;

/// How long the other leader may take for its messages, once it has begun.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Longest message, in bytes.
const LONGEST: usize = 1 << 30;
const CONFIRMED: &str = "confirmed";

/// The stream between two leaders. It may block or not.
pub(crate) struct Talk<S> {
    stream: S,
    /// Protects all bytes, where the leaders have proven to each other who they are.
    session: Option<Session>,
    /// Read and not opened yet.
    raw: Vec<u8>,
    input: Vec<u8>,
}

/// What one leader gives the other one. A talk ends with the other leader's offer, and in it the encounter that is
/// taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Its own; after a talk the one that is taken, as the side of this process sees it.
    pub(crate) encounter: Encounter,
    /// The leader's rank in its group.
    pub(crate) leader: u32,
    /// Its group.
    pub(crate) side: Side,
}

impl Offer {
    pub(crate) fn encode(&self) -> String {
        let Encounter { id, is_first } = self.encounter;
        format!("{id} {} {}\n{}", u64::from(is_first), self.leader, self.side.encode())
    }

    /// What [`Offer::encode`] has written.
    pub(crate) fn parse(text: &str) -> Option<Offer> {
        let (head, side) = text.split_once('\n')?;
        let words: Vec<u64> = head.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[id, is_first, leader] = &words[..] else { return None };
        let side = Side::parse(side)?;
        let leader = u32::try_from(leader).ok().filter(|&leader| (leader as usize) < side.members.len())?;
        Some(Offer { encounter: Encounter { id, is_first: is_first != 0 }, leader, side })
    }
}

impl<S: Read + AsFd> Talk<S> {
    pub(crate) fn new(stream: S, session: Option<Session>) -> Talk<S> {
        Talk { stream, session, raw: Vec::new(), input: Vec::new() }
    }

    /// The side that accepts. It gives up when one of `watched` is readable, until the other one may be bound.
    ///
    /// # Errors
    /// The stream's, `InvalidData`, `TimedOut`, `ConnectionAborted`: given up.
    pub(crate) fn accept(&mut self, ours: &Offer, watched: &[RawFd]) -> io::Result<Offer> {
        let end = Instant::now() + PATIENCE;
        let theirs = self.receive_offer(end, watched)?;
        self.send(&ours.encode())?;
        if self.receive(end, &[])? != CONFIRMED {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Offer { encounter: ours.encounter, ..theirs })
    }

    /// The side that connects. The other one may take until `end`, or until one of `watched` is readable.
    ///
    /// # Errors
    /// As [`Talk::accept`].
    pub(crate) fn connect(&mut self, ours: &Offer, end: Instant, watched: &[RawFd]) -> io::Result<Offer> {
        self.send(&ours.encode())?;
        let theirs = self.receive_offer(end, watched)?;
        self.send(CONFIRMED)?;
        Ok(Offer { encounter: Encounter { is_first: false, ..theirs.encounter }, ..theirs })
    }

    /// Two sides that are alike: the encounter with the larger number is taken.
    ///
    /// # Errors
    /// As [`Talk::accept`].
    pub(crate) fn join(&mut self, ours: &Offer) -> io::Result<Offer> {
        self.send(&ours.encode())?;
        let theirs = self.receive_offer(Instant::now() + PATIENCE, &[])?;
        let encounter = match ours.encounter.id.cmp(&theirs.encounter.id) {
            std::cmp::Ordering::Greater => ours.encounter,
            std::cmp::Ordering::Less => Encounter { is_first: false, ..theirs.encounter },
            // Nothing but this process's own words comes back.
            std::cmp::Ordering::Equal => return Err(io::ErrorKind::InvalidData.into()),
        };
        Ok(Offer { encounter, ..theirs })
    }

    fn receive_offer(&mut self, end: Instant, watched: &[RawFd]) -> io::Result<Offer> {
        Offer::parse(&self.receive(end, watched)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        let mut plain = (text.len() as u32).to_le_bytes().to_vec();
        plain.extend_from_slice(text.as_bytes());
        let mut bytes = Vec::new();
        match &mut self.session {
            Some(session) => session.sealer.seal(&plain, &mut bytes),
            None => bytes = plain,
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match pmi::scm::send(self.stream.as_fd(), rest, &[]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // These are few bytes but for groups of thousands: room comes soon, or the other side is gone.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, end: Instant, watched: &[RawFd]) -> io::Result<String> {
        loop {
            if let Some((length, rest)) = self.input.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                if length > LONGEST {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if rest.len() >= length {
                    let text = String::from_utf8(rest[..length].to_vec());
                    self.input.drain(..4 + length);
                    return text.map_err(|_| io::ErrorKind::InvalidData.into());
                }
            }
            self.fill(end, watched)?;
        }
    }

    /// Reads what is there, once something is: no more than this exchange, since a program goes on with its own socket
    /// afterwards.
    fn fill(&mut self, end: Instant, watched: &[RawFd]) -> io::Result<()> {
        let left = end.saturating_duration_since(Instant::now());
        let stream = self.stream.as_fd().as_raw_fd();
        descriptor::wait_any(&[&[stream], watched].concat(), Some(left));
        let is_readable = |fd: RawFd| descriptor::wait_readable(fd, Some(Duration::ZERO));
        if watched.iter().any(|&fd| is_readable(fd)) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if !is_readable(stream) {
            return if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) };
        }
        let mut buffer = [0; 4096];
        let wanted = if self.session.is_some() { buffer.len() } else { self.wanted().min(buffer.len()) };
        match self.stream.read(&mut buffer[..wanted]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => self.take(&buffer[..bytes]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Bytes that the next message still lacks, as far as is known.
    fn wanted(&self) -> usize {
        match self.input.split_first_chunk::<4>() {
            None => 4 - self.input.len(),
            Some((length, rest)) => (u32::from_le_bytes(*length) as usize).saturating_sub(rest.len()).max(1),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.session {
            Some(session) => {
                self.raw.extend_from_slice(bytes);
                let opened = session.opener.open(&mut self.raw, &mut self.input);
                opened.map_err(|_| io::ErrorKind::InvalidData.into())
            }
            None => {
                self.input.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// The program's own socket, under a number of this library's.
pub(crate) fn of_program(fd: i32) -> io::Result<std::fs::File> {
    platform::descriptor::duplicate(fd).map(|own: OwnedFd| std::fs::File::from(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use communicators::acquaint::Member;
    use engine::Process;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn offer(id: u64, ranks: u32) -> Offer {
        let member = |rank| Member { process: Process { job: id, rank }, card: "1 ::1".to_owned() };
        let side = Side { members: (0..ranks).map(member).collect() };
        Offer { encounter: Encounter { id, is_first: true }, leader: ranks - 1, side }
    }

    #[test]
    fn both_sides_take_the_encounter_of_the_one_that_accepts() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        // More than a socket holds.
        let (one, other) = (offer(7, 20_000), offer(9, 3));
        let (away, end) = (other.clone(), Instant::now() + PATIENCE);
        let thread = std::thread::spawn(move || Talk::new(theirs, None).connect(&away, end, &[]));
        let met = Talk::new(ours, None).accept(&one, &[]).unwrap();
        assert_eq!(met, Offer { encounter: one.encounter, leader: 2, side: other.side });
        let met = thread.join().unwrap().unwrap();
        assert_eq!(
            met,
            Offer {
                encounter: Encounter { is_first: false, ..one.encounter },
                leader: 19_999,
                side: one.side
            }
        );
    }

    #[test]
    fn a_join_reads_no_byte_that_is_the_programs() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let their_end = theirs.try_clone().unwrap();
        let thread = std::thread::spawn(move || {
            let met = Talk::new(their_end, None).join(&offer(9, 1));
            theirs.write_all(b"the program's").unwrap();
            met
        });
        let met = Talk::new(ours.try_clone().unwrap(), None).join(&offer(7, 1)).unwrap();
        assert!(!met.encounter.is_first && met.encounter.id == 9);
        assert!(thread.join().unwrap().unwrap().encounter.is_first);
        let mut text = String::new();
        ours.read_to_string(&mut text).unwrap();
        assert_eq!(text, "the program's");
    }

    #[test]
    fn a_leader_gives_up_while_the_other_one_is_not_bound() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (cancel, mut canceller) = UnixStream::pair().unwrap();
        canceller.write_all(b"x").unwrap();
        let watched = [cancel.as_raw_fd()];
        let aborted = |met: io::Result<Offer>| met.unwrap_err().kind() == io::ErrorKind::ConnectionAborted;
        let end = Instant::now() + PATIENCE;
        assert!(aborted(Talk::new(ours, None).connect(&offer(7, 1), end, &watched)));
        // The other one finds that out, by its own offer or by what follows.
        assert!(Talk::new(theirs, None).accept(&offer(9, 1), &[]).is_err());
    }

    #[test]
    fn rubbish_and_an_end_are_errors() {
        for bytes in [&b"\x05\0\0\0rubb"[..], b"\x04\0\0\0rubb", b"\xff\xff\xff\xff", b""] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(bytes).unwrap();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(Talk::new(ours, None).accept(&offer(7, 1), &[]).is_err());
        }
    }
}
