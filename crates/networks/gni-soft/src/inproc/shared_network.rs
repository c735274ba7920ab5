//! The network that NICs of one process share.

use super::config::{Model, NetworkConfig, Wake};
use super::network::Network;
use gni::{InstId, PeAddr, Result};
use mem::UserMem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    pub(super) fn lock(&self) -> MutexGuard<'_, Network> {
        // Nothing in a critical section can panic half-way through a change.
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
