//! Memory that transports register: what watches it.

use std::sync::Arc;

use rcache::{Monitor, RcacheParams, Trusting, Unwatched, Watch, Watching};

/// Begins to watch this process's memory. Where that is refused, rank 0 says so.
pub(super) fn watch(rank: u32, params: &RcacheParams) -> Arc<dyn Watch> {
    match params.watch {
        Watching::Off => Arc::new(Unwatched),
        Watching::Trust => Arc::new(Trusting),
        Watching::Userfaultfd => match Monitor::start() {
            Ok(monitor) => Arc::new(monitor),
            Err(refused) => {
                if rank == 0 {
                    eprintln!("alhena: {refused}");
                }
                Arc::new(Unwatched)
            }
        },
    }
}
