//! What mpiexec writes to a daemon's standard input: a line with its version, and the order.

use std::io::{BufRead, Read};

use crate::messages::Summons;
use crate::wire;

/// First word of what a daemon reads; its version follows, and the number of bytes after the line.
const HELLO: &str = "alhena-daemon";
/// Version of everything that mpiexec and its daemons send to each other.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What a daemon reports that finds no way to mpiexec.
pub(crate) const UNREACHED: &str = "mpiexec cannot be reached from this host";
/// Most bytes of an order.
const LONGEST: usize = 256 << 20;
/// Longest first line.
pub(crate) const LONGEST_LINE: u64 = 256;

/// The order in `input`.
pub(crate) fn read(mut input: impl BufRead) -> Result<Summons, String> {
    let mut line = String::new();
    (&mut input).take(LONGEST_LINE).read_line(&mut line).map_err(|error| error.to_string())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [HELLO, version, length] = words[..] else {
        return Err("no order came by standard input; mpiexec starts daemons itself".to_owned());
    };
    if version != VERSION {
        return Err(format!("this is Alhena {VERSION}, and mpiexec is Alhena {version}"));
    }
    let length: usize = length.parse().ok().filter(|&length| length < LONGEST).ok_or("a wrong order")?;
    let mut bytes = Vec::new();
    input.take(length as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    wire::decode(&bytes).ok_or_else(|| "an order that makes no sense".to_owned())
}

/// What to write to a daemon's standard input.
pub(crate) fn write(summons: &Summons) -> Vec<u8> {
    let body = wire::encode(summons);
    let mut bytes = format!("{HELLO} {VERSION} {}\n", body.len()).into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_and_no_order_are_told_apart() {
        let read = |text: &str| read(text.as_bytes()).err().unwrap();
        assert!(read("").contains("no order"));
        assert!(read("hello\n").contains("no order"));
        assert!(read("alhena-daemon 0.0.0 5\n").contains("mpiexec is Alhena 0.0.0"));
        assert!(read(&format!("alhena-daemon {VERSION} 5\nxxxxx")).contains("no sense"));
    }
}
