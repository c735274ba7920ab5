//! Up to which size the fast path serves: as far as the table chooses what it does.

use coll::Coll;
use coll::tuned::{Level, Tuned};

use super::super::reaches::Reach;
use super::super::select::plain_query;
use super::super::state::CollState;
use objects::comm::Comm;
use objects::state::Membership;

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
    // Where processes agree on how a call ends they do so behind a schedule.
    let usual = !comm.hints.are_errors_uniform(false)
        && !tuned.online
        && !tuned.reproducible
        && tuned.check != Level::Full;
    let chosen = if usual { tuned.select_up_to(&query) } else { None };
    let reach = chosen.and_then(|(algorithm, most)| {
        let meeting = algorithm.get().exchange?;
        Some(Reach { most, meeting, algorithm })
    });
    kept.fast_paths.reaches[coll as usize] = Some(reach);
    reach
}
