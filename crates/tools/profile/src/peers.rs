//! Ranks of communicators and windows as ranks of the job, and requests that are started again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use interpose::{Call, Kind, ask};

/// The processes of a communicator or window that a rank in a call's arguments means.
pub struct Group {
    /// How many.
    pub size: u32,
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

static GROUPS: Mutex<Option<HashMap<usize, Arc<Group>>>> = Mutex::new(None);

/// The group of a communicator or window, by its handle, which the library has accepted.
pub fn of(handle: usize, kind: Kind) -> Arc<Group> {
    static WORLD: OnceLock<Arc<Group>> = OnceLock::new();
    if handle == ask::COMM_WORLD {
        let size = || ask::comm_size(ask::COMM_WORLD).max(0) as u32;
        return WORLD.get_or_init(|| Arc::new(Group { size: size(), ranks: None })).clone();
    }
    if let Some(known) = lock(&GROUPS).as_ref().and_then(|groups| groups.get(&handle)) {
        return known.clone();
    }
    // Not under the lock: the library may take its time.
    let group = match kind {
        Kind::Win => ask::win_group(handle),
        _ if ask::comm_test_inter(handle) != 0 => ask::comm_remote_group(handle),
        _ => ask::comm_group(handle),
    };
    let ranks = ask::world_ranks(group);
    let size = ranks.len() as u32;
    let same = ranks.iter().enumerate().all(|(here, &there)| there == Some(here as u32));
    let found = Arc::new(Group { size, ranks: (!same).then_some(ranks) });
    lock(&GROUPS).get_or_insert_default().insert(handle, found.clone());
    found
}

/// A call begins that may free handles: what is known of them is forgotten.
pub fn forget(call: &Call<'_>) {
    match call.function.name {
        "MPI_Comm_free" | "MPI_Comm_disconnect" | "MPI_Win_free" => {
            if let Some(groups) = lock(&GROUPS).as_mut() {
                groups.remove(&call.handle(0));
            }
        }
        "MPI_Request_free" => {
            if let Some(kept) = lock(&KEPT).as_mut() {
                kept.remove(&call.handle(0));
            }
        }
        _ => {}
    }
}

/// What each start of a persistent request sends.
#[derive(Clone, Copy)]
pub struct Sends {
    /// Bytes.
    pub bytes: u64,
    /// The rank in the job, where it is one.
    pub peer: Option<u32>,
}

static KEPT: Mutex<Option<HashMap<usize, Sends>>> = Mutex::new(None);

/// Keeps what a request sends when it is started.
pub fn keep(request: usize, sends: Sends) {
    lock(&KEPT).get_or_insert_default().insert(request, sends);
}

/// What a request that is started sends.
pub fn kept(request: usize) -> Option<Sends> {
    lock(&KEPT).as_ref()?.get(&request).copied()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
