//! What is remembered of a send or receive from its start until its owner has seen the result.

use btl::{Class, Peer, RemoteKey};
use pml::{Data, Done, Envelope, Mode, Open, OpenKind, Progress, ReqId, SendTo};

use crate::frame::Rendezvous;

/// An operation.
pub(crate) type Request = pml::Request<State>;

impl Progress for State {
    #[inline]
    fn done(&self) -> Option<&Done> {
        match self {
            State::Done(done) => Some(done),
            _ => None,
        }
    }
}

/// Only what every short receive passes through lies in the slot itself, so that a slot is short; sends that do not
/// end at once and transfers cost an allocation, which is nothing beside them.
pub enum State {
    Send(Box<Send>),
    Posted(Post),
    Receive(Box<Receive>),
    Done(Done),
}

const _: () = assert!(size_of::<Request>() <= 64);

impl State {
    /// Of a send, or of a receive that has its message: the peer, and our memory that is open to it.
    pub fn transfer(&self) -> Option<(Peer, Option<RemoteKey>)> {
        match self {
            State::Send(send) => Some((send.to.peer, send.exposed)),
            State::Receive(receive) => Some((receive.peer, receive.exposed())),
            State::Posted(_) | State::Done(_) => None,
        }
    }

    /// What tools are shown of it; `None`: it is complete.
    pub fn open(&self) -> Option<Open> {
        let (kind, peer, tag, context, bytes) = match self {
            State::Posted(post) => {
                let Envelope { tag, context, .. } = post.envelope;
                (OpenKind::Posted, post.peer, tag, context, post.data.total())
            }
            State::Send(send) => {
                let kind = match send.stage {
                    SendStage::Queued | SendStage::Offered => OpenKind::Send,
                    SendStage::Streaming { .. } | SendStage::Putting { .. } | SendStage::Finished => {
                        OpenKind::Transfer
                    }
                };
                (kind, Some(send.to.peer), send.to.tag, send.to.context, send.data.total())
            }
            State::Receive(receive) => {
                let Envelope { tag, context, .. } = receive.envelope;
                (OpenKind::Transfer, Some(receive.peer), tag, context, receive.accepted)
            }
            State::Done(_) => return None,
        };
        Some(Open { kind, peer, tag, context, bytes })
    }
}

/// A send that is not complete.
pub struct Send {
    pub to: SendTo,
    pub mode: Mode,
    pub data: Data,
    pub stage: SendStage,
    /// See [`btl::Limits::min_rdma_answer`].
    pub answer: bool,
    pub cancel: Cancel,
    /// Bytes that went with the offer.
    pub head: u64,
    /// Our memory, open for the receiver to get from; concealed when the receiver answers.
    pub exposed: Option<RemoteKey>,
}

impl Send {
    /// Whether the receiver has all, and its answer is what is waited for.
    pub fn awaits_ack(&self) -> bool {
        self.stage == SendStage::Offered && self.mode == Mode::Synchronous && self.head == self.data.total()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendStage {
    /// The first frame waits for room at the transport.
    Queued,
    /// The first frame is out; the receiver will answer.
    Offered,
    /// Fragments up to `end` are on their way, the next starts at `next`.
    Streaming { receiver: u32, next: u64, end: u64 },
    /// The receiver's memory is being put into.
    Putting { receiver: u32, key: RemoteKey, pieces: Pieces },
    /// Everything was handed over; only the answer to a cancellation is missing.
    Finished,
}

/// The state of an `MPI_Cancel` of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    No,
    /// Asked of the receiver; the request stays until the answer.
    Asked,
}

/// A receive without a message.
pub struct Post {
    pub envelope: Envelope,
    /// The only process that could send it, if it is known.
    pub peer: Option<Peer>,
    pub data: Data,
}

/// A receive whose message is being transferred.
pub struct Receive {
    pub peer: Peer,
    pub envelope: Envelope,
    pub offer: Rendezvous,
    /// Bytes to transfer: what the message has and the buffer takes.
    pub accepted: u64,
    pub data: Data,
    pub stage: ReceiveStage,
}

impl Receive {
    /// Whether the sender may put.
    pub fn is_exposed(&self) -> bool {
        self.exposed().is_some()
    }

    fn exposed(&self) -> Option<RemoteKey> {
        match self.stage {
            ReceiveStage::Incoming { exposed, .. } => exposed,
            ReceiveStage::Getting { .. } => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveStage {
    /// We get from the sender's memory.
    Getting { key: RemoteKey, tail: [u8; 8], pieces: Pieces },
    /// The sender sends or puts; `received` counts what came in fragments.
    Incoming { received: u64, exposed: Option<RemoteKey> },
}

/// A long one-sided transfer in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// Where the next piece starts.
    pub next: u64,
    /// Where the last piece ends.
    pub end: u64,
    /// Pieces begun and not over.
    pub flying: u32,
    /// In each piece's cookie, so that a late event of an earlier transfer is not taken for one of this.
    pub serial: u32,
    /// A piece failed: once none is flying, the message starts again as fragments.
    pub failed: bool,
}

impl Pieces {
    /// The cookie of this transfer's pieces; [`split_cookie`] is the way back.
    pub fn cookie(&self, id: ReqId) -> u64 {
        Class::Pml.cookie((self.serial as u64) << 32 | id.0 as u64)
    }
}

/// Serial numbers wrap here: a cookie's highest byte names the class.
pub(crate) const SERIALS: u32 = 1 << 24;

/// The request and serial number in a cookie.
pub(crate) fn split_cookie(cookie: u64) -> (ReqId, u32) {
    (ReqId(cookie as u32), (cookie >> 32) as u32 % SERIALS)
}
