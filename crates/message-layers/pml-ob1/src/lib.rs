//! Point-to-point management, "ob1": matching of messages with receives, and the protocols that carry them over
//! any byte transfer layer.
//!
//! A machine without clock, thread, socket or global: [`Ob1`] changes only inside its calls, each of which is
//! lent the transport. It never asks for arrivals: its owner polls the transport ([`btl::poll`]) and hands them over.
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
//! **Flow control.** Payload without a receive is kept in memory up to a cap. At half of it the process announces that
//! payload is refused (by the transport's congestion word, or by CONGESTION frames where there is none): senders
//! then offer even the shortest message by RTS. The other half is for what is under way at that moment; so that
//! this is not much, a sender looks every few messages, when its allowance for the peer is used up.
//! Envelopes are never refused, so a receive can always find the message that it waits for.
//!
//! **Distrust.** Every frame is read by [`frame::Frame::parse`], and names only requests that exist, are with that
//! very peer and expect it; anything else is dropped and counted in [`Counters::bad_frames`].
//!
//! **Memory.** The fast path allocates nothing. A request takes a slot of a slab; unexpected payload,
//! buffers that are used again.
//!
//! # Long messages within a node
//!
//! Where both sides send at once, offers go out before anything is copied, and each side pulls its own. An answer
//! shorter than 1 MiB, by a sender that waits for its end, goes in fragments through bounce buffers instead, which is
//! twice as fast: the same lines go to and fro between two caches.
//!
//! Data with holes is packed straight into bounce buffers and unpacked straight out of them. Its first fragment travels
//! with the offer, so that the receiver unpacks while the sender packs what follows. Where its runs are very long, or
//! long and the message larger than caches, its owner names a table of them instead, and both sides copy from runs to
//! runs.
#![forbid(unsafe_code)]

mod cancel;
mod cut;
mod fast_path;
mod fifos;
pub mod frame;
mod params;
mod payload;
mod peers;
mod pool;
mod posted;
mod progress;
mod receive;
mod request;
mod revoke;
mod send;
mod transfer;
mod turn;
mod unexpected;
mod variables;

pub use params::Ob1Params;
pub use variables::VARIABLES;

use std::collections::{BTreeSet, VecDeque};

use abi::{Error, Status};
use btl::{FastPath, Peer};
use mem::Slab;
use pml::{
    Awaited, Counters, Data, Done, GENERATION_BITS, INDEX_BITS, LayerState, Notice, Notices, Open, OpenKind,
    ReqId, Requests,
};

use crate::peers::Peers;
use crate::posted::Posted;
use crate::progress::Congestion;
use crate::request::{Request, Send, SendStage, State};
use crate::unexpected::Unexpected;

/// Settings; the defaults are starting points that parameters override.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Processes known at the start; more may turn up.
    pub peers: u32,
    /// Places for peers that are made at the start; the others are when they are needed.
    pub places: u32,
    /// Cap in bytes on kept payload of messages without a receive.
    pub unexpected_cap: u64,
    /// Most fragments of one message that are sent before others have their turn.
    pub fragments_per_turn: u32,
    /// Most gets or puts of one message under way at a time.
    pub pieces_in_flight: u32,
    /// Further attempts to send eagerly when there is no room, before the message is queued: a receiver that is at
    /// it makes room in less time than a queued message costs. 0 where the receiver may need this very core.
    pub eager_retries: u32,
    /// Whether the last bytes of a message that is fetched are those that its offer carries, so that an odd length alone
    /// does not keep the transport from a get. Receivers decide by it.
    pub takes_tail: bool,
}

impl Config {
    /// The defaults, for a job of `peers` processes.
    pub const fn new(peers: u32) -> Config {
        Config {
            peers,
            places: peers,
            unexpected_cap: 64 << 20,
            fragments_per_turn: 8,
            pieces_in_flight: 4,
            eager_retries: 0,
            takes_tail: true,
        }
    }

    /// Bytes that may be sent to a peer between two polls of whether payload is accepted there: all peers together
    /// send a quarter of the cap at most before they notice that it is not.
    fn allowance(&self) -> usize {
        let share = self.unexpected_cap / 4 / u64::from(self.peers.max(1));
        share.clamp(LEAST_ALLOWANCE, MOST_ALLOWANCE) as usize
    }
}

const LEAST_ALLOWANCE: u64 = 8 << 10;
const MOST_ALLOWANCE: u64 = 512 << 10;

/// Matching and protocols of one process; see the module's documentation.
pub struct Ob1 {
    peers: Peers,
    posted: Posted,
    unexpected: Unexpected,
    requests: Requests<State>,
    counts: Counters,
    /// Messages claimed by matched probes: their names among the unexpected.
    claimed: Slab<u32, INDEX_BITS, GENERATION_BITS>,
    /// Peers for which something waits for room.
    waiting: Vec<Peer>,
    /// Transfers that want another turn.
    work: VecDeque<ReqId>,
    /// Transfers that the transport has refused for the moment.
    refused: VecDeque<ReqId>,
    /// Requests that the peer has part in and that are not complete.
    unfinished: usize,
    /// See [`Ob1::changes`].
    changes: u32,
    congestion: Congestion,
    /// Of the last one-sided transfer.
    serial: u32,
    /// Lost peers that the owner has not asked for.
    lost: Vec<Peer>,
    notices: Notices,
    /// Contexts in which nothing is matched any more.
    revoked: BTreeSet<u32>,
    config: Config,
}

