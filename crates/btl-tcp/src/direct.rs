//! Users' memory that peers read and write without an arrival, and that of this process's own gets and puts.

use btl::{Access, Event, RemoteKey};
use mem::{PeerBytes, UserMem};
use slab::Slab;

/// Memory that a peer may use, until it is concealed.
#[derive(Debug)]
pub(crate) struct Exposed {
    peer: u32,
    memory: UserMem,
    access: Access,
}

/// A get or put of this process, until the peer has said that it is over.
#[derive(Debug)]
struct Pending {
    peer: u32,
    cookie: u64,
    /// Where a get goes.
    into: Option<UserMem>,
}

#[derive(Debug, Default)]
pub(crate) struct Direct {
    exposed: Slab<Exposed, 20, 12>,
    pending: Slab<Pending, 20, 12>,
}

/// Payload on its way from a connection into memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pouring {
    /// The rest of it; `None`: the payload is thrown away.
    pub(crate) into: Option<UserMem>,
    pub(crate) left: usize,
    pub(crate) end: End,
}

/// What to do when all payload has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// This get is over.
    Fetched(u32),
    /// The peer's put is over, into the memory exposed under this name.
    Stored { put: u32, name: u32 },
}

impl Pouring {
    /// The next `bytes` have come.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if let Some(memory) = self.into {
            memory.write(PeerBytes::of(bytes));
        }
        self.filled(bytes.len());
    }

    /// The next `count` bytes are in the memory.
    pub(crate) fn filled(&mut self, count: usize) {
        self.left -= count.min(self.left);
        self.into = self.into.map(|memory| memory.part(count, usize::MAX));
    }
}

impl Direct {
    /// # Errors
    /// The memory, if all names are taken.
    pub(crate) fn expose(&mut self, peer: u32, memory: UserMem, access: Access) -> Option<RemoteKey> {
        let name = self.exposed.insert(Exposed { peer, memory, access }).ok()?;
        Some(RemoteKey([name.into(), memory.len() as u64, 0]))
    }

    /// The name in a key of this process's own.
    pub(crate) fn conceal(&mut self, peer: u32, key: RemoteKey) -> Option<u32> {
        let name = u32::try_from(key.0[0]).ok()?;
        self.exposed.get(name).filter(|exposed| exposed.peer == peer)?;
        self.exposed.remove(name).map(|_| name)
    }

    /// The part of exposed memory that a peer names, if it may.
    pub(crate) fn named(
        &self,
        peer: u32,
        name: u32,
        access: Access,
        (offset, len): (u64, u64),
    ) -> Option<UserMem> {
        let exposed = self.exposed.get(name)?;
        let all = exposed.memory.len() as u64;
        let fits = offset.checked_add(len).is_some_and(|end| end <= all);
        let may = exposed.peer == peer && exposed.access == access && fits;
        may.then(|| exposed.memory.part(offset as usize, len as usize))
    }

    /// Notes a get, with the memory that it fills, or a put; its name.
    pub(crate) fn begin(&mut self, peer: u32, cookie: u64, into: Option<UserMem>) -> Option<u32> {
        self.pending.insert(Pending { peer, cookie, into }).ok()
    }

    /// Where the payload of a get goes, if the peer was asked for just that.
    pub(crate) fn fetched(&self, peer: u32, get: u32, len: usize) -> Option<UserMem> {
        self.pending.get(get).filter(|pending| pending.peer == peer)?.into.filter(|into| into.len() == len)
    }

    /// A get or put with a peer is over.
    pub(crate) fn over(&mut self, peer: u32, what: u32, succeeded: bool) -> Option<Event> {
        self.pending.get(what).filter(|pending| pending.peer == peer)?;
        let cookie = self.pending.remove(what)?.cookie;
        Some(if succeeded { Event::Done(cookie) } else { Event::Failed(cookie) })
    }

    /// Whether a get or put with a peer is not over.
    pub(crate) fn is_pending(&self, peer: u32) -> bool {
        self.pending.iter().any(|(_, pending)| pending.peer == peer)
    }

    /// All gets and puts with a peer that is lost.
    pub(crate) fn lost(&mut self, peer: u32) -> Vec<Event> {
        let of_peer = self.pending.iter().filter(|(_, pending)| pending.peer == peer);
        let names: Vec<u32> = of_peer.map(|(name, _)| name).collect();
        names.into_iter().filter_map(|what| self.over(peer, what, false)).collect()
    }
}
