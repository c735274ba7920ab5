//! Communicators of a recording.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A communicator: the same on all its ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct CommId(pub u32);

impl CommId {
    pub const WORLD: CommId = CommId(0);

    pub fn is_world(self) -> bool {
        self == CommId::WORLD
    }
}

/// All communicators of the job, and what each rank's handles mean at the moment.
///
/// Handles differ between ranks and are used again. What all ranks of a communicator agree on is its group and how many of
/// the same group were made before, since making one is collective.
pub(crate) struct Comms {
    groups: Vec<Arc<[u32]>>,
    by_group: BTreeMap<(Arc<[u32]>, u32), CommId>,
    /// Of the rank whose recording is being read.
    handles: BTreeMap<i64, CommId>,
    made: BTreeMap<Arc<[u32]>, u32>,
}

impl Comms {
    pub fn new(size: u32) -> Comms {
        let world: Arc<[u32]> = (0..size).collect();
        let by_group = BTreeMap::from([((Arc::clone(&world), 0), CommId::WORLD)]);
        Comms { groups: vec![world], by_group, handles: BTreeMap::new(), made: BTreeMap::new() }
    }

    /// The recording of the next rank begins.
    pub fn restart(&mut self) {
        self.handles.clear();
        self.made.clear();
    }

    /// The rank has made a communicator, or met the world.
    pub fn made(&mut self, handle: i64, ranks: Vec<u32>) {
        let group: Arc<[u32]> = ranks.into();
        let count = self.made.entry(Arc::clone(&group)).or_insert(0);
        let key = (Arc::clone(&group), *count);
        *count += 1;
        let next = CommId(self.groups.len() as u32);
        let id = *self.by_group.entry(key).or_insert(next);
        if id == next {
            self.groups.push(group);
        }
        self.handles.insert(handle, id);
    }

    /// What a handle means; `None`: a communicator whose ranks are not known (that of the process alone, say).
    pub fn of(&self, handle: i64) -> Option<CommId> {
        self.handles.get(&handle).copied()
    }

    /// The world ranks of a communicator's ranks.
    pub fn group(&self, id: CommId) -> &Arc<[u32]> {
        &self.groups[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_on_communicators_whatever_their_handles() {
        let mut comms = Comms::new(3);
        let mut ids = Vec::new();
        for (rank, handles) in [(0u32, [10, 20]), (1, [77, 10])] {
            comms.restart();
            comms.made(1, vec![0, 1, 2]);
            comms.made(handles[0], vec![0, 1]);
            comms.made(handles[1], vec![0, 1]);
            assert!(comms.of(1).is_some_and(CommId::is_world), "rank {rank}");
            ids.push(handles.map(|handle| comms.of(handle)));
        }
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0][0], ids[0][1]);
        assert_eq!(comms.of(99), None);
    }
}
