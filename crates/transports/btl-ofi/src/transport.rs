//! The transport's state, its set-up, and the contract's calls, each handed to the file it belongs to.

use std::collections::VecDeque;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Full, Limits, Loss, Pace, Peer, Refusal, RemoteKey, Sleep,
};
use mem::{Slab, Source, UserMem};
use ofi::{Card, Endpoint, Facts};
use rcache::{Rcache, Unwatched, Watch};
use rdma::{BufferPool, EagerGets, Keys, Quota, Windows};

use crate::arrivals::Arrived;
use crate::memory::{Block, Interface, Regions};
use crate::open::NoRoom;
use crate::params::BtlOfiParams;
use crate::peers::{Peers, Waiting};
use crate::plan::OfiPlan;
use crate::stats::Stats;
use crate::transfers::Transfer;

/// The transport. See the crate's documentation.
pub struct Ofi {
    // Before the memory that the network may use, so that it ends first.
    pub(crate) endpoint: Endpoint,
    pub(crate) me: Peer,
    /// The job's mark, in the lower 56 bits.
    pub(crate) mark: u64,
    pub(crate) plan: OfiPlan,
    pub(crate) peers: Peers,
    pub(crate) regions: Regions,
    pub(crate) quota: Quota,
    pub(crate) cache: Rcache<u32>,
    /// Of memory exposed to a peer.
    pub(crate) exposed: Keys<u32>,
    pub(crate) windows: Windows<u32>,
    pub(crate) sends: BufferPool<Block>,
    /// Whose frame is in a send buffer: the connection, and the Eager GET whose request it is.
    pub(crate) in_send: Vec<(u32, Option<u32>)>,
    pub(crate) receives: BufferPool<Block>,
    /// Receive buffers that are not posted and hold nothing.
    pub(crate) unposted: Vec<u32>,
    /// Messages that have arrived, oldest first.
    pub(crate) arrived: VecDeque<Arrived>,
    pub(crate) eager: EagerGets<Block>,
    pub(crate) transfers: Slab<Transfer, 20, 12>,
    /// Transfers that wait for the provider, oldest first.
    pub(crate) again: VecDeque<u32>,
    /// Connections with something that waits for the provider.
    pub(crate) waiting: Vec<u32>,
    pub(crate) events: VecDeque<Event>,
    /// Messages whose completion has not been read.
    pub(crate) messages_out: usize,
    /// A peer to which a message was refused has reported room, and the sender may not have tried again since.
    pub(crate) has_room_again: bool,
    pub(crate) stats: Stats,
}

impl Ofi {
    pub(crate) fn new(
        endpoint: Endpoint,
        plan: OfiPlan,
        (me, job): (Peer, u64),
        cards: Vec<Card>,
        params: &BtlOfiParams,
    ) -> Result<Ofi, NoRoom> {
        let quota = Quota::new(params.max_mem_reg as u32);
        let frame = plan.frame.next_multiple_of(64);
        let all = plan.receives as i64;
        let mut ofi = Ofi {
            me,
            mark: job & (u64::MAX >> 8),
            peers: Peers::new(cards.into_iter(), endpoint.name().len(), plan.window),
            regions: Regions::default(),
            quota,
            cache: Rcache::new(Arc::new(Unwatched), quota.for_transfers()),
            exposed: Keys::default(),
            windows: Windows::default(),
            sends: BufferPool::new(frame, plan.sends),
            in_send: Vec::new(),
            receives: BufferPool::new(frame, [all, all, all]),
            unposted: Vec::new(),
            arrived: VecDeque::new(),
            eager: EagerGets::new(plan.eager_get, [params.eager_inc, params.eager_inc, params.eager_max]),
            transfers: Slab::new(),
            again: VecDeque::new(),
            waiting: Vec::new(),
            events: VecDeque::new(),
            messages_out: 0,
            has_room_again: false,
            stats: Stats::default(),
            endpoint,
            plan,
        };
        if ofi.make_receives() {
            return Ok(ofi);
        }
        Err(NoRoom { bytes: ofi.receives.first_block(), provider: ofi.facts().provider.clone() })
    }

    /// Keeps registrations from now on as long as `watch` reports no change of their memory. Without this every
    /// transfer registers its memory and gives the registration back.
    pub fn cache_registrations(&mut self, watch: Arc<dyn Watch>) {
        self.cache.clear(&mut Interface::new(&mut self.endpoint, &mut self.regions));
        if self.cache.stats().registrations == 0 {
            self.cache = Rcache::new(watch, self.quota.for_transfers());
        }
    }

    /// The provider and what it can do.
    pub fn facts(&self) -> &Facts {
        self.endpoint.facts()
    }

    /// The numbers in effect.
    pub fn plan(&self) -> &OfiPlan {
        &self.plan
    }

    /// What the transport has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// One turn: completions, then what waits.
    pub(crate) fn advance(&mut self) {
        self.take_completions();
        if !self.unposted.is_empty() {
            self.post_receives();
        }
        if !self.waiting.is_empty() {
            self.send_waiting();
        }
        if !self.again.is_empty() {
            self.post_again();
        }
        if !self.eager.is_quiet() {
            self.fetch_wanting();
        }
    }

