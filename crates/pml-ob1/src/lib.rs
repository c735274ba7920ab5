//! Point-to-point management, "ob1": matching of messages with receives, and the protocols that carry them over
//! any byte transfer layer.
//!
//! A machine without clock, thread, socket or global: [`Ob1`] changes only inside its calls, each of which is
//! lent the transport. The blocking calls of MPI are loops of its owner around [`Ob1::progress`].
//!
//! ```text
//!   payload               sender                          receiver          complete for the sender
//!   up to eager limit     MATCH + payload ──────────────►                   when the transport took it
//!    … synchronous mode   SYNC + payload  ──────────────►
//!                                         ◄────────────── ACK               at ACK
//!   longer, one run of    RTS + key       ──────────────►
//!   memory on both sides                  ◄ ─ ─ get ─ ─ ─
//!                                         ◄────────────── ACK               at ACK
//!    … get does not fit   RTS             ──────────────►
//!                                         ◄────────────── RTR + key
//!                         ─ ─ ─ put ─ ─ ►
//!                         FIN             ──────────────►                   when all is put
//!   anything else, and    RTS             ──────────────►
//!   whenever the others                   ◄────────────── CTS
//!   failed or refused     FRAG + payload  ──────────────►
//!                         FRAG + payload  ──────────────►                   when the last was taken
//! ```
//!
//! **Order.** Messages are numbered per pair of processes and matched in that order; what overtook others on
//! another path is parked until its turn.
//!
//! **Flow control.** Payload without a receive is kept in memory up to a cap. At half of it the process says that
//! payload is unwelcome (by the transport's congestion word, or by CONGESTION frames where there is none): senders
//! then offer even the shortest message by RTS. The other half is for what is under way at that moment; so that
//! this is not much, a sender looks every few messages, when its allowance for the peer is used up.
//! Envelopes are never refused, so a receive can always find the message that it waits for.
//!
//! **Distrust.** Every frame is read by [`frame::Frame::parse`], and names only requests that exist, are with that
//! very peer and expect it; anything else is dropped and counted in [`Counters::bad_frames`].
//!
//! **Memory.** The straight path allocates nothing. A request takes a slot of a slab; unexpected payload,
//! buffers that are used again.
#![forbid(unsafe_code)]

mod cancel;
mod data;
mod fifos;
pub mod frame;
mod notice;
mod payload;
mod peers;
mod pool;
mod posted;
mod progress;
mod receive;
mod request;
mod send;
mod straight;
mod transfer;
mod unexpected;

use std::collections::VecDeque;

use abi::{Error, Status};
use btl::{FastPath, Peer};
use slab::Slab;

pub use crate::data::{Data, Stream};
use crate::frame::Envelope;
pub use crate::frame::Origin;
pub use crate::notice::Notice;
use crate::notice::Notices;
use crate::peers::Peers;
use crate::posted::Posted;
use crate::progress::Congestion;
pub use crate::request::{Done, MessageId, ReqId};
use crate::request::{GENERATION_BITS, REQUEST_INDEX_BITS, Request, Send, State};
pub use crate::send::Sent;
use crate::unexpected::Unexpected;

/// Where a message goes, and what it is matched by there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTo {
    /// The process.
    pub peer: Peer,
    /// Context of the communicator.
    pub context: u32,
    /// Rank of this process in the communicator, as the receiver sees it; below `2^31`.
    pub source: u32,
    /// Tag, not negative.
    pub tag: i32,
    /// Opaque; handed back in [`Done`].
    pub owner: u32,
}

/// What a receive or probe matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Context of the communicator.
    pub context: u32,
    /// Rank of the sender in the communicator, or `ANY_SOURCE`.
    pub source: i32,
    /// Tag, or `ANY_TAG`.
    pub tag: i32,
    /// The process behind `source`, if that is one.
    pub peer: Option<Peer>,
    /// Opaque; handed back in [`Done`].
    pub owner: u32,
}

