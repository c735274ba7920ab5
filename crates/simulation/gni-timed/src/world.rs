//! A machine on virtual time.

use crate::background::Background;
use crate::clock::{Clocks, RankClock};
use crate::costs::Costs;
use crate::network::Network;
use crate::nic::TimedNic;
use crate::torus::Torus;
use gni::{Error, InstId, JobKey, Modes, PeAddr, Result};
use gni_soft::inproc::{self, SharedNetwork, Wake};
use gni_soft::{NicConfig, NodeLimits};
use mem::UserMem;
use std::sync::Arc;

/// The machine: its shape, what things cost, what each node has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NetworkConfig {
    /// The torus.
    pub torus: Torus,
    /// Whether a transaction takes the dimensions in the order in which it arrives first.
    pub adaptive: bool,
    /// What other jobs send.
    pub background: Option<Background>,
    /// What things cost.
    pub costs: Costs,
    /// What each node's NIC has for all its ranks.
    pub limits: NodeLimits,
    /// Instances that may be attached: 0 to `ranks` - 1.
    pub ranks: u32,
}

impl NetworkConfig {
    /// Cielo, with the costs of the sources, for a job of `ranks`.
    pub fn cielo(ranks: u32) -> NetworkConfig {
        NetworkConfig {
            torus: Torus::CIELO,
            adaptive: false,
            background: None,
            costs: Costs::SOURCED,
            limits: NodeLimits::default(),
            ranks,
        }
    }
}

/// A network of NICs on virtual time. Clones are the same world.
#[derive(Clone)]
pub struct TimedWorld {
    world: SharedNetwork,
    clocks: Clocks,
    config: NetworkConfig,
    /// All NICs'.
    costs: Arc<Costs>,
}

impl TimedWorld {
    /// A world without NICs, at time 0.
    pub fn new(config: NetworkConfig) -> TimedWorld {
        let clocks: Clocks = (0..config.ranks).map(|_| 0.into()).collect();
        let model = Network::new(&config, clocks.clone());
        // The engine reads and writes memory by itself, so a block transfer is one transaction.
        let inproc = inproc::NetworkConfig {
            limits: config.limits,
            rdma_piece: gni::limits::RDMA_MAX_LENGTH,
            ..inproc::NetworkConfig::default()
        };
        TimedWorld {
            world: SharedNetwork::timed(inproc, Box::new(model)),
            clocks,
            costs: Arc::new(config.costs),
            config,
        }
    }

    /// The machine.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Attaches the NIC of rank `inst`, which runs on the node `pe`.
    ///
    /// # Errors
    /// As [`SharedNetwork::attach`]; `INVALID_PARAM` also for a node that the torus does not have and a rank beyond
    /// [`NetworkConfig::ranks`].
    pub fn attach(&self, pe: PeAddr, inst: InstId, modes: Modes, config: NicConfig) -> Result<TimedNic> {
        if pe.0 >= self.config.torus.nodes() || inst.0 >= self.config.ranks {
            return Err(Error::InvalidParam);
        }
        let nic = self.world.attach(pe, inst, JobKey::for_job(0), modes, config)?;
        Ok(TimedNic::new(nic, self.clock(inst), Arc::clone(&self.costs)))
    }

    /// Zeroed memory that stays as long as the world.
    ///
    /// # Errors
    /// `ERROR_NOMEM`.
    pub fn mem_alloc(&self, bytes: usize) -> Result<UserMem> {
        self.world.mem_alloc(bytes)
    }

    /// The clock of a rank, which must be below [`NetworkConfig::ranks`].
    pub fn clock(&self, inst: InstId) -> RankClock {
        RankClock::new(self.clocks.clone(), inst.0 as usize)
    }

    /// A rank polls its memory, so that it finds a write there although its NIC reports none.
    pub fn polls_memory(&self, pe: PeAddr, inst: InstId) {
        self.world.polls_memory(pe, inst);
    }

    /// Appends the moments that were added since the last call, in no order: when which NIC finds something new.
    pub fn take_wakes(&self, into: &mut Vec<Wake>) {
        self.world.take_wakes(into);
    }
}
