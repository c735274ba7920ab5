//! NICs of one process: for tests and for virtual time.
//!
//! A [`SharedNetwork`] is a network with its nodes. NICs attached to it share it under a lock, so they may live in
//! different threads. Without a [`Model`] every transaction is carried out when it is submitted; with one, at
//! the moment that the model gives it, in the order of these moments.

mod apply;
mod blocks;
mod network;
mod nic;
mod shared_queue;

pub use network::{Flow, Model, Timing, Wake};
pub use nic::InProc;

use crate::config::{NicConfig, NodeLimits};
use crate::engine::SoftNic;
use gni::{Error, InstId, JobKey, Modes, PeAddr, Result, limits};
use mem::UserMem;
use network::Network;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the nodes of a world have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkConfig {
    /// The jobs that the launcher has configured.
    pub jobs: Vec<JobKey>,
    /// What each node has.
    pub limits: NodeLimits,
    /// Bytes that a block transfer moves per turn.
    pub rdma_piece: u64,
    /// Whether registrations hold the pages of registration time, as the hardware's do; otherwise they name
    /// addresses. Needs io_uring.
    pub pinned: bool,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        NetworkConfig {
            jobs: vec![JobKey::for_job(0)],
            limits: NodeLimits::default(),
            rdma_piece: 256 << 10,
            pinned: false,
        }
    }
}

/// A network of NICs within this process. Clones are the same world.
#[derive(Clone)]
pub struct SharedNetwork {
    network: Arc<Mutex<Network>>,
}

impl SharedNetwork {
    /// A world whose transactions take no time.
    pub fn new(config: NetworkConfig) -> SharedNetwork {
        SharedNetwork { network: Arc::new(Mutex::new(Network::new(config, None))) }
    }

    /// A world whose transactions take the time that `model` gives them.
    pub fn timed(config: NetworkConfig, model: Box<dyn Model>) -> SharedNetwork {
        SharedNetwork { network: Arc::new(Mutex::new(Network::new(config, Some(model)))) }
    }

    /// `GNI_CdmCreate` and `GNI_CdmAttach`: a NIC of the node `pe`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for contradictory modes or an address beyond 18 bits; `PERMISSION_ERROR` for a key that
    /// is not configured; `INVALID_STATE` when the instance is attached there already; `ERROR_RESOURCE` when a
    /// dedicated FMA descriptor is wanted and none is left; `ILLEGAL_OP` for a pinned world where io_uring is
    /// missing or forbidden.
    pub fn attach(
        &self,
        pe: PeAddr,
        inst: InstId,
        key: JobKey,
        modes: Modes,
        config: NicConfig,
    ) -> Result<SoftNic<InProc>> {
        if modes.is_contradictory() || pe.0 >> limits::PE_BITS != 0 {
            return Err(Error::InvalidParam);
        }
        let index = self.lock().attach(pe, inst, key, modes)?;
        let fabric = InProc::new(self.clone(), index, (pe, inst), key);
        Ok(SoftNic::new(fabric, modes, config))
    }

    /// Zeroed memory that stays as long as the world.
    ///
    /// # Errors
    /// `ERROR_NOMEM`.
    pub fn mem_alloc(&self, bytes: usize) -> Result<UserMem> {
        self.lock().blocks.alloc(bytes)
    }

    /// Makes a NIC stop answering, as a crashed node's does.
    pub fn kill(&self, pe: PeAddr, inst: InstId) {
        self.lock().kill(pe, inst);
    }

    /// Appends the moments that were added since the last call, in no order; nothing in a world without a
    /// model.
    pub fn take_wakes(&self, into: &mut Vec<Wake>) {
        self.lock().take_wakes(into);
    }

    /// The owner of a NIC polls its memory: a write there adds a moment, too.
    pub fn polls_memory(&self, pe: PeAddr, inst: InstId) {
        self.lock().polls_memory(pe, inst);
    }

    fn lock(&self) -> MutexGuard<'_, Network> {
        // Nothing in a critical section can panic half-way through a change.
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
