//! What the ranks of a wide node are bound to: which last-level cache, which memory node. Trees over slots follow it.

use std::sync::Arc;

use abi::Result;
use coll::Seat;
use coll::tuned::{Caches, Placement, WIDE};
use hardware::Unit;

use crate::comm::Comm;
use crate::domain::Token;
use crate::resources::Place;
use crate::state::State;

/// The seats of all ranks of a communicator on one node, which call this together; empty where they are few, all on one
/// seat, or share processors.
pub(super) fn gather(t: &mut Token, comm: abi::Comm) -> Result<Arc<[Seat]>> {
    let Some(own) = own(&mut t.lock(), comm)? else { return Ok(Arc::default()) };
    let word = u64::from(own.memory) << 32 | u64::from(own.cache);
    let words = crate::comm::gather_words(t, comm, &[word])?;
    let seat = |word: u64| Seat { memory: (word >> 32) as u32, cache: word as u32 };
    Ok(Seat::if_several(words.into_iter().map(seat).collect()).into())
}

/// Where this process sits; `None`: no rank of the communicator is asked.
fn own(state: &mut State, comm: abi::Comm) -> Result<Option<Seat>> {
    let State { comms, world, params, .. } = state;
    let found = comms.get_mut(comm)?;
    let placement = super::select::placement(found, world.as_ref());
    Ok(match (params.tuned.caches, placement) {
        _ if found.size() <= WIDE => None,
        (Caches::System, Placement::Node { crowded: false }) => Some(bound_to()),
        (Caches::Given { ranks, caches }, Placement::Node { .. }) => {
            Some(Seat::at(found.peers[found.rank as usize], ranks, caches))
        }
        _ => None,
    })
}

/// What the processors of this process belong to. A cache is named by its first processor.
fn bound_to() -> Seat {
    let place = Place::now();
    let shared = |unit| place.restricted_to(unit).unwrap_or(u32::MAX);
    Seat { memory: shared(Unit::Numa), cache: shared(Unit::L3) }
}

/// The seats of a communicator whose processes all belong to another one.
pub(super) fn inherited(of: &Comm, comm: &Comm) -> Arc<[Seat]> {
    if of.coll.seats.is_empty() || comm.size() <= WIDE {
        return Arc::default();
    }
    let known: std::collections::HashMap<u32, Seat> =
        of.peers.iter().copied().zip(of.coll.seats.iter().copied()).collect();
    let seats: Option<Vec<Seat>> = comm.peers.iter().map(|peer| known.get(peer).copied()).collect();
    seats.map(Seat::if_several).unwrap_or_default().into()
}
