//! Names and results of operations.

use abi::Status;
use btl::Peer;
use mem::Slab;

use crate::Envelope;

/// Bits of a name's index: `2^23` operations can be under way.
pub const INDEX_BITS: u32 = 23;

/// Bits of a name's generation, above the index. A free slot is reused after all others, so a name comes back only
/// after `2^6` uses of its slot: a stale name is an error and not another operation.
pub const GENERATION_BITS: u32 = 6;

/// Names an operation from its start until [`crate::LayerState::take`]: index and generation, within 29 bits. The
/// engine makes a request handle of it by adding bits above, so there is no second object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReqId(pub u32);

/// Names a message that a matched probe claimed; as [`ReqId`], in a series of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageId(pub u32);

/// The operations of a layer, by their names; `S` is what the layer keeps of each.
pub type Requests<S> = Slab<Request<S>, INDEX_BITS, GENERATION_BITS>;

/// An operation, from its start until its owner has seen the result.
pub struct Request<S> {
    /// As given to the operation.
    pub owner: u32,
    /// The engine has given it up (`MPI_Request_free`): it disappears at its end.
    pub detached: bool,
    /// How far it is.
    pub state: S,
}

impl<S> Request<S> {
    /// An operation that begins.
    #[inline]
    pub const fn new(owner: u32, state: S) -> Request<S> {
        Request { owner, detached: false, state }
    }
}

/// How far an operation is, as far as all layers agree on it.
pub trait Progress {
    /// How it ended; `None` while it is active.
    fn done(&self) -> Option<&Done>;
}

/// A message or an operation that is not done, as tools are shown it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// What it is.
    pub kind: OpenKind,
    /// The other process; `None`: any.
    pub peer: Option<Peer>,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
    /// The context.
    pub context: u32,
    /// Bytes of the message, or of the buffer of a receive without one.
    pub bytes: u64,
}

/// What an [`Open`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenKind {
    /// A receive without a message.
    Posted,
    /// A message without a receive.
    Unexpected,
    /// A send that waits for its receive, or for room.
    Send,
    /// A message that is being transferred.
    Transfer,
}

/// What an operation waits for that another process has not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// A message.
    Message {
        /// Its sender; `None`: any.
        peer: Option<Peer>,
        /// Its tag, or `ANY_TAG`.
        tag: i32,
        /// Its context.
        context: u32,
    },
    /// A receive that takes the message.
    Receive {
        /// The receiver.
        peer: Peer,
        /// The tag of the message.
        tag: i32,
        /// Its context.
        context: u32,
    },
}

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// Of a receive: source, tag and bytes stored. Of a send: empty but for the cancelled mark.
    pub status: Status,
    /// `SUCCESS`, `ERR_TRUNCATE`, or `ERR_PROC_ABORTED` when the peer is gone.
    pub error: i32,
    /// As given to the operation.
    pub owner: u32,
}

impl Done {
    /// A send whose buffer is free.
    pub const fn sent(owner: u32) -> Done {
        Done { status: Status::EMPTY, error: abi::SUCCESS, owner }
    }

    /// An operation that did not take place because it was cancelled.
    pub const fn cancelled(owner: u32) -> Done {
        let mut status = Status::EMPTY;
        status.set_cancelled(true);
        Done { status, error: abi::SUCCESS, owner }
    }

    /// An operation whose peer is gone.
    pub const fn lost(owner: u32) -> Done {
        Done { status: Status::EMPTY, error: abi::ERR_PROC_ABORTED, owner }
    }

    /// An operation in a context that was revoked.
    pub const fn revoked(owner: u32) -> Done {
        Done { status: Status::EMPTY, error: abi::ERR_REVOKED, owner }
    }

    /// A receive that stored `stored` bytes of a message of `total`.
    #[inline(always)]
    pub const fn received(message: &Envelope, stored: u64, total: u64, owner: u32) -> Done {
        let error = if total > stored { abi::ERR_TRUNCATE } else { abi::SUCCESS };
        let status =
            Status::new(message.source, message.tag, stored).with_missing(total.saturating_sub(stored));
        Done { status, error, owner }
    }
}
