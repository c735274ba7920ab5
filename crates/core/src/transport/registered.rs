//! What is done about memory that transports register: who watches it, and what the pool is made of.

use std::sync::Arc;

use mpool::HugePages;
use rcache::{Monitor, Pages, RcacheParams, Trusting, Unwatched, Watch, Watching};

/// Which pages the pool takes.
pub(crate) fn pages(params: &RcacheParams) -> HugePages {
    match params.huge_pages {
        Pages::Never => HugePages::Never,
        Pages::Transparent => HugePages::Transparent,
        Pages::Reserved => HugePages::Reserved,
    }
}

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