    /// Nothing more comes from or reaches this peer, for the reason `why`.
    #[cold]
    pub(crate) fn lose(&mut self, connection: u32, why: String) {
        let entry = self.peers.get_mut(connection);
        if entry.lost.is_some() {
            return;
        }
        entry.lost = Some(why);
        entry.silent.lose();
        let (peer, waiting) = (entry.peer, core::mem::take(&mut entry.waiting));
        for waiting in waiting {
            if let Waiting::Frame { buffer, .. } = waiting {
                self.sends.give(buffer);
            }
        }
        self.waiting.retain(|&waiting| waiting != connection);
        self.eager.drop_of(connection);
        self.events.push_back(Event::PeerLost(peer));
    }

    /// The connection to a peer, made if need be; `None`: the peer is lost.
    #[inline]
    pub(crate) fn connection_to(&mut self, peer: Peer) -> Option<u32> {
        let connection = match self.peers.of(peer) {
            Some(connection) => connection,
            None => self.meet(peer),
        };
        self.peers.get(connection).lost.is_none().then_some(connection)
    }

    #[cold]
    fn meet(&mut self, peer: Peer) -> u32 {
        let connection = self.peers.connect(peer, &mut self.endpoint);
        if self.peers.get(connection).lost.is_some() {
            self.events.push_back(Event::PeerLost(peer));
        }
        connection
    }
}

impl fmt::Debug for Ofi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ofi").field("me", &self.me).field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Drop for Ofi {
    fn drop(&mut self) {
        // The endpoint closes itself, and its domain has no regions then.
        self.regions.close_all(&mut self.endpoint);
    }
}

impl Btl for Ofi {
    fn reaches(&self, peer: Peer) -> bool {
        self.peers.has(peer)
    }

    #[inline(always)]
    fn limits(&self, _peer: Peer) -> &Limits {
        &self.plan.limits
    }

    fn pace(&self, _peer: Peer) -> Pace {
        self.plan.pace
    }

    #[inline(never)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_message(peer, header, payload).or_else(|Busy| {
            // A completion may have given room back.
            self.advance();
            self.send_message(peer, header, payload)
        })
    }

    #[inline(never)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next_arrived().or_else(|| {
            self.advance();
            self.next_arrived()
        })
    }

    #[inline(never)]
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        if self.arrived.is_empty() {
            self.advance();
        }
        let is_first = self.arrived.front().is_some_and(|arrived| arrived.peer == peer);
        if is_first { self.next_arrived() } else { None }
    }

    #[inline(never)]
    fn release(&mut self, arrival: Arrival) {
        self.release_arrival(arrival.peer, arrival.token);
    }

    #[inline(never)]
    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.advance();
        }
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        let lost = self.peers.of(peer).and_then(|connection| self.peers.get(connection).lost.as_deref());
        let words = lost.unwrap_or("no operation reaches it");
        Loss {
            seen: format!("libfabric's provider {} reports: {words}", self.facts().provider),
            advice: self.endpoint.advice(words).to_owned(),
        }
    }

    #[inline(never)]
    fn expose(&mut self, _peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.expose_memory(memory, access)
    }

    #[inline(never)]
    fn conceal(&mut self, _peer: Peer, key: RemoteKey) {
        self.conceal_memory(&key);
    }

    #[inline(never)]
    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_get(peer, local, key, offset, cookie)
    }

    #[inline(never)]
    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_put(peer, local, key, offset, cookie)
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn full(&self, peer: Peer) -> Option<Full> {
        if self.messages_out >= self.plan.sends[2] as usize {
            return Some(Full::All);
        }
        let connection = self.peers.get(self.peers.of(peer)?);
        (!connection.credits.may_send()).then_some(Full::Peer)
    }

    fn is_flushed(&self) -> bool {
        self.messages_out == 0
            && self.waiting.is_empty()
            && self.transfers.is_empty()
            && self.eager.is_idle()
            && self.events.is_empty()
    }

    fn would_miss(&self, peer: Peer) -> bool {
        self.peers.of(peer).is_some_and(|connection| self.peers.get(connection).lost.is_none())
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// What waits for the provider is work that no peer announces. A report of room is announced once: the sender that
    /// was refused tries again in the poll before the next call.
    #[inline(never)]
    fn arm(&mut self) -> Option<Sleep> {
        if std::mem::take(&mut self.has_room_again) || self.must_arm_again() || !self.endpoint.may_sleep() {
            return None;
        }
        self.endpoint.descriptor().map(|descriptor| {
            use std::os::fd::AsRawFd;
            Sleep::Descriptor(descriptor.as_raw_fd())
        })
    }

    fn must_arm_again(&self) -> bool {
        let is_idle = self.arrived.is_empty()
            && self.events.is_empty()
            && self.waiting.is_empty()
            && self.again.is_empty()
            && self.unposted.is_empty()
            && !self.has_room_again
            && self.eager.is_quiet();
        !is_idle
    }

    fn disarm(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.endpoint.descriptor()
    }
}

impl FastPath for Ofi {}
