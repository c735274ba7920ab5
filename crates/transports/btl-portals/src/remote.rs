//! Memory registered for all peers: windows.
//!
//! ```text
//!   owner                                    others
//!   an entry of index 31 for all processes   read    a get into the reader's memory
//!                                            write   a put; done when it has left and was acknowledged
//! ```
//! Of atomic operations Portals has the swap alone (`PtlGetPut`), so that accumulates go by messages.

use crate::rdma::Report;
use crate::transport::Portals;
use btl::{Atomics, Event, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use mem::UserMem;
use portals::{Options, Portals as Nic, ProcessMatch};

/// The number of this network.
const NETWORK: u8 = 3;

/// Longest read or write.
const MOST: usize = i32::MAX as usize;

impl<N: Nic> RemoteMemory for Portals<N> {
    fn remote(&self, _peer: Peer) -> Option<Remote> {
        Some(Remote {
            network: NETWORK,
            max: MOST,
            align: 1,
            max_unaligned: MOST,
            atomics: Atomics::None,
            quick_atomics: false,
        })
    }

    fn register(&mut self, _peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        // No entry is left: messages reach the memory, too.
        self.expose_to(ProcessMatch::ANY, memory, Options::OP_GET | Options::OP_PUT)
            .map_err(|_| Refusal::Unfit)
    }

    fn deregister(&mut self, _peer: Peer, key: RemoteKey) {
        self.conceal_memory(&key);
    }

    fn read(
        &mut self,
        peer: Peer,
        into: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        if into.is_empty() {
            self.events.push_back(Event::Done(cookie));
            return Ok(());
        }
        self.access(peer, into, key, offset, (Report::Event(cookie), false))
    }

    fn write(&mut self, peer: Peer, from: UserMem, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        if from.is_empty() {
            return Ok(());
        }
        self.access(peer, from, key, offset, (Report::Flush, true))?;
        self.writes[peer.0 as usize].begin();
        Ok(())
    }

    fn flush(&mut self, peer: Peer) -> Flushed {
        self.writes[peer.0 as usize].flush()
    }
}

impl<N: Nic> Portals<N> {
    fn access(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        how: (Report, bool),
    ) -> Result<(), Refusal> {
        if local.len() > MOST {
            return Err(Refusal::Unfit);
        }
        self.transfer(peer, local, key, offset, how)
    }
}
