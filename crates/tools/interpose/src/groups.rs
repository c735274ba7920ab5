//! The processes of communicators and windows, as ranks of the job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::{Call, Direction, Kind, Shape, ask, index};

/// The processes of a communicator or window that a rank in a call's arguments means.
pub struct Group {
    /// How many.
    pub size: u32,
    /// A number that all processes of a communicator have for it, and no other communicator of theirs has; 0: it is a window.
    ///
    /// Communicators of the same processes are made by all of them in the same order. So the number is made of the ranks and of
    /// how many of the same ranks came before.
    pub identity: u64,
    /// What it has in common with other communicators of the same ranks.
    same: u64,
    /// Their ranks in the job, where they differ; `None` in it: a process of another job.
    ranks: Option<Vec<Option<u32>>>,
}

impl Group {
    /// The rank in the job.
    pub fn in_job(&self, rank: i64) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|&rank| rank < self.size)?;
        match &self.ranks {
            None => Some(rank),
            Some(ranks) => ranks[rank as usize],
        }
    }
}

#[derive(Default)]
struct Known {
    groups: HashMap<usize, Arc<Group>>,
    /// How many communicators of the same ranks there were.
    before: HashMap<u64, u64>,
}

impl Known {
    /// The number of the next communicator of the same ranks.
    fn number(&mut self, same: u64) -> u64 {
        let before = self.before.entry(same).or_insert(0);
        let number = same.wrapping_add(before.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        *before += 1;
        number
    }
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// The group of a communicator or window, by its handle, which the library has accepted.
pub fn of(handle: usize, kind: Kind) -> Arc<Group> {
    static WORLD: OnceLock<Arc<Group>> = OnceLock::new();
    if handle == ask::COMM_WORLD {
        return WORLD.get_or_init(|| find(handle, kind)).clone();
    }
    find(handle, kind)
}

fn find(handle: usize, kind: Kind) -> Arc<Group> {
    if let Some(found) = lock().get_or_insert_default().groups.get(&handle) {
        return found.clone();
    }
    // Not under the lock: the library may take its time.
    let own = || ask::world_ranks(ask::comm_group(handle));
    let (ranks, other) = match kind {
        Kind::Win => (ask::world_ranks(ask::win_group(handle)), None),
        _ if ask::comm_test_inter(handle) != 0 => {
            (ask::world_ranks(ask::comm_remote_group(handle)), Some(own()))
        }
        _ => (own(), None),
    };
    // Both sides of two groups have the same number.
    let same = hash(&ranks) ^ other.map_or(0, |other| hash(&other));
    let mut known = lock();
    let known = known.get_or_insert_default();
    // Another thread may have found it meanwhile.
    if let Some(found) = known.groups.get(&handle) {
        return found.clone();
    }
    // Windows are found at their first use, in another order at each rank.
    let identity = if kind == Kind::Win { 0 } else { known.number(same) };
    let size = ranks.len() as u32;
    let are_jobs = ranks.iter().enumerate().all(|(here, &there)| there == Some(here as u32));
    let found = Arc::new(Group { size, identity, same, ranks: (!are_jobs).then_some(ranks) });
    known.groups.insert(handle, found.clone());
    found
}

fn hash(ranks: &[Option<u32>]) -> u64 {
    index::hash(ranks.iter().flat_map(|rank| rank.unwrap_or(u32::MAX).to_le_bytes()))
}

/// A call was successful: the communicators that it has made get their numbers.
pub fn made(call: &Call<'_>) {
    // What is made in the background can be asked about later; it has the processes of the other one.
    let background = call.comm().filter(|_| call.function.base().starts_with("Comm_idup"));
    for (place, _) in call
        .arguments()
        .filter(|(_, it)| it.kind == Kind::Comm && it.direction == Direction::Out && it.shape == Shape::One)
    {
        let comm = call.element(place, 0) as usize;
        match background {
            Some(other) => twin(comm, &of(other, Kind::Comm)),
            None if comm != 0 && comm != ask::COMM_NULL => drop(of(comm, Kind::Comm)),
            None => {}
        }
    }
}

/// A communicator of the same processes as another one.
fn twin(comm: usize, other: &Group) {
    let mut known = lock();
    let known = known.get_or_insert_default();
    // Another tool may have found it.
    if known.groups.contains_key(&comm) {
        return;
    }
    let identity = known.number(other.same);
    let group = Group { size: other.size, identity, same: other.same, ranks: other.ranks.clone() };
    known.groups.insert(comm, Arc::new(group));
}

/// A call begins that may free a communicator or window: what is known of it is forgotten.
pub fn forget(call: &Call<'_>) {
    if matches!(call.function.name, "MPI_Comm_free" | "MPI_Comm_disconnect" | "MPI_Win_free")
        && let Some(known) = lock().as_mut()
    {
        known.groups.remove(&call.handle(0));
    }
}

fn lock() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
