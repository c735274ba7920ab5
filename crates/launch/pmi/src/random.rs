//! Numbers that no other process can guess.

use crate::Error;

/// A random number from the system.
pub fn random() -> Result<u64, Error> {
    platform::random::number().map_err(|source| Error::Io { step: "getrandom", source })
}
