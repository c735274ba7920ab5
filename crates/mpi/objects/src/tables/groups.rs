//! Groups: ordered sets of processes.

use std::collections::HashMap;
use std::sync::Arc;

use abi::{Error, Result};

use crate::handle::{self, Kind, Objects};

/// An ordered set of processes, by their peer index; immutable and shared.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    peers: Arc<[u32]>,
    /// This process's rank, if it is a member.
    pub rank: Option<u32>,
    /// The session that it comes from; `None` in the world model.
    pub session: Option<abi::Session>,
}

impl Group {
    /// The group of `peers`, seen by the process `me`.
    pub fn new(peers: Arc<[u32]>, me: u32) -> Group {
        let rank = peers.iter().position(|&p| p == me).map(|r| r as u32);
        Group { peers, rank, session: None }
    }

    /// The group, come from a session.
    pub fn of_session(self, session: Option<abi::Session>) -> Group {
        Group { session, ..self }
    }

    pub fn peers(&self) -> Arc<[u32]> {
        self.peers.clone()
    }

    pub fn members(&self) -> &[u32] {
        &self.peers
    }

    pub fn size(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Rank of each member, for translating many.
    pub fn index(&self) -> HashMap<u32, i32> {
        self.peers.iter().enumerate().map(|(rank, &peer)| (peer, rank as i32)).collect()
    }

    /// `MPI_IDENT`, `MPI_SIMILAR` or `MPI_UNEQUAL`.
    pub fn compare(&self, other: &Group) -> i32 {
        if self.peers == other.peers {
            return abi::IDENT;
        }
        let mut mine = self.peers.to_vec();
        let mut theirs = other.peers.to_vec();
        mine.sort_unstable();
        theirs.sort_unstable();
        if mine == theirs { abi::SIMILAR } else { abi::UNEQUAL }
    }
}

/// The group objects that have handles. The group of one communicator, window or file has one handle, however often
/// it is asked for: programs that never free it do not use up handles.
pub struct Groups {
    slab: Objects<Held>,
    /// The keys of the groups in the slab, by their addresses, which stay theirs while they are there.
    keys: HashMap<usize, u32>,
    empty: Arc<Group>,
}

/// A group and how often the program has got its handle without freeing it.
struct Held {
    group: Arc<Group>,
    times: u64,
}

impl Groups {
    pub fn new() -> Groups {
        let empty = Arc::new(Group { peers: Arc::new([]), rank: None, session: None });
        Groups { slab: Objects::new(), keys: HashMap::new(), empty }
    }

    pub fn get(&self, handle: abi::Group) -> Result<Arc<Group>> {
        if handle == abi::GROUP_EMPTY {
            return Ok(self.empty.clone());
        }
        handle::key(Kind::Group, handle.0)
            .and_then(|key| self.slab.get(key))
            .map(|held| held.group.clone())
            .ok_or(Error::new(abi::ERR_GROUP, "the handle names no group"))
    }

    /// Whether a group of the program has a peer.
    pub fn contain(&self, peer: u32) -> bool {
        self.slab.iter().any(|(_, held)| held.group.members().contains(&peer))
    }

    /// The handle of `group`, to be freed once for each call; that of the empty group always is `MPI_GROUP_EMPTY`.
    pub fn add(&mut self, group: Arc<Group>) -> Result<abi::Group> {
        if group.size() == 0 {
            return Ok(abi::GROUP_EMPTY);
        }
        let address = Arc::as_ptr(&group).addr();
        let held = self.keys.get(&address).and_then(|&key| Some((key, self.slab.get_mut(key)?)));
        let key = match held {
            Some((key, held)) => {
                held.times += 1;
                key
            }
            None => {
                let full = |_| Error::new(abi::ERR_OTHER, "more than 2^20 groups exist");
                let key = self.slab.insert(Held { group, times: 1 }).map_err(full)?;
                self.keys.insert(address, key);
                key
            }
        };
        Ok(abi::Group(handle::make(Kind::Group, key)))
    }

    pub fn remove(&mut self, handle: abi::Group) -> Result<()> {
        if handle == abi::GROUP_EMPTY {
            return Ok(());
        }
        let held = handle::key(Kind::Group, handle.0).and_then(|key| Some((key, self.slab.get_mut(key)?)));
        let (key, held) = held.ok_or(Error::new(abi::ERR_GROUP, "the handle names no group"))?;
        held.times -= 1;
        if held.times == 0 {
            self.keys.remove(&Arc::as_ptr(&held.group).addr());
            self.slab.remove(key);
        }
        Ok(())
    }
}
