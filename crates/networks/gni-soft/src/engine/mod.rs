//! The NIC's own work: everything that does not depend on how transactions travel.

mod calls;
mod datagrams;
mod endpoint;
mod endpoints;
mod exchanges;
mod flight;
mod mailboxes;
mod memory;
mod post;
mod posts;
mod queue;
mod queues;
mod registrations;
mod shared;
mod smsg;
mod turns;

use crate::config::{NicConfig, Stats};
use crate::fabric::{Fabric, PeerIndex};
use crate::fault::Faults;
use endpoint::Endpoint;
use exchanges::Exchanges;
use flight::{Flight, Joined};
use gni::{Ep, Error, Modes, Result, Time};
use mem::Slab;
use queue::Queue;
use registrations::Registrations;
use std::collections::VecDeque;

/// A NIC in software, attached: the engine over one fabric. See [`gni::Gni`] for its calls.
pub struct SoftNic<F: Fabric> {
    fabric: F,
    config: NicConfig,
    modes: Modes,
    now: Time,
    /// Whether the program gives turns by [`gni::Gni::progress`]; otherwise other calls do.
    driven: bool,
    /// Counts turns; faults hold work back by turns, since time may stand still.
    turn: u64,
    cqs: Slab<Queue, 8, 24>,
    eps: Slab<Endpoint, 20, 12>,
    registrations: Registrations,
    flights: Slab<Flight, 20, 12>,
    /// Block transfers with pieces still to be begun, served round-robin.
    bte: VecDeque<u32>,
    /// FMA posts under way; bounded by the windows of a shared pool.
    fma_in_flight: u32,
    /// Work to be begun, or begun again, at a later turn: (turn, flight).
    later: Vec<(u64, u32)>,
    /// Completions to be shown at a later turn: (turn, flight).
    late: Vec<(u64, u32)>,
    /// Endpoints that owe their peer credits and could not send them.
    owing: Vec<u32>,
    /// Endpoints that may owe their peer credits and wait for a message to carry them.
    debtors: VecDeque<u32>,
    exchanges: Exchanges,
    faults: Faults,
    max_retransmissions: u16,
    msgq: Option<Joined>,
    stats: Stats,
}

impl<F: Fabric> SoftNic<F> {
    /// Puts the engine on a fabric; the fabric's constructor has done the attaching.
    pub fn new(fabric: F, modes: Modes, config: NicConfig) -> SoftNic<F> {
        SoftNic {
            fabric,
            modes,
            now: Time::START,
            driven: false,
            turn: 0,
            cqs: Slab::new(),
            eps: Slab::new(),
            registrations: Registrations::new(config.faults.mdds),
            flights: Slab::new(),
            bte: VecDeque::new(),
            fma_in_flight: 0,
            later: Vec::new(),
            late: Vec::new(),
            owing: Vec::new(),
            debtors: VecDeque::new(),
            exchanges: Exchanges::default(),
            faults: Faults::new(config.faults.clone()),
            max_retransmissions: gni::limits::SMSG_RETRIES,
            msgq: None,
            stats: Stats::default(),
            config,
        }
    }

    /// What the NIC has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The fabric below.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// The fabric below, for what is the fabric's own.
    pub fn fabric_mut(&mut self) -> &mut F {
        &mut self.fabric
    }

    /// Whether nothing of this NIC's making is under way: no post, no message, no datagram without answer.
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty() && self.owing.is_empty() && self.exchanges.is_idle()
    }

    fn ep_mut(&mut self, ep: Ep) -> Result<&mut Endpoint> {
        self.eps.get_mut(ep.0).ok_or(Error::InvalidParam)
    }

    /// The endpoint's peer in the fabric's terms, looked up once.
    #[inline]
    fn peer_of(&mut self, ep: u32) -> Option<PeerIndex> {
        self.eps.get_mut(ep)?.peer(&mut self.fabric)
    }

    fn insert_flight(&mut self, flight: Flight) -> Result<u32> {
        self.flights.insert(flight).map_err(|_| Error::Resource)
    }
}

impl<F: Fabric> Drop for SoftNic<F> {
    fn drop(&mut self) {
        for mdd in self.registrations.in_use() {
            self.fabric.withdraw(mdd);
        }
        for pages in self.registrations.pages_in_use() {
            self.fabric.unreserve(pages);
        }
    }
}
