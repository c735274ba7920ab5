//! Memory that the network may use: regions, blocks of buffers, and what the layer above exposes.
//!
//! A [`RemoteKey`] is the region's key, the address or offset by which the network finds the first exposed byte, and
//!
//! ```text
//!   63       62 ......... 48   47 ................ 0
//!   stores   a fixed pattern   length in bytes
//!   allowed
//! ```
#![allow(unsafe_code, reason = "blocks of memory are given out")]

use btl::{Access, Refusal, RemoteKey};
use mem::{Slab, UserMem};
use ofi::abi::flag;
use ofi::{Endpoint, Local, Refused, Region, Remote};
use rcache::{Rcache, Register, Unwatched, Watch};
use rdma::{Blocks, Keys, Quota, Registrar, Use, Windows};
use std::sync::Arc;

const STORES: u64 = 1 << 63;
const PATTERN: u64 = 0x5afe << 48;
const LENGTH: u64 = (1 << 48) - 1;

/// A region may serve all uses, since the cache gives it out again for another.
const ACCESS: u64 =
    flag::SEND | flag::RECV | flag::READ | flag::WRITE | flag::REMOTE_READ | flag::REMOTE_WRITE;

/// Error numbers that mean that registrations are used up: ENOMEM, ENOSPC.
const USED_UP: [i32; 2] = [12, 28];

/// An open region.
#[derive(Debug)]
struct Open {
    region: Region,
    /// Its first byte, here and as peers address it.
    start: usize,
    remote: u64,
}

/// All open regions, and the memory of the pools.
#[derive(Debug, Default)]
struct Regions {
    open: Slab<Open, 20, 12>,
    blocks: Vec<Box<[u64]>>,
}

impl Regions {
    /// What the provider knows a region's memory by.
    fn local(&self, region: u32) -> Local {
        self.open.get(region).map_or(Local::NONE, |open| open.region.local())
    }

    /// Key and address of memory in a region.
    fn place(&self, region: u32, memory: UserMem) -> Option<(u64, u64)> {
        let open = self.open.get(region)?;
        let offset = memory.address().checked_sub(open.start)?;
        Some((open.region.key(), open.remote.wrapping_add(offset as u64)))
    }

    /// How memory in a region is named to peers; `None` for what is too long.
    fn name(&self, region: u32, memory: UserMem, stores: bool) -> Option<RemoteKey> {
        let (key, start) = self.place(region, memory)?;
        let len = memory.len() as u64;
        let place = if stores { STORES } else { 0 } | PATTERN | len;
        (len <= LENGTH).then_some(RemoteKey([key, start, place]))
    }

    /// Closes what is open.
    fn close_all(&mut self, endpoint: &mut Endpoint) {
        let names: Vec<u32> = self.open.iter().map(|(name, _)| name).collect();
        for name in names {
            endpoint.close(self.open.remove(name).map(|open| open.region));
        }
    }
}

/// An endpoint as a registration cache sees it.
struct Interface<'a> {
    endpoint: &'a mut Endpoint,
    regions: &'a mut Regions,
}

impl<'a> Interface<'a> {
    fn new(endpoint: &'a mut Endpoint, regions: &'a mut Regions) -> Interface<'a> {
        Interface { endpoint, regions }
    }
}

impl Register for Interface<'_> {
    type Handle = u32;
    type Error = Refused;

    fn register(&mut self, memory: UserMem) -> Result<u32, Refused> {
        let region = self.endpoint.register(memory, ACCESS)?;
        let start = memory.address();
        let remote = self.endpoint.remote_start(start as u64);
        self.regions.open.insert(Open { region, start, remote }).map_err(|open| {
            self.endpoint.close(Some(open.region));
            Refused::Again
        })
    }

    fn deregister(&mut self, region: u32) -> Result<(), Refused> {
        self.endpoint.close(self.regions.open.remove(region).map(|open| open.region));
        Ok(())
    }

    fn is_exhausted(error: &Refused) -> bool {
        match error {
            Refused::Again => true,
            Refused::Failed(error) => USED_UP.contains(error),
        }
    }
}

/// A block of buffers, as the provider knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) local: Local,
    start: usize,
    remote: u64,
    key: u64,
}

impl Block {
    /// Where a peer finds memory of this block: address and key.
    pub(crate) fn place(&self, memory: UserMem) -> (u64, [u64; 2]) {
        (self.remote.wrapping_add((memory.address() - self.start) as u64), [self.key, 0])
    }
}

/// From where the pools get blocks.
pub(crate) struct Pools<'a> {
    interface: Interface<'a>,
    /// Its unused registrations give way.
    cache: &'a mut Rcache<u32>,
    quota: &'a mut Quota,
}

impl Pools<'_> {
    fn registered(&mut self, bytes: usize) -> Option<(UserMem, Block)> {
        let mut memory = vec![0u64; bytes.div_ceil(8)].into_boxed_slice();
        // SAFETY: the memory is ours; `Regions` keeps it until the transport ends.
        let view = unsafe { UserMem::new(memory.as_mut_ptr() as usize, bytes) };
        let region = loop {
            match self.interface.register(view) {
                Ok(region) => break region,
                Err(error) if Interface::is_exhausted(&error) && self.cache.evict(&mut self.interface) => {}
                Err(_) => return None,
            }
        };
        let regions = &mut *self.interface.regions;
        let (key, remote) = regions.place(region, view)?;
        let local = regions.local(region);
        regions.blocks.push(memory);
        Some((view, Block { local, start: view.address(), remote, key }))
    }
}

