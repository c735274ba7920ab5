//! Callers by TCP.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::exchange::{CHALLENGE, Calling};
use crate::{Caller, Ends, Protection, Secret, Session, Who};

/// What reading a socket that does not block has come to; `None`: nothing was there.
pub(crate) fn unless_empty(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        read => read.map(Some),
    }
}

/// Of a socket that does not block.
impl Caller for TcpStream {
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        unless_empty(self.read(into))
    }

    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn name(&self) -> String {
        self.peer_addr().map_or_else(|error| error.to_string(), |address| address.to_string())
    }

    fn ends(&self) -> Ends {
        Ends::of_owner(self)
    }
}

/// The caller's side of the exchange over `stream`, which blocks, in `limit` at most: the other side may be a stranger that
/// sends a byte now and then. What follows is encrypted. `nonce` is random, and new for each connection.
///
/// # Errors
/// In words: the connection's, or that the other side is not of this job.
pub fn prove(
    mut stream: &TcpStream,
    secret: Secret,
    who: Who,
    nonce: u128,
    limit: Duration,
) -> Result<Session, String> {
    let words = |error: io::Error| error.to_string();
    let calling = Calling::new(secret, who, &Ends::of_caller(stream), Protection::Encrypt, nonce);
    stream.write_all(calling.hello()).map_err(words)?;
    let mut challenge = [0; CHALLENGE];
    read_within(stream, &mut challenge, Instant::now() + limit)
        .map_err(|error| format!("no challenge came: {error}"))?;
    let (proof, session) = calling.prove(&challenge).map_err(|refusal| refusal.to_string())?;
    stream.write_all(&proof).map_err(words)?;
    Ok(session)
}

/// Fills `into` from `stream`, which blocks, until `end` at the latest.
///
/// # Errors
/// The connection's; `TimedOut`.
pub fn read_within(mut stream: &TcpStream, mut into: &mut [u8], end: Instant) -> io::Result<()> {
    while !into.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => into = &mut into[bytes..],
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
