//! Requests that are started again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use interpose::{Call, groups};

/// A call begins that may free handles: what is known of them is forgotten.
pub fn forget(call: &Call<'_>) {
    groups::forget(call);
    if call.function.name == "MPI_Request_free"
        && let Some(kept) = lock().as_mut()
    {
        kept.remove(&call.handle(0));
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
    lock().get_or_insert_default().insert(request, sends);
}

/// What a request that is started sends.
pub fn kept(request: usize) -> Option<Sends> {
    lock().as_ref()?.get(&request).copied()
}

fn lock() -> MutexGuard<'static, Option<HashMap<usize, Sends>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
