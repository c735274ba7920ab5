//! Memory of the layer above: registered through the cache, named to peers by keys.

use crate::registration::{Interface, STORES, is_temporary, key_of};
use crate::transport::Ugni;
use btl::{Access, Refusal, RemoteKey};
use gni::{Clock, Error, Gni, MemHandle};
use mem::UserMem;
use rcache::{Rcache, Watch};
use rdma::Use;
use std::sync::Arc;

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// Keeps registrations from now on as long as `watch` reports no change of their memory. Without this every
    /// transfer registers its memory and gives the registration back.
    pub fn cache_registrations(&mut self, watch: Arc<dyn Watch>) {
        self.cache.clear(&mut Interface(&mut self.nic));
        if self.cache.stats().registrations == 0 {
            self.cache = Rcache::new(watch, self.quota.for_transfers());
        }
    }

    /// What the registration cache has done so far.
    pub fn cache_stats(&self) -> &rcache::Stats {
        self.cache.stats()
    }

    /// Registers memory whose owner promises to keep it mapped until [`Ugni::forget_memory`]; transfers from and
    /// to it need no registration of their own. `None`: the NIC has no room.
    pub fn keep_memory(&mut self, memory: UserMem) -> Option<MemHandle> {
        if !self.quota.take(Use::Growth) {
            return None;
        }
        let kept = self.cache.keep(&mut Interface(&mut self.nic), memory);
        kept.inspect_err(|_| self.quota.give(Use::Growth)).ok()
    }

    /// Ends what [`Ugni::keep_memory`] began.
    pub fn forget_memory(&mut self, handle: MemHandle) {
        self.cache.forget(&mut Interface(&mut self.nic), handle);
        self.quota.give(Use::Growth);
    }

    pub(crate) fn expose_memory(&mut self, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        let what = use_of(access == Access::Write);
        let handle = self.register(memory, what)?;
        let Some(key) = key_of(handle, memory, access == Access::Write) else {
            self.unregister(handle, what);
            return Err(Refusal::Unfit);
        };
        self.exposed.give(key, handle);
        Ok(key)
    }

    /// Ends an exposure; `false` for a key already concealed, which names nothing any more.
    pub(crate) fn conceal_memory(&mut self, key: &RemoteKey) -> bool {
        let Some(handle) = self.exposed.take_back(key) else { return false };
        self.unregister(handle, use_of(key.0[2] & STORES != 0));
        true
    }

    /// A registration that covers `memory`, to be given back by [`Ugni::unregister`].
    pub(crate) fn register(&mut self, memory: UserMem, what: Use) -> Result<MemHandle, Refusal> {
        if !self.quota.take(what) {
            return Err(Refusal::Busy);
        }
        let registered = self.cache.acquire(&mut Interface(&mut self.nic), memory);
        self.stats.registrations = self.cache.stats().misses;
        registered.map_err(|error| {
            self.quota.give(what);
            // Memory that may not be locked now (the cache keeps nothing idle any more) may never be: the message goes
            // through the transport's own buffers.
            if error != Error::NoMemory && is_temporary(error) { Refusal::Busy } else { Refusal::Unfit }
        })
    }

    pub(crate) fn unregister(&mut self, handle: MemHandle, what: Use) {
        self.cache.release(&mut Interface(&mut self.nic), handle);
        self.quota.give(what);
    }
}

fn use_of(stores: bool) -> Use {
    if stores { Use::Write } else { Use::Read }
}
