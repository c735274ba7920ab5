//! Point-to-point management, "cm" (connection manager): a thin layer over a network that matches.
//!
//! An envelope becomes match bits ([`layout`]); matching, unexpected messages and long messages are the network's. What
//! is left here: requests, data that is not one run (packed as a whole), the word that a synchronous message was
//! matched, and cancelling.
//!
//! ```text
//!   mode                  sender                          receiver          complete for the sender
//!   standard, short       inject ───────────────────────►                   at once
//!   standard              send ─────────────────────────►                   when the network has freed the memory
//!   synchronous           posts a receive of the answer
//!                         send, kind "synchronous" ─────►
//!                                         ◄────────────── answer, empty     at the answer
//! ```
//!
//! **Order** is the network's. What it refuses waits here, for each peer in order, and receives in the order of
//! posting; a probe finds nothing while a receive waits.
//!
//! **Cancel.** A receive is cancelled by the network. A send that the network has begun is the receiver's matter: it
//! takes the sender's messages in that context out of the network, oldest first, until it finds the one that is meant,
//! drops that, and keeps the others aside, to be matched before what the network still holds. A network with less than
//! 64 bits of data cannot name the message that is meant; there a send that has begun goes on as if it had not been
//! cancelled.
//!
//! **Sums** of each message travel with it where that was asked for (`mpi_checksum verify`): it is packed into memory of the layer's
//! own, and unpacked from there.
//!
//! Messages to a process of the same node, and to oneself, go by the network, too: wildcards need one matcher.
//!
//! # Tags, contexts, and other layers
//!
//! A tag always has its 31 bits. A network with fewer bits has fewer contexts, and a process that has used them all
//! makes a new communicator fail everywhere. The fast verbs are ob1's and ask for no layer: under this one ob1 knows no
//! peer and refuses. Windows, files and connections use frames of the transports under every message layer.
#![deny(unsafe_code)]

mod bounce;
mod cancel;
pub mod layout;
mod progress;
mod receive;
mod request;
mod send;
mod verified;

pub use layout::TooNarrow;
pub use verified::Verified;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::BorrowedFd;

use abi::{Error, Status};
use mem::Slab;
use mtl::{Claim, Loss, Message, Mtl, Peer};
use pml::{
    Counters, Data, Done, Envelope, GENERATION_BITS, INDEX_BITS, LayerState, Notice, Open, Pattern, ReqId,
    Requests,
};

use crate::layout::Layout;
use crate::request::{Request, State};
use crate::send::Out;

/// A message layer over the network `M`; see the module's documentation.
pub struct Cm<M> {
    mtl: M,
    layout: Layout,
    /// Payload shorter than this may be injected without a request: what the network takes, or 0 where messages travel with sums.
    injected: usize,
    /// Sums of each message are compared, where that was asked for.
    verified: Option<Box<Verified>>,
    requests: Requests<State>,
    /// Messages claimed by matched probes.
    claimed: Slab<Aside, INDEX_BITS, GENERATION_BITS>,
    /// Messages taken out of the network on the way to a cancelled one, oldest first.
    aside: VecDeque<Aside>,
    /// What waits for room, by peer.
    outgoing: BTreeMap<Peer, VecDeque<Out>>,
    /// Receives that wait for room.
    incoming: VecDeque<ReqId>,
    /// Wishes to cancel that arrived and wait for room.
    wishes: VecDeque<Message>,
    /// The receive of wishes to cancel is to be posted.
    hears_wishes: bool,
    counts: Counters,
    /// Sends that are not complete.
    unfinished: usize,
    /// Receives that are not complete.
    posted: usize,
    changes: u32,
    /// What threads wait for in probes, while others poll.
    sought: Vec<Pattern>,
    lost: BTreeSet<Peer>,
    /// Of those, the ones that the owner has not asked for.
    lost_news: Vec<Peer>,
}

/// A message that was taken out of the network's matching.
struct Aside {
    claim: Claim,
    message: Message,
}

impl<M: Mtl> Cm<M> {
    /// A layer with nothing to do.
    ///
    /// # Errors
    /// [`TooNarrow`]
    pub fn new(mtl: M) -> Result<Cm<M>, TooNarrow> {
        let layout = Layout::of(mtl.limits())?;
        let injected = mtl.limits().inject.saturating_add(1);
        Ok(Cm {
            mtl,
            layout,
            injected,
            verified: None,
            requests: Requests::new(),
            claimed: Slab::new(),
            aside: VecDeque::new(),
            outgoing: BTreeMap::new(),
            incoming: VecDeque::new(),
            wishes: VecDeque::new(),
            hears_wishes: !layout.names(),
            counts: Counters::default(),
            unfinished: 0,
            posted: 0,
            changes: 0,
            sought: Vec::new(),
            lost: BTreeSet::new(),
            lost_news: Vec::new(),
        })
    }

