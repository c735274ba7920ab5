//! Up to which sizes the fast paths of a communicator serve.

use coll::Coll;
use coll::algorithms::registry::AlgorithmId;
use coll::exchange::Meeting;

/// What a communicator knows of its fast paths.
#[derive(Default)]
pub struct FastPaths {
    pub(super) reaches: [Option<Option<Reach>>; Coll::ALL.len()],
    /// The loop of the latest reduction, which is often that of the next.
    pub(super) kernel: Option<(abi::Op, abi::Datatype, op::Kernel)>,
    is_closed: bool,
}

/// How far the fast path of a collective reaches.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The most bytes, as the table counts them.
    pub most: u64,
    /// How processes wait for each other.
    pub meeting: Meeting,
    /// What the table chose.
    pub algorithm: AlgorithmId,
}

impl FastPaths {
    #[inline(always)]
    pub(super) fn known(&self, coll: Coll) -> Option<Option<Reach>> {
        self.reaches[coll as usize]
    }

    /// What the choice depends on has changed.
    pub(super) fn forget(&mut self) {
        let unknown = if self.is_closed { Some(None) } else { None };
        self.reaches = [unknown; Coll::ALL.len()];
    }

    /// No call takes a fast path any more.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.forget();
    }
}
