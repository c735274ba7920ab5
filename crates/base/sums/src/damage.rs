//! What is reported of damage.

use core::fmt;

/// Where a message came along: transport and device, and the hosts at its ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The transport, with device and addresses where it has them.
    pub path: String,
    /// The host that the bytes left.
    pub from: String,
    /// The host at which they arrived.
    pub to: String,
}

/// Of what the sums differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// Envelope, or what else goes before the payload.
    Envelope,
    /// Payload: so many bytes from so many on.
    Payload {
        /// The first of the piece.
        offset: u64,
        /// Its length.
        len: u64,
    },
}

/// Something is not as its sender sent it. Three lines for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What it is, of a sender: `a message with tag 7`.
    pub what: String,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Where it came along.
    pub place: Place,
    /// Of what the sums differ.
    pub half: Half,
    /// The sender's sum.
    pub sent: u32,
    /// The receiver's sum.
    pub found: u32,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { what, from, to, place, half, sent, found } = self;
        let Place { path, from: from_host, to: to_host } = place;
        writeln!(f, "rank {to} has received {what} of rank {from} damaged")?;
        write!(f, "seen: over {path}, from host {from_host} to host {to_host}, the CRC-32C of ")?;
        match half {
            Half::Envelope => write!(f, "its envelope")?,
            Half::Payload { offset, len } => write!(f, "{len} bytes from byte {offset} on")?,
        }
        write!(
            f,
            " was {sent:08x} when they left and is {found:08x}\n\
             look at memory, adapters and links of these hosts, or have damaged data sent again: --mca mpi_checksum repair"
        )
    }
}

/// The name of this host.
pub fn host() -> String {
    platform::host::name().filter(|name| !name.is_empty()).unwrap_or_else(|| "of an unknown name".to_owned())
}
