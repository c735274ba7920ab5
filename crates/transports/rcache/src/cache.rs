//! The cache as a transport uses it: the index, the watch and the network interface brought together.
#![allow(unsafe_code, reason = "ranges are widened to the pages that hold them")]

use crate::extent::Extent;
use crate::index::{Hold, Index, Key};
use crate::register::Register;
use crate::stats::Stats;
use crate::watch::Watch;
use core::fmt;
use core::hash::Hash;
use mem::UserMem;
use std::collections::HashMap;
use std::sync::Arc;

/// Registrations by address range.
///
/// Owned by one transport, which serialises the calls and passes its network interface to each.
pub struct Rcache<H> {
    index: Index<H>,
    keys: HashMap<H, Key>,
    watch: Arc<dyn Watch>,
    most: usize,
    /// The watch's count when all entries were looked at last.
    seen: u64,
    /// Registrations that [`Rcache::pin`] has made, with their pins.
    pins: HashMap<H, u32>,
    /// Registrations that the interface would not end yet.
    reluctant: Vec<(H, usize)>,
    stats: Stats,
}

impl<H: fmt::Debug> fmt::Debug for Rcache<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rcache")
            .field("index", &self.index)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl<H: Copy + Eq + Hash> Rcache<H> {
    /// An empty cache that keeps at most `most` registrations, if the interface has as many.
    pub fn new(watch: Arc<dyn Watch>, most: usize) -> Rcache<H> {
        Rcache {
            index: Index::default(),
            keys: HashMap::new(),
            watch,
            most,
            seen: 0,
            pins: HashMap::new(),
            reluctant: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// What the cache has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// A registration that covers `memory`, until [`Rcache::release`]. It covers whole pages, or exactly `memory`
    /// where it cannot be kept.
    ///
    /// # Errors
    /// The interface's, when it has no registration left and none here is idle.
    pub fn acquire<R: Register<Handle = H>>(
        &mut self,
        interface: &mut R,
        memory: UserMem,
    ) -> Result<H, R::Error> {
        self.watch.settle();
        if self.watch.invalidations() != self.seen || !self.reluctant.is_empty() {
            self.sweep(interface);
        }
        let extent = Extent::of(memory);
        while let Some(key) = self.index.find(extent) {
            if let Some((handle, hold)) = self.index.get(key)
                && self.holds(hold)
            {
                self.index.use_entry(key);
                self.stats.hits += 1;
                return Ok(handle);
            }
            self.stats.invalidations += 1;
            self.retire(interface, key);
        }
        self.stats.misses += 1;
        let room = self.index.len() < self.most || self.evict(interface);
        let watched = if room && !extent.is_empty() { self.watch.watch(extent) } else { None };
        match watched {
            Some(id) => self.add(interface, whole_pages(memory), Hold::Watched(id)).inspect_err(|_| {
                self.watch.unwatch(id);
            }),
            None => {
                self.stats.unwatched += 1;
                self.add(interface, memory, Hold::Once)
            }
        }
    }

    /// Registers memory whose owner promises to keep it mapped until [`Rcache::release`] is called with the same
    /// handle, whatever the watch reports: the blocks of a pool. It is not evicted.
    ///
    /// # Errors
    /// As [`Rcache::acquire`].
    pub fn keep<R: Register<Handle = H>>(
        &mut self,
        interface: &mut R,
        memory: UserMem,
    ) -> Result<H, R::Error> {
        self.add(interface, memory, Hold::Promised)
    }

    /// One use of a registration is over. An unused one stays for the next, as long as it is valid.
    pub fn release<R: Register<Handle = H>>(&mut self, interface: &mut R, handle: H) {
        let Some(&key) = self.keys.get(&handle) else { return };
        if self.index.release(key) {
            self.dispose(interface, key);
        }
    }

    /// Ends what [`Rcache::keep`] began.
    pub fn forget<R: Register<Handle = H>>(&mut self, interface: &mut R, handle: H) {
        let Some(&key) = self.keys.get(&handle) else { return };
        self.index.retire(key);
        self.release(interface, handle);
    }

    /// As [`Rcache::keep`], of the whole pages that hold `memory`, until [`Rcache::unpin`] is called with the same
    /// handle. A registration that covers them and is kept by such a promise serves, too.
    ///
    /// # Errors
    /// As [`Rcache::acquire`].
    pub fn pin<R: Register<Handle = H>>(
        &mut self,
        interface: &mut R,
        memory: UserMem,
    ) -> Result<H, R::Error> {
        if let Some(key) = self.index.find(Extent::of(memory))
            && let Some((handle, Hold::Promised)) = self.index.get(key)
        {
            self.index.use_entry(key);
            self.stats.hits += 1;
            if let Some(pins) = self.pins.get_mut(&handle) {
                *pins += 1;
            }
            return Ok(handle);
        }
        let handle = self.keep(interface, whole_pages(memory))?;
        self.pins.insert(handle, 1);
        Ok(handle)
    }

    /// Ends what [`Rcache::pin`] began.
    pub fn unpin<R: Register<Handle = H>>(&mut self, interface: &mut R, handle: H) {
        let Some(pins) = self.pins.get_mut(&handle) else { return self.release(interface, handle) };
        *pins -= 1;
        if *pins > 0 {
            return self.release(interface, handle);
        }
        self.pins.remove(&handle);
        self.forget(interface, handle);
    }

    /// Gives back every unused registration.
    pub fn clear<R: Register<Handle = H>>(&mut self, interface: &mut R) {
        while self.evict(interface) {}
        self.retry(interface);
    }

    /// Gives back the registration that was used least recently; `false`: all are in use.
    pub fn evict<R: Register<Handle = H>>(&mut self, interface: &mut R) -> bool {
        let Some(key) = self.index.oldest() else { return false };
        self.stats.evictions += 1;
        self.retire(interface, key);
        true
    }

    /// Registers and remembers, giving back idle registrations as long as the interface has none left.
    fn add<R: Register<Handle = H>>(
        &mut self,
        interface: &mut R,
        memory: UserMem,
        hold: Hold,
    ) -> Result<H, R::Error> {
        let handle = loop {
            match interface.register(memory) {
                Ok(handle) => break handle,
                Err(error) if R::is_exhausted(&error) && self.evict(interface) => {}
                Err(error) => return Err(error),
            }
        };
        let extent = Extent::of(memory);
        // A range that covers new memory of a pool is stale; one that lies within is of no more use.
        while hold != Hold::Once
            && let Some(other) = self.index.find(extent).or_else(|| self.index.within(extent))
        {
            self.stats.superseded += 1;
            self.retire(interface, other);
        }
        if let Ok(key) = self.index.insert(extent, handle, hold) {
            self.keys.insert(handle, key);
        }
        self.stats.registrations += 1;
        self.stats.registrations_peak = self.stats.registrations_peak.max(self.stats.registrations);
        self.stats.bytes += extent.len() as u64;
        Ok(handle)
    }

    fn holds(&self, hold: Hold) -> bool {
        match hold {
            Hold::Watched(id) => self.watch.is_valid(id),
            Hold::Promised => true,
            Hold::Once => false,
        }
    }

    /// Gives back what has become invalid, so that it does not hold pages that no address names any more.
    fn sweep<R: Register<Handle = H>>(&mut self, interface: &mut R) {
        self.seen = self.watch.invalidations();
        self.retry(interface);
        let invalid: Vec<Key> =
            self.index.entries().filter(|&(_, hold)| !self.holds(hold)).map(|(key, _)| key).collect();
        for key in invalid {
            self.stats.invalidations += 1;
            self.retire(interface, key);
        }
    }

    fn retire<R: Register<Handle = H>>(&mut self, interface: &mut R, key: Key) {
        if self.index.retire(key) {
            self.dispose(interface, key);
        }
    }

    fn dispose<R: Register<Handle = H>>(&mut self, interface: &mut R, key: Key) {
        let Some((extent, handle, hold)) = self.index.remove(key) else { return };
        self.keys.remove(&handle);
        if let Hold::Watched(id) = hold {
            self.watch.unwatch(id);
        }
        self.end(interface, handle, extent.len());
    }

    fn end<R: Register<Handle = H>>(&mut self, interface: &mut R, handle: H, bytes: usize) {
        if interface.deregister(handle).is_err() {
            return self.reluctant.push((handle, bytes));
        }
        self.stats.registrations -= 1;
        self.stats.bytes = self.stats.bytes.saturating_sub(bytes as u64);
    }

    fn retry<R: Register<Handle = H>>(&mut self, interface: &mut R) {
        for (handle, bytes) in core::mem::take(&mut self.reluctant) {
            self.end(interface, handle, bytes);
        }
    }
}

impl<H> Drop for Rcache<H> {
    fn drop(&mut self) {
        // The registrations end with their interface; the watch may be others' as well.
        for hold in self.index.holds() {
            if let Hold::Watched(id) = hold {
                self.watch.unwatch(id);
            }
        }
    }
}

/// The pages that `memory` touches.
fn whole_pages(memory: UserMem) -> UserMem {
    let extent = Extent::of(memory);
    // SAFETY: memory is mapped by whole pages, and each of these holds a byte of `memory`, for which the promise
    // was given. They are registered and not read or written here.
    unsafe { UserMem::new(extent.start, extent.len()) }
}
