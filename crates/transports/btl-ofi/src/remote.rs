//! Memory registered for all peers: windows, read and written by the provider. Its atomic operations are not used: what
//! they are atomic to is the provider's affair, and those of software are not so to the target's processor.

use btl::{Atomics, Event, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use mem::UserMem;

use crate::state::Ofi;

/// The number of this network.
const NETWORK: u8 = 2;

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
            quick_atomics: false,
        })
    }

    fn register(&mut self, _peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        self.memory.register_window(&mut self.endpoint, memory)
    }

    fn deregister(&mut self, _peer: Peer, key: RemoteKey) {
        self.memory.deregister_window(&mut self.endpoint, &key);
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
        self.peers.get_mut(connection).silent.flush()
    }
}

impl Ofi {
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
        // A lost peer is for messages, whose layer reports it.
        let connection = self.connection_to(peer).ok_or(Refusal::Unfit)?;
        self.begin_above(peer, memory, place, cookie, cookie.is_none())?;
        if cookie.is_none() {
            self.peers.get_mut(connection).silent.begin();
        }
        Ok(())
    }

    /// A write is over.
    pub(crate) fn written(&mut self, connection: u32, succeeded: bool) {
        let entry = self.peers.get_mut(connection);
        if entry.silent.end(succeeded) {
            self.events.push_back(Event::Flushed(entry.peer));
        }
    }
}
