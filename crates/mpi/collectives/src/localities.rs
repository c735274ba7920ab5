//! What the ranks of a node are bound to: which last-level cache, which memory node. Rows of the table for two ranks depend
//! on it, and trees over the slots of wide nodes follow it.

use std::sync::{Arc, OnceLock};

use abi::Result;
use coll::Locality;
use coll::tuned::{Caches, Placement, WIDE};
use hardware::Unit;

use objects::comm::Comm;
use objects::resources::Processors;
use objects::state::State;

/// Not bound to one cache, or to one memory node.
const NONE: u32 = u32::MAX;

/// The word of a process that sits at `own`, for [`of_words`].
pub(super) fn word(own: Locality) -> u64 {
    u64::from(own.memory) << 32 | u64::from(own.cache)
}

/// Whether the two ranks of these words sit on one cache; and the localities of all ranks of a wide communicator, empty
/// where all sit on the same one.
pub(super) fn of_words(words: Vec<u64>) -> (bool, Arc<[Locality]>) {
    let localities: Vec<Locality> =
        words.into_iter().map(|word| Locality { memory: (word >> 32) as u32, cache: word as u32 }).collect();
    match localities[..] {
        [one, other] => (one == other && one.cache != NONE, Arc::default()),
        _ => (false, Locality::if_several(localities).into()),
    }
}

/// Where this process sits; `None`: no rank of the communicator is asked.
pub(super) fn own(state: &mut State, comm: abi::Comm) -> Result<Option<Locality>> {
    let State { tables, comms, world, params, .. } = state;
    let found = comms.get_mut(comm)?;
    let kept = super::kept::of(tables, found);
    let placement = super::select::placement(found, kept, world.as_ref());
    Ok(match (params.tuned.caches, placement) {
        _ if (3..=WIDE).contains(&found.size()) => None,
        (Caches::System, Placement::Node { oversubscribed: false }) => Some(bound_to()),
        (Caches::Given { ranks, caches }, Placement::Node { .. }) => {
            Some(Locality::at(found.group.members()[found.rank as usize], ranks, caches))
        }
        _ => None,
    })
}

/// What the processors of this process belong to, which the system is asked once: it takes as long as a hundred short
/// collectives. A cache is named by its first processor.
fn bound_to() -> Locality {
    static BOUND_TO: OnceLock<Locality> = OnceLock::new();
    *BOUND_TO.get_or_init(|| {
        let place = Processors::now();
        let shared = |unit| place.restricted_to(unit).unwrap_or(NONE);
        Locality { memory: shared(Unit::Numa), cache: shared(Unit::L3) }
    })
}

/// The localities of a communicator whose processes all belong to another one with `localities`.
pub(super) fn inherited(localities: &[Locality], of: &Comm, comm: &Comm) -> Arc<[Locality]> {
    if localities.is_empty() || comm.size() <= WIDE {
        return Arc::default();
    }
    let known: std::collections::HashMap<u32, Locality> =
        of.group.members().iter().copied().zip(localities.iter().copied()).collect();
    let localities: Option<Vec<Locality>> =
        comm.group.members().iter().map(|peer| known.get(peer).copied()).collect();
    localities.map(Locality::if_several).unwrap_or_default().into()
}
