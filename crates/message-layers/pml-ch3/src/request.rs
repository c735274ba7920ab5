//! Operations under way.

use btl::{Peer, RemoteKey};
use pml::{Data, Done, Envelope, Pattern, Progress};

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

pub enum State {
    Send(Send),
    Posted { pattern: Pattern, into: Data },
    Receive(Receive),
    Done(Done),
}

/// A send that is not complete.
pub struct Send {
    pub peer: Peer,
    pub envelope: Envelope,
    pub data: Data,
    pub sync: bool,
    pub phase: Phase,
    /// Of the user's memory, where it is offered.
    pub key: Option<RemoteKey>,
    /// Puts under way, which use that memory.
    pub puts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nothing has left.
    Waiting,
    /// It is with the receiver, which is to announce the match.
    Eager,
    /// It is offered.
    Offered,
}

/// A receive whose message is an offer.
pub struct Receive {
    pub peer: Peer,
    pub envelope: Envelope,
    pub into: Data,
    /// The sender's request.
    pub sender: u32,
    pub total: u64,
    /// Bytes that are to be stored: the message's, or as many as there is room for.
    pub wanted: u64,
    /// Of the sender's memory.
    pub key: Option<RemoteKey>,
    pub way: TransferKind,
    /// Bytes that were asked for, and that are here.
    pub asked: u64,
    pub arrived: u64,
    /// Gets under way.
    pub gets: u32,
    /// A get failed: what is here does not count.
    pub failed: bool,
    /// Pieces that the sender is putting.
    pub open: Vec<Piece>,
}

/// How an offered message is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferKind {
    Get,
    Put,
    Fragments,
}

/// Memory of a receive that is exposed to its sender.
pub struct Piece {
    pub offset: u64,
    pub len: u64,
    /// Bytes that are not here yet.
    pub left: u64,
    pub key: RemoteKey,
}

/// A get or put under way.
pub enum Transfer {
    /// Of a buffer of E1.
    Fetch(u32),
    /// Of a part of a receive.
    Get { receive: u32, len: u64 },
    /// For a receive of the peer.
    Put { send: u32, receive: u32, offset: u64, len: u64 },
}
