//! Where a communicator's [`CollState`] is: a table of its own beside that of communicators, which do not know what
//! collectives keep with them. A communicator has the number of its place there, from the first time that one is needed.

use abi::Result;
use engine::{Guarded, Tables};

use super::state::CollState;
use objects::comm::{Comm, Slot};
use objects::state::State;

static KEPT: Guarded<Kept> = Guarded::new(Kept { states: Vec::new(), free: Vec::new() });

#[expect(clippy::vec_box, reason = "a place is found by one load")]
struct Kept {
    states: Vec<Box<CollState>>,
    /// Places that no communicator has.
    free: Vec<Slot>,
}

impl Kept {
    fn place(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            self.states.push(Box::default());
            Slot(self.states.len() as u32 - 1)
        })
    }

    /// Empties a place, which another communicator gets then.
    fn leave(&mut self, slot: Slot) {
        if let Some(place) = self.states.get_mut(slot.0 as usize) {
            **place = CollState::default();
            self.free.push(slot);
        }
    }
}

/// What is at a communicator's place, if it has one yet.
#[inline(always)]
pub(super) fn at(tables: &Tables, slot: Slot) -> Option<&CollState> {
    KEPT.get(tables).states.get(slot.0 as usize).map(Box::as_ref)
}

/// As [`at`], to change it.
#[inline(always)]
pub(super) fn at_mut(tables: &mut Tables, slot: Slot) -> Option<&mut CollState> {
    KEPT.get_mut(tables).states.get_mut(slot.0 as usize).map(Box::as_mut)
}

/// What a communicator keeps; it has a place then.
#[inline(always)]
pub(super) fn of<'t>(tables: &'t mut Tables, comm: &mut Comm) -> &'t mut CollState {
    let kept = KEPT.get_mut(tables);
    if comm.slot == Slot::NONE {
        core::hint::cold_path();
        comm.slot = kept.place();
    }
    &mut kept.states[comm.slot.0 as usize]
}

/// As [`of`], of a handle.
///
/// # Errors
/// `MPI_ERR_COMM`.
pub(super) fn find(state: &mut State, comm: abi::Comm) -> Result<&mut CollState> {
    let State { comms, tables, .. } = state;
    Ok(of(tables, comms.get_mut(comm)?))
}

/// A communicator that is gone keeps nothing any more.
pub fn forget(state: &mut State, comm: &Comm) {
    let kept = KEPT.get_mut(&mut state.tables);
    for gone in std::iter::once(comm).chain(comm.local.as_deref()) {
        kept.leave(gone.slot);
    }
}

/// A communicator is revoked, or a process of it has failed: its calls go the way on which they find out. What its processes have
/// voted on stays: a communicator that is being made of it inherits that, on those that have heard of this and on those that have not.
pub fn refuse(state: &mut State, comm: abi::Comm) {
    if let Ok(kept) = find(state, comm) {
        kept.fast_paths.close();
    }
}

/// A communicator has other hints.
///
/// # Errors
/// `MPI_ERR_COMM`.
pub fn hints_changed(state: &mut State, comm: abi::Comm) -> Result<()> {
    find(state, comm)?.fast_paths.forget();
    Ok(())
}

#[cfg(test)]
mod tests {
    use coll::Coll;

    use super::{CollState, Kept, Slot};

    #[test]
    fn fast_paths_stay_closed() {
        let mut kept = CollState::default();
        let is_closed = |kept: &CollState| {
            Coll::ALL.iter().all(|&coll| matches!(kept.fast_paths.known(coll), Some(None)))
        };
        assert!(!is_closed(&kept));
        kept.fast_paths.close();
        assert!(is_closed(&kept));
        // A vote may end afterwards.
        kept.fast_paths.forget();
        assert!(is_closed(&kept));
    }

    #[test]
    fn a_place_is_empty_when_another_communicator_gets_it() {
        let mut kept = Kept { states: Vec::new(), free: Vec::new() };
        let (first, second) = (kept.place(), kept.place());
        assert_ne!(first, second);
        let number = |kept: &mut Kept, slot: Slot| kept.states[slot.0 as usize].next_tag(0).0;
        assert_eq!(
            [number(&mut kept, first), number(&mut kept, first), number(&mut kept, second)],
            [1, 2, 1]
        );
        kept.leave(first);
        kept.leave(Slot::NONE);
        assert_eq!(kept.place(), first);
        assert_eq!([number(&mut kept, first), number(&mut kept, second)], [1, 2]);
        assert!(kept.free.is_empty());
    }
}
