//! How processes of different jobs know each other: by a bridge, which two groups of processes have made.
//!
//! The members of both groups are numbered through: the first group, then the second one. All of them have the bridge's
//! number and its key, which nothing else has. A caller names the bridge, its own number there and that of the process that it
//! calls, in place of the job and ranks.

use std::collections::HashMap;

/// A bridge, as one member of it sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bridge {
    /// Its random number.
    pub id: u64,
    /// Its random key.
    pub key: u128,
    /// The number of this process.
    pub me: u32,
}

/// A bridge, and which of this process's peers its members are.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) bridge: Bridge,
    /// Peers by their numbers on the bridge.
    pub(crate) peers: HashMap<u32, u32>,
}

/// The bridges of a process.
#[derive(Debug, Default)]
pub(crate) struct Bridges(HashMap<u64, Known>);

impl Bridges {
    pub(crate) fn get(&self, id: u64) -> Option<&Known> {
        self.0.get(&id)
    }

    /// Member `number` of a bridge is this process's `peer`.
    pub(crate) fn add(&mut self, bridge: Bridge, number: u32, peer: u32) {
        let known = self.0.entry(bridge.id).or_insert_with(|| Known { bridge, peers: HashMap::new() });
        known.peers.insert(number, peer);
    }

    /// A member is no peer of this process any more. A bridge without peers goes.
    pub(crate) fn remove(&mut self, id: u64, number: u32) {
        if let Some(known) = self.0.get_mut(&id) {
            known.peers.remove(&number);
            if known.peers.is_empty() {
                self.0.remove(&id);
            }
        }
    }
}
