//! Why there is no transport.

use std::fmt;

use ofi::{NotLoaded, OpenError, Unreached};

use crate::plan::TooShort;

/// Why there is no transport.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// libfabric is missing.
    NotLoaded(NotLoaded),
    /// It has nothing that fits.
    NotOpened(OpenError),
    /// What it has holds no messages of this transport.
    TooShort(TooShort),
    /// Memory for messages cannot be registered.
    NoRoom(NoRoom),
    /// A peer cannot be reached.
    Unreached(Unreached),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotLoaded(error) => error.fmt(f),
            Error::NotOpened(error) => error.fmt(f),
            Error::TooShort(error) => error.fmt(f),
            Error::NoRoom(error) => error.fmt(f),
            Error::Unreached(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Memory for messages cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRoom {
    /// Bytes that were asked for.
    pub bytes: usize,
    /// The provider.
    pub provider: String,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "setting up libfabric's provider {} failed: registering {} bytes for messages\nthe provider takes none of them\nallow more: \
             ulimit -l unlimited; or take less: --mca btl_ofi_receives, --mca btl_ofi_frame_size",
            self.provider, self.bytes
        )
    }
}

impl std::error::Error for NoRoom {}