impl Ob1 {
    /// `peer` is another process from now on, or none: nothing is under way with it.
    pub fn forget(&mut self, peer: Peer) {
        self.peers.forget(peer);
        self.waiting.retain(|&waiting| waiting != peer);
        self.lost.retain(|&lost| lost != peer);
    }

    /// A machine with nothing to do.
    pub fn new(config: Config) -> Ob1 {
        Ob1 {
            peers: Peers::new(config.places),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            requests: Requests::new(),
            counts: Counters::default(),
            claimed: Slab::new(),
            waiting: Vec::new(),
            work: VecDeque::new(),
            refused: VecDeque::new(),
            unfinished: 0,
            changes: 0,
            congestion: Congestion::default(),
            serial: 0,
            lost: Vec::new(),
            notices: Notices::default(),
            revoked: BTreeSet::new(),
            config,
        }
    }

    fn insert(&mut self, owner: u32, state: State) -> abi::Result<ReqId> {
        let counted = matches!(state, State::Send(_)) as usize;
        let request = Request::new(owner, state);
        match self.requests.insert(request) {
            Ok(key) => {
                self.unfinished += counted;
                self.changes = self.changes.wrapping_add(counted as u32);
                Ok(ReqId(key))
            }
            Err(_) => Err(Error::new(abi::ERR_NO_MEM, "2^23 requests are in use, which is all there are")),
        }
    }

    /// Ends a request: what it exposed is concealed, its buffer is no longer touched, its result can be had.
    fn finish<B: FastPath>(&mut self, btl: &mut B, id: ReqId, done: Done) {
        self.changes = self.changes.wrapping_add(1);
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

impl LayerState for Ob1 {
    type State = State;

    #[inline]
    fn requests(&self) -> &Requests<State> {
        &self.requests
    }

    #[inline]
    fn requests_mut(&mut self) -> &mut Requests<State> {
        &mut self.requests
    }

    fn next_lost(&mut self) -> Option<Peer> {
        self.lost.pop()
    }

    fn idle(&self) -> bool {
        self.unfinished == 0 && !self.waits_for_room() && !self.needs_turn()
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        self.idle() && self.posted.len() == 0 && self.unexpected.len() == 0
    }

    fn each_awaited(&self, seen: &mut dyn FnMut(u32, Option<Peer>)) {
        if self.posted.len() == 0 {
            return;
        }
        for (_, request) in self.requests.iter() {
            if let State::Posted(post) = &request.state {
                seen(post.envelope.context, post.peer);
            }
        }
    }

    fn each_open(&self, seen: &mut dyn FnMut(Open)) {
        for (_, request) in self.requests.iter() {
            if let Some(open) = request.state.open() {
                seen(open);
            }
        }
        for message in self.unexpected.iter() {
            let (kind, peer, bytes) = (OpenKind::Unexpected, Some(message.peer), message.total());
            seen(Open { kind, peer, tag: message.envelope.tag, context: message.envelope.context, bytes });
        }
    }

    /// Transfers that have begun go on by themselves, whatever the other program does.
    fn awaited(&self, id: ReqId) -> Option<Awaited> {
        match &self.requests.get(id.0)?.state {
            State::Posted(post) => {
                let (tag, context) = (post.envelope.tag, post.envelope.context);
                Some(Awaited::Message { peer: post.peer, tag, context })
            }
            State::Send(send) if send.stage == SendStage::Offered => {
                let to = &send.to;
                Some(Awaited::Receive { peer: to.peer, tag: to.tag, context: to.context })
            }
            State::Send(_) | State::Receive(_) | State::Done(_) => None,
        }
    }

    fn waits_for_room(&self) -> bool {
        !self.waiting.is_empty() || !self.refused.is_empty()
    }

    fn needs_turn(&self) -> bool {
        !self.work.is_empty()
    }

    fn needs_poll(&mut self, to: Peer, data: &Data, copied: bool) -> bool {
        let total = data.total();
        let peer = self.peers.entry(to);
        // What is offered anyway needs no allowance, and the offer must not wait for the work that a poll may find: where
        // both sides send at once, one would copy while the other one waits.
        let offered = !copied && data.contiguous().is_some() && peer.is_beyond_eager(total);
        !offered && peer.needs_allowance(total)
    }

    fn changes(&self) -> u32 {
        self.changes
    }

    fn counters(&self) -> Counters {
        Counters {
            unexpected_bytes: self.unexpected.bytes(),
            unexpected_length: self.unexpected.len() as u64,
            posted_length: self.posted.len() as u64,
            ..self.counts
        }
    }

    fn restart_peak(&mut self) {
        self.counts.unexpected_bytes_peak = self.unexpected.bytes();
    }

    fn note_unexpected(&mut self, wanted: bool) {
        self.notices.want(wanted);
    }

    #[inline]
    fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.notices.take()
    }
}

fn status_of(message: &unexpected::Message) -> Status {
    Status::new(message.envelope.source, message.envelope.tag, message.total())
}

/// The send of that name, if it is not complete.
fn sending(requests: &mut Requests<State>, id: ReqId) -> Option<&mut Send> {
    match &mut requests.get_mut(id.0)?.state {
        State::Send(send) => Some(send),
        _ => None,
    }
}
