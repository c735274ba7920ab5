//! Up to which size the fast path serves: as far as the table chooses what it does.

use coll::Coll;
use coll::algorithms::registry::AlgorithmId;
use coll::exchange::Meeting;
use coll::tuned::{Level, Tuned};

use super::super::select::{CollState, plain_query};
use objects::comm::Comm;
use objects::state::Membership;

/// What a communicator knows of its fast paths.
#[derive(Default)]
pub struct FastPaths {
    reaches: [Option<Option<Reach>>; Coll::ALL.len()],
    /// The loop of the latest reduction, which is often that of the next.
    pub(super) kernel: Option<(abi::Op, abi::Datatype, op::Kernel)>,
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
    pub(crate) fn forget(&mut self) {
        self.reaches = Default::default();
    }
}

/// Asks the table; `None`: what it chooses has no fast path.
#[cold]
pub(super) fn learn(
    comm: &Comm,
    kept: &mut CollState,
    world: Option<&Membership>,
    tuned: &Tuned,
    coll: Coll,
) -> Option<Reach> {
    let query = plain_query(coll, comm, kept, world);
    let usual = !tuned.online && !tuned.reproducible && tuned.check != Level::Full;
    let chosen = if usual { tuned.select_up_to(&query) } else { None };
    let reach = chosen.and_then(|(algorithm, most)| {
        let meeting = algorithm.get().exchange?;
        Some(Reach { most, meeting, algorithm })
    });
    kept.fast_paths.reaches[coll as usize] = Some(reach);
    reach
}
