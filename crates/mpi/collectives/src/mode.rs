//! How a collective call is completed, and what that means for its start.

/// How a collective call is completed.
#[derive(Debug)]
pub enum Mode<'a> {
    /// When it returns.
    Blocking,
    /// When it returns; the library makes it by itself, so forced algorithms serve only where they fit.
    Own,
    /// By the request (`MPI_I…`).
    Nonblocking(&'a mut abi::Request),
    /// By the request, once for each start (`MPI_…_init`).
    Persistent(&'a mut abi::Request),
}

/// How a collective starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A blocking call: everything before it that uses the area is over.
    Blocking,
    /// A nonblocking call, whose turn in the area comes.
    Nonblocking,
    /// Later calls, in an order that is not the same on all processes.
    Persistent,
    /// As `Persistent`, in an area that they have to themselves.
    InOwnArea,
    /// As `Blocking`, made by the library.
    Own,
    /// Made by the library beside the calls of the program, in an order that is not the same on all processes.
    OwnApart,
}

impl Start {
    /// Whether all processes begin the call in the same place among the calls of the communicator.
    pub fn is_ordered(self) -> bool {
        matches!(self, Start::Blocking | Start::Nonblocking | Start::Own)
    }

    /// Whether the call may use an area, where `shares` says that the communicator has one.
    pub fn uses_area(self, shares: bool) -> bool {
        self == Start::InOwnArea || self.is_ordered() && shares
    }

    /// Whether the library makes it.
    pub fn is_own(self) -> bool {
        matches!(self, Start::Own | Start::OwnApart)
    }
}

impl Mode<'_> {
    pub(super) fn start(&self) -> Start {
        match self {
            Mode::Blocking => Start::Blocking,
            Mode::Own => Start::Own,
            Mode::Nonblocking(_) => Start::Nonblocking,
            Mode::Persistent(_) => Start::Persistent,
        }
    }
}
