//! The transport's state and its set-up.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use btl::{Event, Peer, Suspects};
use ofi::{Card, Endpoint, Facts};
use rcache::Watch;
use rdma::{BufferPool, EagerGets};

use crate::error::NoRoom;
use crate::memory::{Block, NetworkMemory};
use crate::params::BtlOfiParams;
use crate::peers::{Peers, Waiting};
use crate::plan::OfiPlan;
use crate::receives::Receives;
use crate::silence::Silence;
use crate::stats::Stats;
use crate::transfers::Transfers;

/// The transport. See the crate's documentation.
pub struct Ofi {
    // Before the memory that the network may use, so that it ends first.
    pub(crate) endpoint: Endpoint,
    pub(crate) me: Peer,
    /// The job's mark, in the lower 56 bits.
    pub(crate) mark: u64,
    pub(crate) plan: OfiPlan,
    pub(crate) peers: Peers,
    pub(crate) memory: NetworkMemory,
    pub(crate) sends: BufferPool<Block>,
    /// Whose frame is in a send buffer: the connection, and the Eager GET whose request it is.
    pub(crate) in_send: Vec<(u32, Option<u32>)>,
    pub(crate) receives: Receives,
    pub(crate) eager: EagerGets<Block>,
    pub(crate) transfers: Transfers,
    /// Connections with something that waits for the provider.
    pub(crate) waiting: Vec<u32>,
    pub(crate) events: VecDeque<Event>,
    /// Messages whose completion has not been read.
    pub(crate) messages_out: usize,
    /// A peer to which a message was refused has reported room, and the sender may not have tried again since.
    pub(crate) has_room_again: bool,
    /// Watches the other hosts, if the launcher takes suspicions.
    pub(crate) silence: Option<Silence>,
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
        let mut ofi = Ofi {
            me,
            mark: job & (u64::MAX >> 8),
            peers: Peers::new(cards.into_iter(), endpoint.name().len(), plan.window),
            memory: NetworkMemory::new(params.max_mem_reg as u32),
            sends: BufferPool::new(plan.frame.next_multiple_of(64), plan.sends),
            in_send: Vec::new(),
            receives: Receives::new(plan.frame, plan.receives),
            eager: EagerGets::new(plan.eager_get, [params.eager_inc, params.eager_inc, params.eager_max]),
            transfers: Transfers::default(),
            waiting: Vec::new(),
            events: VecDeque::new(),
            messages_out: 0,
            has_room_again: false,
            silence: None,
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
        self.memory.cache(&mut self.endpoint, watch);
    }

    /// From now on `suspects` takes what is suspected of the hosts of `others`, which are not this process's.
    pub fn report_suspicions_to(&mut self, suspects: Box<dyn Suspects>, others: impl Iterator<Item = Peer>) {
        let names = &self.peers;
        self.silence = Silence::new(suspects, others.map(|peer| (peer, names.name(peer))));
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
        if !self.receives.all_posted() {
            self.receives.post(&mut self.endpoint);
        }
        if !self.waiting.is_empty() {
            self.send_waiting();
        }
        if self.transfers.wait() {
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
        self.memory.close_all(&mut self.endpoint);
    }
}
