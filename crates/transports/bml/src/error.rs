//! Why there is no table.

use core::fmt;
use std::io;

use btl::Peer;

/// Why there is no table.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// Nothing reaches a peer.
    Unreachable(Unreachable),
    /// The transports' descriptors cannot be slept on.
    Sleeping(io::Error),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Unreachable(unreachable) => unreachable.fmt(f),
            SetupError::Sleeping(error) => write!(
                f,
                "making an epoll set of the transports' descriptors failed\n{error}\nlook at the limit for open files: \
                 ulimit -n"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

impl From<Unreachable> for SetupError {
    fn from(unreachable: Unreachable) -> SetupError {
        SetupError::Unreachable(unreachable)
    }
}

/// A peer that no transport reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreachable(pub Peer);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "choosing a transport for rank {} failed\nit is on another node, and the parameter btl allows none that \
             reaches it there\nstart all ranks on one node, or allow a network: mpiexec --mca btl self,vader,tcp",
            self.0.0
        )
    }
}

impl std::error::Error for Unreachable {}
