//! Memory registered for all peers: windows, read and written by the provider. Its atomic operations are not used: what they are
//! atomic to is the provider's affair, and those of software are not so to the target's processor.

use btl::{Atomics, Event, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use mem::UserMem;
use rdma::Use;

use crate::memory::Interface;
use crate::transport::Ofi;

/// The number of this network.
const NETWORK: u8 = 2;

/// Writes under way in the windows of one peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnderWay {
    writes: u32,
    /// One has failed.
    failed: bool,
}

impl UnderWay {
    /// The peer is lost: whatever was under way counts as failed.
    pub(crate) fn lose(&mut self) {
        self.failed = true;
    }
}

impl RemoteMemory for Ofi {
    fn remote(&self, _peer: Peer) -> Option<Remote> {
        let limits = &self.plan.limits;
        let max = limits.max_get.min(limits.max_put);
        (max > 0).then_some(Remote {
            network: NETWORK,
            max,
            align: 1,
            max_unaligned: max,
            atomics: Atomics::None,
        })
    }

    fn register(&mut self, _peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        if memory.is_empty() || !self.quota.take(Use::Window) {
            return Err(Refusal::Unfit);
        }
        let pinned = self.cache.pin(&mut Interface::new(&mut self.endpoint, &mut self.regions), memory);
        let named = pinned.ok().and_then(|region| match self.regions.name(region, memory, true) {
            Some(key) => Some((region, key)),
            None => {
                self.unpin(region);
                None
            }
        });
        let Some((region, key)) = named else {
            self.quota.give(Use::Window);
            return Err(Refusal::Unfit);
        };
        self.windows.entry(key.0).or_insert((region, 0)).1 += 1;
        Ok(key)
    }

    fn deregister(&mut self, _peer: Peer, key: RemoteKey) {
        let Some((region, times)) = self.windows.get_mut(&key.0) else { return };
        let region = *region;
        *times -= 1;
        if *times == 0 {
            self.windows.remove(&key.0);
        }
        self.unpin(region);
        self.quota.give(Use::Window);
    }

    fn read(
        &mut self,
        peer: Peer,
        into: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.access(peer, into, (key, offset), Some(cookie))
    }

    fn write(&mut self, peer: Peer, from: UserMem, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        self.access(peer, from, (key, offset), None)
    }

    fn flush(&mut self, peer: Peer) -> Flushed {
        let Some(connection) = self.peers.of(peer) else { return Flushed::Done };
        let remote = &mut self.peers.get_mut(connection).remote;
        match remote.writes {
            0 if core::mem::take(&mut remote.failed) => Flushed::Failed,
            0 => Flushed::Done,
            _ => Flushed::Pending,
        }
    }
}

impl Ofi {
    fn unpin(&mut self, region: u32) {
        self.cache.unpin(&mut Interface::new(&mut self.endpoint, &mut self.regions), region);
    }

    /// Reads where there is a cookie, and writes otherwise.
    fn access(
        &mut self,
        peer: Peer,
        memory: UserMem,
        place: (&RemoteKey, u64),
        cookie: Option<u64>,
    ) -> Result<(), Refusal> {
        if memory.is_empty() {
            self.events.extend(cookie.map(Event::Done));
            return Ok(());
        }
        // A lost peer is for messages, whose layer says so.
        let connection = self.connection_to(peer).ok_or(Refusal::Unfit)?;
        self.begin_above(peer, memory, place, cookie, cookie.is_none())?;
        self.peers.get_mut(connection).remote.writes += u32::from(cookie.is_none());
        Ok(())
    }

    /// A write is over.
    pub(crate) fn written(&mut self, connection: u32, succeeded: bool) {
        let entry = self.peers.get_mut(connection);
        entry.remote.writes -= 1;
        entry.remote.failed |= !succeeded;
        if entry.remote.writes == 0 {
            self.events.push_back(Event::Flushed(entry.peer));
        }
    }
}
