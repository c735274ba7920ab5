//! What is remembered of each peer: sequence numbers, what waits for room, what arrived too early.

use std::collections::{BTreeMap, VecDeque};

use btl::{FastPath, Peer, Route};
use pml::ReqId;

use crate::frame::{Control, SequencePlace, Sequenced};
use crate::payload::Payload;

/// The peer table. Records are made on first use: a process talks to few of many.
pub(crate) struct Peers {
    records: Vec<Option<Box<PeerState>>>,
}

/// A peer, in one cache line.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct PeerState {
    /// Place of the sequenced frame before which the sender polls whether payload is accepted: until then short messages
    /// are sent at once. The next one while nothing may be sent at once.
    until: SequencePlace,
    /// One more than the longest payload that may be sent eagerly at once; 0 when nothing may.
    pub open: usize,
    /// Bytes that may still be sent eagerly, beside the short messages, before the sender polls.
    pub allowance: usize,
    /// One more than the eager limit; 0 until the first frame to or from the peer.
    eager: usize,
    /// Place of the next sequenced frame to send.
    next_send: SequencePlace,
    /// Place of the next sequenced frame to take.
    pub expected: SequencePlace,
    /// That of when [`PeerState::answers`] was asked last.
    answered: SequencePlace,
    /// How the transport reaches it; [`Route::NONE`] until the first frame to or from the peer.
    pub route: Route,
    /// Gone for good.
    pub lost: bool,
    /// It asked for envelopes only.
    pub congested: bool,
    /// Epoch of its last word about that.
    pub congestion_epoch: u32,
    /// Our epoch when we last announced to it that payload is refused here.
    pub told: u32,
    /// Frames that arrived too early are in [`Rest::parked`].
    pub has_parked: bool,
    rest: Option<Box<Rest>>,
}

impl Default for PeerState {
    /// A peer without any traffic.
    fn default() -> PeerState {
        PeerState {
            until: SequencePlace::FIRST,
            open: 0,
            allowance: 0,
            eager: 0,
            next_send: SequencePlace::FIRST,
            expected: SequencePlace::FIRST,
            answered: SequencePlace::FIRST,
            route: Route::NONE,
            lost: false,
            congested: false,
            has_parked: false,
            congestion_epoch: 0,
            told: 0,
            rest: None,
        }
    }
}

const _: () = assert!(size_of::<PeerState>() == 64);

/// What only peers under pressure or with several paths need.
#[derive(Clone, Default)]
struct Rest {
    queue: VecDeque<Queued>,
    /// By sequence number.
    parked: BTreeMap<u32, (Sequenced, Payload)>,
}

/// Bytes that a message without payload counts in an allowance.
pub(crate) const ENVELOPE: usize = 64;

/// What waits for room at the transport.
#[derive(Clone)]
pub(crate) enum Queued {
    /// The first frame of a send.
    First(ReqId),
    Control(Box<Control>),
    /// The wish to take a sent message back.
    Cancel(ReqId),
}

impl Peers {
    pub fn new(peers: u32) -> Peers {
        // Zeroed by the allocator, not written: the pages of peers that are never talked to stay without memory.
        Peers { records: vec![None; peers as usize] }
    }

    /// The state of a peer that has been in use.
    #[inline(always)]
    pub fn get(&mut self, peer: Peer) -> Option<&mut PeerState> {
        self.records.get_mut(peer.0 as usize)?.as_deref_mut()
    }

    /// Nothing is known of a peer any more.
    pub fn forget(&mut self, peer: Peer) {
        if let Some(record) = self.records.get_mut(peer.0 as usize) {
            *record = None;
        }
    }

    /// The state of any peer.
    pub fn entry(&mut self, peer: Peer) -> &mut PeerState {
        let index = peer.0 as usize;
        if index >= self.records.len() {
            self.records.resize_with(index + 1, || None);
        }
        self.records[index].get_or_insert_default()
    }
}

/// How a message can leave at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendPath {
    /// In a few stores.
    Short,
    /// In one frame.
    Eager,
    /// Not at once: it is too long for one frame, payload is refused, others wait, or the peer is not known yet.
    Later,
}

impl PeerState {
    /// How a message of one run of `len` bytes can leave at once.
    #[inline(always)]
    pub fn way(&self, len: usize) -> SendPath {
        match len {
            _ if len >= self.open => SendPath::Later,
            ..=btl::SHORT => SendPath::Short,
            _ => SendPath::Eager,
        }
    }

    /// Learns route and eager limit, once.
    pub fn learn<B: FastPath>(&mut self, btl: &B, peer: Peer) {
        if self.eager == 0 {
            let limits = btl.limits(peer);
            self.eager = limits.eager.min(limits.max_send).saturating_add(1);
            self.route = btl.route(peer);
            self.refresh();
        }
    }

