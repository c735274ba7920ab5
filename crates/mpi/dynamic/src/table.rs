//! What this process has open: ports, and jobs that it has had started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use abi::Error;
use engine::Guarded;
use pmi::launch::Launched;

use crate::port::Port;

/// A port of which [`Table::ports`] has no entry.
pub(crate) const NOT_OPEN: Error = Error::new(abi::ERR_PORT, "this process has no open port of that name");

/// Guarded by the lock of the state.
pub(crate) struct Table {
    /// Open ports, by name.
    pub(crate) ports: BTreeMap<String, Arc<Port>>,
    /// Names that this process has published, with the folders where they are.
    pub(crate) names: BTreeMap<String, PathBuf>,
    /// Jobs that this process has had started and that are connected with its own, with the job's number.
    pub(crate) launched: Vec<(u64, Launched)>,
    /// The inter-communicator with those that have spawned this job.
    pub(crate) parent: Option<abi::Comm>,
}

pub(crate) static TABLE: Guarded<Table> = Guarded::new(Table {
    ports: BTreeMap::new(),
    names: BTreeMap::new(),
    launched: Vec::new(),
    parent: None,
});