// SAFETY: each block is allocated anew, and `Regions` frees it when the transport ends.
unsafe impl Blocks for Pools<'_> {
    type Handle = Block;

    fn block(&mut self, bytes: usize, extra: bool) -> Option<(UserMem, Block)> {
        if extra && !self.quota.take(Use::Growth) {
            return None;
        }
        let made = self.registered(bytes);
        if made.is_none() && extra {
            self.quota.give(Use::Growth);
        }
        made
    }
}

/// Where `len` bytes at `offset` of exposed memory are, if they lie in it.
pub(crate) fn exposed_part(key: &RemoteKey, offset: u64, len: u64) -> Option<Remote> {
    let [key, start, place] = key.0;
    let is_ours = place & !(STORES | LENGTH) == PATTERN;
    let within = offset.checked_add(len)? <= place & LENGTH;
    (is_ours && within).then(|| Remote { address: start.wrapping_add(offset), key })
}

/// The memory that the network may use, and the share of registrations that each use has. The endpoint that registers comes
/// with each call.
pub(crate) struct NetworkMemory {
    regions: Regions,
    quota: Quota,
    cache: Rcache<u32>,
    /// Of memory exposed to a peer.
    exposed: Keys<u32>,
    windows: Windows<u32>,
}

impl NetworkMemory {
    /// Of at most `registrations`, none of which is kept for the next transfer ([`NetworkMemory::cache`]).
    pub(crate) fn new(registrations: u32) -> NetworkMemory {
        let quota = Quota::new(registrations);
        NetworkMemory {
            regions: Regions::default(),
            quota,
            cache: Rcache::new(Arc::new(Unwatched), quota.for_transfers()),
            exposed: Keys::default(),
            windows: Windows::default(),
        }
    }

    /// Keeps registrations from now on as long as `watch` reports no change of their memory.
    pub(crate) fn cache(&mut self, endpoint: &mut Endpoint, watch: Arc<dyn Watch>) {
        self.cache.clear(&mut Interface::new(endpoint, &mut self.regions));
        if self.cache.stats().registrations == 0 {
            self.cache = Rcache::new(watch, self.quota.for_transfers());
        }
    }

    /// From where the pools of buffers get blocks.
    pub(crate) fn pools<'a>(&'a mut self, endpoint: &'a mut Endpoint) -> Pools<'a> {
        let interface = Interface::new(endpoint, &mut self.regions);
        Pools { interface, cache: &mut self.cache, quota: &mut self.quota }
    }

    /// What the provider knows a region's memory by.
    pub(crate) fn local(&self, region: u32) -> Local {
        self.regions.local(region)
    }

    pub(crate) fn expose(
        &mut self,
        endpoint: &mut Endpoint,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        if memory.is_empty() || memory.len() as u64 > LENGTH {
            return Err(Refusal::Unfit);
        }
        let stores = access == Access::Write;
        let what = use_of(stores);
        let region = self.register(endpoint, memory, what)?;
        let Some(key) = self.regions.name(region, memory, stores) else {
            self.unregister(endpoint, region, what);
            return Err(Refusal::Unfit);
        };
        self.exposed.give(key, region);
        Ok(key)
    }

    pub(crate) fn conceal(&mut self, endpoint: &mut Endpoint, key: &RemoteKey) {
        if let Some(region) = self.exposed.take_back(key) {
            self.unregister(endpoint, region, use_of(key.0[2] & STORES != 0));
        }
    }

    /// A region that covers `memory`, to be given back by [`NetworkMemory::unregister`].
    pub(crate) fn register(
        &mut self,
        endpoint: &mut Endpoint,
        memory: UserMem,
        what: Use,
    ) -> Result<u32, Refusal> {
        if !self.quota.take(what) {
            return Err(Refusal::Busy);
        }
        let mut interface = Interface::new(endpoint, &mut self.regions);
        self.cache.acquire(&mut interface, memory).map_err(|error| {
            self.quota.give(what);
            // Memory that cannot be registered now, though the cache keeps nothing idle, goes through buffers.
            if error == Refused::Again { Refusal::Busy } else { Refusal::Unfit }
        })
    }

    pub(crate) fn unregister(&mut self, endpoint: &mut Endpoint, region: u32, what: Use) {
        self.cache.release(&mut Interface::new(endpoint, &mut self.regions), region);
        self.quota.give(what);
    }

    /// Registers a window for all peers.
    pub(crate) fn register_window(
        &mut self,
        endpoint: &mut Endpoint,
        memory: UserMem,
    ) -> Result<RemoteKey, Refusal> {
        let (windows, with) = self.windows(endpoint);
        windows.register(with, memory, |interface, region| interface.regions.name(region, memory, true))
    }

    pub(crate) fn deregister_window(&mut self, endpoint: &mut Endpoint, key: &RemoteKey) {
        let (windows, with) = self.windows(endpoint);
        windows.deregister(with, key);
    }

    /// The windows, and with what they are registered.
    fn windows<'a>(
        &'a mut self,
        endpoint: &'a mut Endpoint,
    ) -> (&'a mut Windows<u32>, Registrar<'a, Interface<'a>>) {
        let interface = Interface::new(endpoint, &mut self.regions);
        let with = Registrar { interface, cache: &mut self.cache, quota: &mut self.quota };
        (&mut self.windows, with)
    }

    /// Closes all regions, before the endpoint ends.
    pub(crate) fn close_all(&mut self, endpoint: &mut Endpoint) {
        self.regions.close_all(endpoint);
    }
}

fn use_of(stores: bool) -> Use {
    if stores { Use::Write } else { Use::Read }
}
