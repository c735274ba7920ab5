//! Calling at a port, at all its addresses until one answers.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use connect::exchange::{CHALLENGE, Calling};
use connect::{Caller, Ends, Protection, Session};

use crate::port::Name;

/// After this the next address is tried, too.
const NEXT: Duration = Duration::from_millis(300);

/// A connection that is tried.
struct Attempt {
    stream: TcpStream,
    /// What was sent, once the connection stands.
    calling: Option<Calling>,
    challenge: Vec<u8>,
}

/// Calls at a port, whose owner may accept later. `None`: it has not by `end`, or `cancel` is readable.
///
/// # Errors
/// No address leads to the port, in words: it is closed, or its owner is gone.
pub(crate) fn dial(
    name: &Name,
    end: Option<Instant>,
    cancel: i32,
) -> Result<Option<(TcpStream, Session)>, String> {
    let mut places = name.places.iter();
    let mut attempts: Vec<Attempt> = Vec::new();
    let (mut failures, mut next) = (Vec::new(), Instant::now());
    loop {
        let now = Instant::now();
        if now >= next || attempts.is_empty() {
            next = now + NEXT;
            match places.next().map(|&place| (place, begin(place))) {
                Some((_, Ok(attempt))) => attempts.push(attempt),
                Some((place, Err(error))) => failures.push(format!("{place}: {error}")),
                None if attempts.is_empty() => return Err(failures.join("; ")),
                None => next = now + Duration::from_secs(3600),
            }
        }
        let mut at = 0;
        while at < attempts.len() {
            match attempts[at].advance(name) {
                Ok(Some(session)) => return Ok(Some((attempts.swap_remove(at).stream, session))),
                Ok(None) => at += 1,
                Err(error) => {
                    let gone = attempts.swap_remove(at);
                    let place =
                        gone.stream.peer_addr().map_or_else(|_| "it".to_owned(), |place| place.to_string());
                    failures.push(format!("{place}: {error}"));
                    next = now;
                }
            }
        }
        let is_given_up = || platform::descriptor::wait_readable(cancel, Some(Duration::ZERO));
        if end.is_some_and(|end| end <= now) || is_given_up() {
            return Ok(None);
        }
        if attempts.is_empty() {
            continue;
        }
        let until = end.map_or(next, |end| end.min(next));
        // A connection that does not stand yet shows by room, which is looked for now and then.
        let stands = attempts.iter().all(|attempt| attempt.calling.is_some());
        let limit = until.saturating_duration_since(now);
        let limit = if stands { limit } else { limit.min(Duration::from_millis(1)) };
        let fds: Vec<i32> =
            attempts.iter().map(|attempt| attempt.stream.as_raw_fd()).chain([cancel]).collect();
        platform::descriptor::wait_any(&fds, Some(limit));
    }
}

fn begin(place: SocketAddr) -> io::Result<Attempt> {
    Ok(Attempt { stream: platform::tcp::connect(place)?, calling: None, challenge: Vec::new() })
}

impl Attempt {
    /// Goes on as far as the connection does; `Some`: the owner and this process have proven themselves.
    fn advance(&mut self, name: &Name) -> io::Result<Option<Session>> {
        if self.calling.is_none() {
            if let Some(error) = self.stream.take_error()? {
                return Err(error);
            }
            if self.stream.peer_addr().is_err() {
                return Ok(None);
            }
            let nonce = platform::random::nonce();
            let ends = Ends::of_caller(&self.stream);
            let calling = Calling::new(name.secret(), name.who(), &ends, Protection::Encrypt, nonce);
            self.stream.write_now(calling.hello())?;
            self.calling = Some(calling);
        }
        let Some(calling) = &self.calling else { return Ok(None) };
        let mut bytes = [0; CHALLENGE];
        let room = CHALLENGE - self.challenge.len();
        match self.stream.read_some(&mut bytes[..room])? {
            None => return Ok(None),
            Some(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the port was closed")),
            Some(count) => self.challenge.extend_from_slice(&bytes[..count]),
        }
        let Some(challenge) = self.challenge.first_chunk::<CHALLENGE>() else { return Ok(None) };
        let (proof, session) =
            calling.prove(challenge).map_err(|refusal| io::Error::other(refusal.to_string()))?;
        self.stream.write_now(&proof)?;
        Ok(Some(session))
    }
}