    /// The layer, with sums on each message. No message has been sent before.
    pub fn verified(self, verified: Verified) -> Cm<M> {
        Cm { injected: 0, verified: Some(Box::new(verified)), ..self }
    }

    /// The network.
    pub fn network(&self) -> &M {
        &self.mtl
    }

    /// The network, for a driver that gives its interface turns of its own.
    pub fn network_mut(&mut self) -> &mut M {
        &mut self.mtl
    }

    /// See [`Mtl::descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.mtl.descriptor()
    }

    /// See [`Mtl::loss`].
    pub fn loss(&self, peer: Peer) -> Loss {
        self.mtl.loss(peer)
    }

    fn insert(&mut self, owner: u32, state: State) -> abi::Result<ReqId> {
        match self.requests.insert(Request::new(owner, state)) {
            Ok(key) => {
                self.changes = self.changes.wrapping_add(1);
                Ok(ReqId(key))
            }
            Err(_) => Err(Error::new(abi::ERR_NO_MEM, "2^23 requests are in use, which is all there are")),
        }
    }

    /// Ends a request: the network no longer uses its memory, its result can be had.
    fn finish(&mut self, id: ReqId, done: Done) {
        self.changes = self.changes.wrapping_add(1);
        let Some(request) = self.requests.get_mut(id.0) else { return };
        match request.state {
            State::Send(_) => self.unfinished -= 1,
            State::Receive(_) => self.posted -= 1,
            State::Done(_) => {}
        }
        request.state = State::Done(done);
        if request.detached {
            self.requests.remove(id.0);
        }
    }

    /// The length of a message's payload.
    fn length(&self, message: &Message) -> u64 {
        if self.verified.is_some() { verified::payload(message.len) } else { message.len }
    }

    fn status(&self, message: &Message) -> Status {
        let Envelope { source, tag, .. } = self.layout.envelope(message);
        Status::new(source, tag, self.length(message))
    }
}

impl<M: Mtl> LayerState for Cm<M> {
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
        self.lost_news.pop()
    }

    fn idle(&self) -> bool {
        self.unfinished == 0 && !self.waits_for_room()
    }

    fn is_quiet(&self) -> bool {
        self.idle() && self.posted == 0 && self.aside.is_empty()
    }

    fn waits_for_room(&self) -> bool {
        !self.outgoing.is_empty() || !self.incoming.is_empty() || !self.wishes.is_empty()
    }

    fn needs_turn(&self) -> bool {
        false
    }

    fn needs_poll(&mut self, _to: Peer, _data: &Data, _copied: bool) -> bool {
        false
    }

    fn seek(&mut self, pattern: &Pattern) {
        if !self.sought.contains(pattern) {
            self.sought.push(*pattern);
        }
    }

    fn changes(&self) -> u32 {
        self.changes
    }

    fn contexts(&self) -> u32 {
        self.layout.contexts()
    }

    fn each_awaited(&self, seen: &mut dyn FnMut(u32, Option<Peer>)) {
        for (_, request) in self.requests.iter() {
            if let State::Receive(receive) = &request.state {
                seen(receive.pattern.context, receive.pattern.peer);
            }
        }
    }

    fn each_open(&self, seen: &mut dyn FnMut(Open)) {
        self.requests.iter().filter_map(|(_, request)| request.state.open()).for_each(seen);
    }

    // `awaited` is not known. Networks tell neither which sends have met their receives nor what is still on its way to a receive; so a
    // wait that looks like one for the other program may be one for a transfer.

    fn matches_below(&self) -> bool {
        true
    }

    fn cancels_begun_sends(&self) -> bool {
        self.layout.names()
    }

    fn arm(&mut self) -> bool {
        !self.waits_for_room() && self.mtl.arm()
    }

    fn counters(&self) -> Counters {
        Counters {
            unexpected_length: self.aside.len() as u64,
            posted_length: self.posted as u64,
            ..self.counts
        }
    }

    fn restart_peak(&mut self) {}

    fn note_unexpected(&mut self, _wanted: bool) {}

    fn has_notices(&self) -> bool {
        false
    }

    fn next_notice(&mut self) -> Option<Notice> {
        None
    }
}
