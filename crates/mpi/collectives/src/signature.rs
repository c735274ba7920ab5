//! What a schedule is chosen for.

use coll::Root;
use coll::tuned::Query;

/// What a schedule is chosen for; the part that all ranks agree on, and the process's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) query: Query,
    pub(super) root: Root,
    pub(super) in_place: bool,
    pub(super) contiguous: bool,
    /// The library's own.
    pub(super) own: bool,
    /// How often choices by trial were settled on the communicator.
    pub(super) settled: u32,
}

impl Signature {
    /// The bytes by which the algorithm is chosen; the same on every rank.
    pub fn bytes(&self) -> u64 {
        self.query.bytes
    }

    /// What the choice depends on.
    pub fn query(&self) -> &Query {
        &self.query
    }

    pub(super) fn differs_in_root(&self, other: &Signature) -> bool {
        self.query == other.query && self.root != other.root
    }
}
