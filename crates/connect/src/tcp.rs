//! Callers by TCP.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::exchange::{CHALLENGE, Calling};
use crate::{Caller, Secret, Who};

/// Of a socket that does not block.
impl Caller for TcpStream {
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            read => read.map(Some),
        }
    }

    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn name(&self) -> String {
        self.peer_addr().map_or_else(|error| error.to_string(), |address| address.to_string())
    }
}

/// The caller's side of the exchange over `stream`, which blocks. `nonce` is random, and new for each connection.
///
/// # Errors
/// In words: the connection's, or that the other side is not of this job.
pub fn prove(mut stream: impl Read + Write, secret: Secret, who: Who, nonce: u128) -> Result<(), String> {
    let words = |error: io::Error| error.to_string();
    let calling = Calling::new(secret, who, nonce);
    stream.write_all(calling.hello()).map_err(words)?;
    let mut challenge = [0; CHALLENGE];
    stream.read_exact(&mut challenge).map_err(|error| format!("no challenge came: {error}"))?;
    let proof = calling.prove(&challenge).map_err(|refusal| refusal.to_string())?;
    stream.write_all(&proof).map_err(words)
}
