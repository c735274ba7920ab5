//! Context ids: what keeps the messages of one communicator from those of another (MPI-5.0 section 7.2.4).
//!
//! ```text
//!            taken by a communicator
//!   free ────────────────────────────► used ──► lingering: the communicator is gone, receives in its context are not
//!     ▲  └── offered: a communicator in the making may get it │                │
//!     └───────────────────────────────────────────────────────│────────────────┘
//!                                                             └──► abandoned, for good: calls on it have ended with errors
//! ```
//!
//! How the members of a new communicator agree on an id is `communicators::agreement`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest id. One bit of a message's context distinguishes the library's own messages from the program's; and the
/// handle of a window has room for an id ([`crate::handle`]).
const MAX: u32 = (1 << 26) - 2;
/// What stands for the id of a communicator that is in the table and in the making.
pub const IN_THE_MAKING: u32 = MAX + 2;
/// Ids of `MPI_COMM_WORLD` and `MPI_COMM_SELF` lie below.
const FIRST: u32 = 2;

/// The ids in use in this process.
pub struct Contexts {
    /// Where the next communicator looks for an id. Positions count on, lap after lap over the ids; so of two of them the
    /// later one is the larger one, and an id that has just become free is not the next one to be taken.
    position: u64,
    /// Each with the number of its taking.
    used: BTreeMap<u32, u64>,
    takings: u64,
    makings: Arc<Mutex<Makings>>,
    /// Used ids whose communicator is gone.
    lingering: BTreeSet<u32>,
    /// Ids that no communicator gets again: a bit for each, by [`place_of`]. Failures may make many.
    abandoned: BTreeMap<u32, u64>,
    /// Largest id.
    max: u32,
}

/// What is kept for communicators in the making.
#[derive(Default)]
pub struct Makings {
    /// Free ids that they may get; a few for each of them.
    offered: Vec<u32>,
    /// Parties that must find an id among all there are; see [`Offer::claim`].
    claims: Vec<u64>,
}

impl Makings {
    /// Whether another communicator in the making may get one of `count` ids from `id`.
    pub fn is_offered(&self, id: u32, count: u32) -> bool {
        self.offered.iter().any(|offered| (id..id + count).contains(offered))
    }

    /// Whether another party comes first.
    pub fn comes_first(&self, party: u64) -> bool {
        self.claims.iter().any(|&claim| claim < party)
    }
}

/// What is kept for one communicator in the making, until that has its ids or is given up, whichever way.
pub struct Offer {
    ids: Vec<u32>,
    claim: Option<u64>,
    all: Arc<Mutex<Makings>>,
}