/// Send modes (MPI-5.0 section 3.4). Buffered mode is a standard send of a copy, made above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Complete when the buffer may be used again.
    Standard,
    /// Complete when, in addition, the receive has begun.
    Synchronous,
    /// The receive is known to be posted: like standard.
    Ready,
    /// Standard, by a caller that waits for its end.
    Blocking,
}

/// Settings; the defaults are starting points that parameters override.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Processes known at the start; more may turn up.
    pub peers: u32,
    /// Cap in bytes on kept payload of messages without a receive.
    pub unexpected_cap: u64,
    /// Most messages that one [`Ob1::progress`] takes from the transport.
    pub arrivals_per_turn: u32,
    /// Most fragments of one message that are sent before others have their turn.
    pub fragments_per_turn: u32,
    /// Most gets or puts of one message under way at a time.
    pub pieces_in_flight: u32,
    /// Further attempts to send eagerly when there is no room, before the message is queued: a receiver that is at
    /// it makes room in less time than a queued message costs. 0 where the receiver may need this very core.
    pub patience: u32,
}

impl Config {
    /// The defaults, for a job of `peers` processes.
    pub const fn new(peers: u32) -> Config {
        Config {
            peers,
            unexpected_cap: 64 << 20,
            arrivals_per_turn: 32,
            fragments_per_turn: 8,
            pieces_in_flight: 4,
            patience: 0,
        }
    }

    /// Bytes that may be sent to a peer between two looks at whether payload is welcome there: all peers together
    /// send a quarter of the cap at most before they notice that it is not.
    fn allowance(&self) -> usize {
        let share = self.unexpected_cap / 4 / u64::from(self.peers.max(1));
        share.clamp(LEAST_ALLOWANCE, MOST_ALLOWANCE) as usize
    }
}

const LEAST_ALLOWANCE: u64 = 8 << 10;
const MOST_ALLOWANCE: u64 = 512 << 10;

/// What happened so far and what is queued now; the source of performance variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages sent eagerly.
    pub eager_sends: u64,
    /// Messages sent eagerly in synchronous mode.
    pub sync_sends: u64,
    /// Messages offered by rendezvous.
    pub offers: u64,
    /// Messages fetched by get.
    pub gets: u64,
    /// Messages stored by put.
    pub puts: u64,
    /// Messages sent as fragments.
    pub copies: u64,
    /// Messages whose get or put failed, so that they went as fragments.
    pub fallbacks: u64,
    /// Messages that arrived before their receive.
    pub unexpected_arrivals: u64,
    /// Frames that overtook others.
    pub parked_arrivals: u64,
    /// Frames dropped because no honest peer sends them.
    pub bad_frames: u64,
    /// Most bytes of kept payload at any time.
    pub unexpected_bytes_peak: u64,
    /// Bytes of kept payload now.
    pub unexpected_bytes: u64,
    /// Messages without a receive now.
    pub unexpected_length: u64,
    /// Receives without a message now.
    pub posted_length: u64,
}

/// Matching and protocols of one process; see the module's documentation.
pub struct Ob1 {
    peers: Peers,
    posted: Posted,
    unexpected: Unexpected,
    requests: Requests,
    counts: Counters,
    /// Messages claimed by matched probes: their names among the unexpected.
    claimed: Slab<u32, REQUEST_INDEX_BITS, GENERATION_BITS>,
    /// Peers for which something waits for room.
    waiting: Vec<Peer>,
    /// Transfers that want another turn.
    work: VecDeque<ReqId>,
    /// Requests that the peer has part in and that are not complete.
    unfinished: usize,
    congestion: Congestion,
    /// Of the last one-sided transfer.
    serial: u32,
    /// Lost peers that the owner has not asked for.
    lost: Vec<Peer>,
    notices: Notices,
    config: Config,
}

type Requests = Slab<Request, REQUEST_INDEX_BITS, GENERATION_BITS>;

