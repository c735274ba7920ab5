//! What is posted to the NIC for one-sided copies: transfers, what each is for, and what windows have under way.

use gni::{MemHandle, PostDescriptor};
use mem::UserMem;
use rdma::Silent;

/// Payload in bytes of a window's buffer, for what cannot go straight into the reader's memory.
pub(crate) const BUFFER: usize = 8192;

/// How many of them there are: at first, more at a time, at most.
pub(crate) const BUFFERS: [i64; 3] = [8, 8, 64];

/// A GET or PUT of this process, posted or to be posted again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) connection: u32,
    pub(crate) descriptor: PostDescriptor,
    pub(crate) tries: u32,
    pub(crate) purpose: Purpose,
}

/// What a transfer is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The layer above; the local memory was registered for it where a handle is given.
    Above { cookie: u64, registered: Option<MemHandle> },
    /// An Eager GET into a receive buffer.
    EagerGet { context: u32, buffer: u32, words: u8, len: usize },
    /// A window.
    Window(Access),
    /// Nothing: it shows that the peer is there.
    Probe,
}

/// An access to a peer's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Of the event that reports its end; otherwise it counts for [`btl::RemoteMemory::flush`].
    pub(crate) cookie: Option<u64>,
    /// The local memory was registered for it.
    pub(crate) registered: Option<MemHandle>,
    /// What is fetched comes into this buffer.
    pub(crate) buffer: Option<u32>,
    /// Bytes in the buffer before those that are wanted.
    pub(crate) skip: u8,
    /// Where they go.
    pub(crate) into: Option<UserMem>,
    /// A swap made of compare-swaps.
    pub(crate) swaps: bool,
}

impl Access {
    /// One that nothing was taken for.
    pub(crate) const PLAIN: Access =
        Access { cookie: None, registered: None, buffer: None, skip: 0, into: None, swaps: false };
}

/// What this process has under way in the windows of one peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay {
    /// Number of accesses.
    pub(crate) all: u32,
    /// Those that report nothing.
    pub(crate) silent: Silent,
    pub(crate) atomics: rdma::UnderWay,
}
