//! Operations under way.

use mem::UserMem;
use mtl::{Claim, Posted};
use pml::{Data, Done, Open, OpenKind, Pattern, Progress, ReqId, SendTo};

use crate::bounce::Bounce;

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
    Receive(Receive),
    Done(Done),
}

impl State {
    /// What tools are shown of it; `None`: it is complete. Messages without a receive are with the network.
    pub fn open(&self) -> Option<Open> {
        match self {
            State::Send(send) => {
                let SendTo { peer, tag, context, .. } = send.to;
                let kind = if send.stage == Stage::Begun { OpenKind::Transfer } else { OpenKind::Send };
                Some(Open { kind, peer: Some(peer), tag, context, bytes: send.bytes })
            }
            State::Receive(receive) => {
                let Pattern { peer, tag, context, .. } = receive.pattern;
                let kind = match receive.stage {
                    Waiting::Queued | Waiting::Posted(_) => OpenKind::Posted,
                    Waiting::Claimed(_) | Waiting::Matched => OpenKind::Transfer,
                };
                Some(Open { kind, peer, tag, context, bytes: receive.into.total() })
            }
            State::Done(_) => None,
        }
    }
}

pub struct Send {
    pub to: SendTo,
    pub memory: UserMem,
    /// Length of its payload.
    pub bytes: u64,
    /// What `memory` lies in, where that is not the caller's.
    pub _bounce: Option<Bounce>,
    pub synchronous: bool,
    pub stage: Stage,
    /// The receive of the word that it was matched, in synchronous mode, until that word is here.
    pub match_awaited: Option<Posted>,
    pub cancel: Cancel,
    /// The peer is gone.
    pub lost: bool,
}

/// Where the bytes of a send are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Here; there was no room.
    Queued,
    /// The network has them.
    Begun,
    /// The memory is free.
    Sent,
}

/// How far the wish to cancel a send has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    No,
    /// It waits for room.
    Wished,
    /// The receiver decides.
    Asked(Posted),
    /// The receiver had it already.
    Refused,
    /// The receiver has dropped it.
    Granted,
}

pub struct Receive {
    pub pattern: Pattern,
    pub into: Data,
    pub bounce: Option<Bounce>,
    pub stage: Waiting,
    /// The peer that it names is gone.
    pub lost: bool,
}

/// What a receive waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Room at the network.
    Queued,
    /// Room at the network, with its message.
    Claimed(Claim),
    /// A message.
    Posted(Posted),
    /// The bytes of its message.
    Matched,
}

/// What the network is to return at the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cookie {
    /// A message of a request.
    Message(ReqId),
    /// The word that a send was matched.
    Matched(ReqId),
    /// The receiver's word on a wish to cancel.
    Verdict(ReqId),
    /// A sender's wish to cancel.
    Cancels,
}

impl Cookie {
    pub fn word(self) -> u64 {
        match self {
            Cookie::Message(id) => u64::from(id.0),
            Cookie::Matched(id) => 1 << 32 | u64::from(id.0),
            Cookie::Verdict(id) => 2 << 32 | u64::from(id.0),
            Cookie::Cancels => 3 << 32,
        }
    }

    pub fn of(word: u64) -> Cookie {
        let id = ReqId(word as u32);
        match word >> 32 {
            0 => Cookie::Message(id),
            1 => Cookie::Matched(id),
            2 => Cookie::Verdict(id),
            _ => Cookie::Cancels,
        }
    }
}