impl Ob1 {
    /// A machine with nothing to do.
    pub fn new(config: Config) -> Ob1 {
        Ob1 {
            peers: Peers::new(config.peers),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            requests: Slab::new(),
            counts: Counters::default(),
            claimed: Slab::new(),
            waiting: Vec::new(),
            work: VecDeque::new(),
            unfinished: 0,
            congestion: Congestion::default(),
            serial: 0,
            lost: Vec::new(),
            notices: Notices::default(),
            config,
        }
    }

    /// The result of a complete request; `None` while it is active, or if there is no such request.
    #[inline]
    pub fn poll(&self, id: ReqId) -> Option<&Done> {
        match &self.requests.get(id.0)?.state {
            State::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Whether the request is complete; `None` if there is no such request.
    #[inline]
    pub fn is_complete(&self, id: ReqId) -> Option<bool> {
        self.requests.get(id.0).map(|request| matches!(request.state, State::Done(_)))
    }

    /// The result of a complete request, whose name is free from then on.
    #[inline]
    pub fn take(&mut self, id: ReqId) -> Option<Done> {
        let done = *self.poll(id)?;
        self.requests.discard(id.0);
        Some(done)
    }

    /// The owner gave the request up (`MPI_Request_free`): it runs to its end and disappears.
    pub fn detach(&mut self, id: ReqId) {
        if self.take(id).is_none()
            && let Some(request) = self.requests.get_mut(id.0)
        {
            request.detached = true;
        }
    }

    /// Whether nothing is under way that a peer may still depend on: sends, transfers, answers. Receives
    /// without a message do not count.
    pub fn idle(&self) -> bool {
        self.unfinished == 0 && self.waiting.is_empty() && self.work.is_empty()
    }

    /// Whether something waits for room at a transport or for another turn, so that the owner must keep calling
    /// [`Ob1::progress`]: no arrival announces the room.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty() || !self.work.is_empty()
    }

    /// Whether there is nothing but what may arrive: no request at work, nothing kept, nothing waiting. Who waits
    /// for one message then need not look at anything else for a while.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.idle() && self.posted.len() == 0 && self.unexpected.len() == 0
    }

    /// Counts since the start, and the present queue lengths.
    pub fn counters(&self) -> Counters {
        Counters {
            unexpected_bytes: self.unexpected.bytes(),
            unexpected_length: self.unexpected.len() as u64,
            posted_length: self.posted.len() as u64,
            ..self.counts
        }
    }

    /// Begins the record of [`Counters::unexpected_bytes_peak`] anew, at what is kept now.
    pub fn restart_peak(&mut self) {
        self.counts.unexpected_bytes_peak = self.unexpected.bytes();
    }

    fn insert(&mut self, owner: u32, state: State) -> abi::Result<ReqId> {
        let counted = matches!(state, State::Send(_)) as usize;
        let request = Request { owner, detached: false, state };
        match self.requests.insert(request) {
            Ok(key) => {
                self.unfinished += counted;
                Ok(ReqId(key))
            }
            Err(_) => Err(Error::new(abi::ERR_NO_MEM, "2^23 requests are in use, which is all there are")),
        }
    }

    /// Ends a request: what it exposed is concealed, its buffer is no longer touched, its result can be had.
    fn finish<B: FastPath>(&mut self, btl: &mut B, id: ReqId, done: Done) {
        let Some(request) = self.requests.get_mut(id.0) else { return };
        if let Some((peer, exposed)) = request.state.transfer() {
            self.unfinished -= 1;
            if let Some(key) = exposed {
                btl.conceal(peer, key);
            }
        }
        request.state = State::Done(done);
        if request.detached {
            self.requests.remove(id.0);
        }
    }
}

impl SendTo {
    fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source as i32, tag: self.tag }
    }
}

impl Pattern {
    fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source, tag: self.tag }
    }
}

fn status_of(message: &unexpected::Message) -> Status {
    Status::new(message.envelope.source, message.envelope.tag, message.total())
}

/// The send of that name, if it is not complete.
fn sending(requests: &mut Requests, id: ReqId) -> Option<&mut Send> {
    match &mut requests.get_mut(id.0)?.state {
        State::Send(send) => Some(send),
        _ => None,
    }
}
