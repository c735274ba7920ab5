//! The watch that the parameters choose.

use std::sync::Arc;

use crate::{Monitor, RcacheParams, Trusting, Unwatched, Watch, Watching};

/// Begins to watch this process's memory. Where the system refuses that, a process that is to report prints why, and no
/// registration is kept.
pub fn watch(params: &RcacheParams, report: bool) -> Arc<dyn Watch> {
    match params.watch {
        Watching::Off => Arc::new(Unwatched),
        Watching::Trust => Arc::new(Trusting),
        Watching::Userfaultfd => match Monitor::start() {
            Ok(monitor) => Arc::new(monitor),
            Err(refused) => {
                if report {
                    eprintln!("alhena: {refused}");
                }
                Arc::new(Unwatched)
            }
        },
    }
}