fn lock(makings: &Mutex<Makings>) -> MutexGuard<'_, Makings> {
    makings.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Offer {
    /// The communicator may get these ids, too: no other one is offered them.
    pub fn add(&mut self, ids: &[u32]) {
        self.ids.extend(ids);
        lock(&self.all).offered.extend(ids);
    }

    /// The communicator does not get what it was offered.
    pub fn withdraw(&mut self) {
        let mut all = lock(&self.all);
        // Where no other one is in the making, these are all.
        if all.offered == self.ids {
            all.offered.clear();
        } else {
            all.offered.retain(|id| !self.ids.contains(id));
        }
        self.ids.clear();
    }

    /// The communicator, `party`, could not get an id while others were offered some: until it has one, those whose number is
    /// larger are offered none. So of several that wait for each other one always gets what it needs.
    pub fn claim(&mut self, party: u64) {
        if self.claim.replace(party).is_none() {
            lock(&self.all).claims.push(party);
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.withdraw();
        let Some(party) = self.claim else { return };
        let claims = &mut lock(&self.all).claims;
        if let Some(place) = claims.iter().position(|&claim| claim == party) {
            claims.swap_remove(place);
        }
    }
}

impl Contexts {
    pub fn new() -> Contexts {
        Contexts {
            position: 0,
            used: BTreeMap::new(),
            takings: 0,
            makings: Arc::default(),
            lingering: BTreeSet::new(),
            abandoned: BTreeMap::new(),
            max: MAX,
        }
    }

    /// The message layer distinguishes only so many contexts; the number is the same everywhere and at least 16.
    pub fn limit(&mut self, contexts: u32) {
        self.max = MAX.min(contexts / 2 - 2);
    }

    /// Where communicators made from groups alone agree on their id.
    pub fn meeting(&self) -> u32 {
        self.max + 1
    }

    /// Positions of a lap.
    pub fn lap(&self) -> u64 {
        u64::from(self.max - FIRST + 1)
    }

    /// Where this process looks next.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Later communicators look from `position` on.
    pub fn go_on(&mut self, position: u64) {
        self.position = self.position.max(position);
    }

    /// The first of `count` consecutive ids at a position, if there are so many before the lap ends.
    pub fn at(&self, position: u64, count: u32) -> Option<u32> {
        let place = position % self.lap();
        (place + u64::from(count) <= self.lap()).then_some(FIRST + place as u32)
    }

    /// Whether no communicator has one of `count` ids from `id`.
    pub fn is_free(&self, id: u32, count: u32) -> bool {
        self.used.range(id..id + count).next().is_none() && !(id..id + count).any(|id| self.is_abandoned(id))
    }

    fn is_abandoned(&self, id: u32) -> bool {
        let (word, bit) = place_of(id);
        self.abandoned.get(&word).is_some_and(|bits| bits & bit != 0)
    }

    /// What is kept for communicators in the making.
    pub fn makings(&self) -> MutexGuard<'_, Makings> {
        lock(&self.makings)
    }

    /// An offer to one more communicator, of no id yet.
    pub fn offer(&self) -> Offer {
        Offer { ids: Vec::new(), claim: None, all: Arc::clone(&self.makings) }
    }

    /// Takes `count` ids from `id`.
    pub fn take(&mut self, id: u32, count: u32) {
        self.takings += 1;
        self.used.extend((id..id + count).map(|id| (id, self.takings)));
    }

    /// Which taking of an id its present use goes back to; another number each time that it is taken. `None`: no communicator has it.
    pub fn taking(&self, id: u32) -> Option<u64> {
        self.used.get(&id).copied()
    }

    /// Gives ids back.
    pub fn release(&mut self, id: u32, count: u32) {
        (id..id + count).for_each(|id| {
            self.used.remove(&id);
        });
    }

    /// The communicator of these ids is gone, but a receive may still be posted in their contexts: they stay used until
    /// [`Contexts::settle`] finds that none is.
    pub fn leave(&mut self, id: u32, count: u32) {
        self.lingering.extend(id..id + count);
    }

    /// The communicator of these ids is gone, and its processes may still revoke it or have sent messages in its contexts that no call
    /// takes any more: no other one gets them.
    pub fn abandon(&mut self, id: u32, count: u32) {
        for id in id..id + count {
            let (word, bit) = place_of(id);
            *self.abandoned.entry(word).or_default() |= bit;
            self.used.remove(&id);
        }
    }

    /// Whether no communicator may get an id, and the one that had it is gone.
    pub fn is_gone(&self, id: u32) -> bool {
        self.lingering.contains(&id) || self.is_abandoned(id)
    }

    /// Whether ids may be free that are not known to be.
    pub fn has_lingering(&self) -> bool {
        !self.lingering.is_empty()
    }

    /// Ids that are kept for communicators in the making, and parties that come first.
    pub fn kept_for_makings(&self) -> usize {
        let makings = self.makings();
        makings.offered.len() + makings.claims.len()
    }

    /// Gives those back whose communicator is gone and that are not `awaited`.
    pub fn settle(&mut self, awaited: &BTreeSet<u32>) {
        let over: Vec<u32> = self.lingering.difference(awaited).copied().collect();
        for id in over {
            self.lingering.remove(&id);
            self.release(id, 1);
        }
    }
}

/// Where the bit of an id is.
const fn place_of(id: u32) -> (u32, u64) {
    (id / u64::BITS, 1 << (id % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::{Contexts, FIRST, MAX};

    #[test]
    fn positions_go_through_all_ids_and_begin_again() {
        let mut contexts = Contexts::new();
        assert_eq!(contexts.at(0, 1), Some(FIRST));
        assert_eq!(contexts.at(contexts.lap() - 1, 1), Some(MAX));
        assert_eq!(
            contexts.at(contexts.lap() - 1, 2),
            None,
            "the second one would be the first of the next lap"
        );
        assert_eq!(contexts.at(contexts.lap(), 2), Some(FIRST));
        contexts.limit(32);
        assert_eq!((contexts.meeting(), contexts.lap()), (15, 13));
        assert_eq!(contexts.at(u64::MAX, 1).map(|id| id < 15), Some(true));
    }

    #[test]
    fn what_is_taken_is_not_free_until_released() {
        let mut contexts = Contexts::new();
        contexts.take(5, 2);
        assert!(contexts.is_free(4, 1) && !contexts.is_free(4, 2) && !contexts.is_free(6, 1));
        contexts.release(5, 2);
        assert!(contexts.is_free(4, 4));
    }

    #[test]
    fn an_id_stays_used_while_a_receive_is_posted_in_its_context() {
        let mut contexts = Contexts::new();
        contexts.take(5, 2);
        contexts.leave(5, 2);
        contexts.settle(&[5, 9].into());
        assert!(!contexts.is_free(5, 1) && contexts.is_free(6, 1) && contexts.has_lingering());
        contexts.settle(&[].into());
        assert!(contexts.is_free(5, 1) && !contexts.has_lingering());
    }

    #[test]
    fn an_abandoned_id_is_gone_and_never_free() {
        let mut contexts = Contexts::new();
        contexts.take(5, 2);
        assert!(!contexts.is_gone(5));
        contexts.abandon(5, 1);
        contexts.leave(6, 1);
        assert!(contexts.is_gone(5) && contexts.is_gone(6));
        contexts.settle(&[].into());
        assert!(contexts.is_gone(5) && !contexts.is_gone(6) && !contexts.is_free(5, 1));
    }
}