    /// Whether the peer has sent something since the last time this was asked.
    pub fn answers(&mut self) -> bool {
        std::mem::replace(&mut self.answered, self.expected) != self.expected
    }

    /// Allows `bytes` of payload: a half of it for short messages, which are counted and not measured.
    pub fn allow(&mut self, bytes: usize) {
        self.until = self.next_send.plus((bytes / 2 / (btl::SHORT + ENVELOPE)) as u32);
        self.allowance = bytes / 2;
        self.refresh();
    }

    /// The place of the next sequenced frame, if a short message may be sent at once as that; [`PeerState::sent_short`]
    /// follows.
    #[inline(always)]
    pub fn next_short(&self) -> Option<SequencePlace> {
        if self.next_send == self.until { None } else { Some(self.next_send) }
    }

    /// A short message was sent at once.
    #[inline(always)]
    pub fn sent_short(&mut self) {
        self.next_send.advance();
    }

    /// The number of the next sequenced frame; [`PeerState::sent`] follows.
    #[inline(always)]
    pub fn next_send(&self) -> u32 {
        self.next_send.number()
    }

    /// A sequenced frame was sent; as many short messages may be sent at once as before.
    #[inline(always)]
    pub fn sent(&mut self) {
        self.next_send.advance();
        self.until.advance();
    }

    /// Whether a payload of `len` bytes is known to be beyond the eager limit.
    pub fn is_beyond_eager(&self, len: u64) -> bool {
        self.eager != 0 && len >= self.eager as u64
    }

    /// Whether an allowance is used up: that for payload by a message of `len` bytes, or that for short ones.
    pub fn needs_allowance(&self, len: u64) -> bool {
        let short_of = (self.allowance as u64) < len.saturating_add(ENVELOPE as u64);
        short_of || self.next_short().is_none() && self.open != 0
    }

    /// Takes a message with a payload of `len` bytes off the allowance.
    pub fn charge(&mut self, len: u64) {
        self.allowance = (self.allowance as u64).saturating_sub(len + ENVELOPE as u64) as usize;
    }

    /// Whether a payload of `len` bytes is within the eager limit and accepted.
    pub fn takes_eager(&self, len: u64) -> bool {
        len < self.eager as u64 && !self.congested
    }

    /// Whether something waits for room; what follows must wait behind it.
    pub fn is_waiting(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.queue.is_empty())
    }

    /// Settles [`PeerState::open`] after anything it depends on changed.
    pub fn refresh(&mut self) {
        if self.congested || self.lost || self.is_waiting() {
            self.close();
        } else {
            self.open = self.eager;
        }
    }

    /// Nothing may be sent at once.
    fn close(&mut self) {
        self.open = 0;
        self.until = self.next_send;
    }

    /// Makes `item` wait behind all others. `true`: it is the only one.
    pub fn enqueue(&mut self, item: Queued) -> bool {
        let queue = &mut self.rest.get_or_insert_default().queue;
        queue.push_back(item);
        let alone = queue.len() == 1;
        self.close();
        alone
    }

    /// What waits longest.
    pub fn front(&self) -> Option<&Queued> {
        self.rest.as_ref()?.queue.front()
    }

    /// Drops what waits longest.
    pub fn pop(&mut self) {
        if let Some(rest) = &mut self.rest {
            rest.queue.pop_front();
        }
        self.refresh();
    }

    /// Drops a send that waits.
    pub fn forget(&mut self, id: ReqId) {
        if let Some(rest) = &mut self.rest {
            rest.queue.retain(|item| !matches!(item, Queued::First(waiting) if *waiting == id));
        }
        self.refresh();
    }

    /// Keeps a frame that arrived too early. Gives it back when there is one of that number already.
    pub fn park(&mut self, number: u32, frame: Sequenced, payload: Payload) -> Option<(Sequenced, Payload)> {
        let parked = &mut self.rest.get_or_insert_default().parked;
        if parked.contains_key(&number) {
            return Some((frame, payload));
        }
        parked.insert(number, (frame, payload));
        self.has_parked = true;
        None
    }

    /// The parked frame whose turn it is.
    pub fn unpark(&mut self) -> Option<(Sequenced, Payload)> {
        let parked = &mut self.rest.as_mut()?.parked;
        let next = parked.remove(&self.expected.number());
        self.has_parked = !parked.is_empty();
        next
    }

    /// Marks the peer as gone; returns what it left parked.
    pub fn lose(&mut self) -> impl Iterator<Item = (Sequenced, Payload)> {
        self.lost = true;
        self.has_parked = false;
        self.close();
        self.rest.take().into_iter().flat_map(|rest| rest.parked.into_values())
    }
}
