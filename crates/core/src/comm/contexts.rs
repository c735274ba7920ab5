//! Context ids: what keeps the messages of one communicator from those of another (MPI-5.0 section 7.2.4).
//!
//! The members of a new communicator agree on an id that none of them uses. Each proposes the next one it has
//! not used, the largest proposal is taken, and everyone says whether it is still free there; when two
//! communicators are made at once, by threads or by `MPI_Comm_idup`, the slower one is asked again.

use std::collections::BTreeSet;

use abi::{Error, Result};

/// Largest id. One bit of a message's context tells the library's own messages from the program's; and the handle of a
/// window has room for an id ([`crate::handle`]).
const MAX: u32 = (1 << 26) - 2;
/// The proposal of a process that has no id left: larger than all others, so that everybody hears of it.
const NONE_LEFT: u32 = u32::MAX;
/// Ids of `MPI_COMM_WORLD` and `MPI_COMM_SELF` lie below.
const FIRST: u32 = 2;

/// Who agrees on an id: equal in all members of the new communicator, and different for others made at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Party {
    /// Context of the communicator over which they agree.
    pub over: u32,
    /// Tells apart what is made over the same one at once.
    pub number: u32,
    /// How often they have failed to agree.
    pub failures: u32,
}

/// Ids that parties which failed to agree choose from; each id is the first of [`MOST`].
const LANES: u32 = 64;
/// Most consecutive ids that a communicator needs.
const MOST: u32 = 2;

impl Party {
    /// The id to vote on when the largest proposal is `largest`.
    ///
    /// Where several communicators are made at once, their members meet in different orders, and the proposals for one
    /// are those for another: all would fail, again and again. So a process that failed goes on to an id of its own:
    ///
    /// ```text
    ///   …  largest  …  | next block of ids:  .  .  here  .  .  there  .  |
    ///                                            party A    party B
    /// ```
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`, for all members alike: a process has none left.
    pub fn candidate(self, largest: u32, max: u32) -> Result<u32> {
        let largest = agreed(largest)?;
        if self.failures == 0 {
            return Ok(largest);
        }
        let mixed = [self.over, self.number, self.failures]
            .into_iter()
            .fold(0, |mixed: u32, word| (mixed.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1));
        let lane = mixed >> (u32::BITS - LANES.ilog2());
        let id = largest.next_multiple_of(MOST * LANES) + MOST * lane;
        Ok(if id > max - MOST { largest } else { id })
    }
}

/// The largest of all proposals, if each is an id.
///
/// # Errors
/// `MPI_ERR_OTHER`: a process has none left.
pub(crate) fn agreed(largest: u32) -> Result<u32> {
    match largest {
        NONE_LEFT => Err(Error::new(
            abi::ERR_OTHER,
            "all context ids are in use: free communicators, or let the library match (--mca pml ob1)",
        )),
        id => Ok(id),
    }
}

/// The ids in use in this process.
pub(crate) struct Contexts {
    next: u32,
    used: BTreeSet<u32>,
    /// Largest id.
    max: u32,
}

impl Contexts {
    pub const fn new() -> Contexts {
        Contexts { next: FIRST, used: BTreeSet::new(), max: MAX }
    }

    /// The message layer tells only so many contexts apart, which is the same everywhere and at least 16.
    pub fn limit(&mut self, contexts: u32) {
        self.max = MAX.min(contexts / 2 - 2);
    }

    /// Largest id.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Where communicators made from groups alone agree on their id.
    pub fn meeting(&self) -> u32 {
        self.max + 1
    }

    /// An id that this process could use for `count` consecutive ones, if it has one left. Never the same one twice in
    /// a row.
    pub fn propose(&mut self, count: u32) -> u32 {
        // Twice as often as there are ids: a lap may begin between two that fit.
        for _ in 0..=2 * self.max / count {
            let id = self.next;
            self.next = if id > self.max - 2 * count { FIRST } else { id + count };
            if self.is_free(id, count) {
                return id;
            }
        }
        NONE_LEFT
    }

    /// Takes `count` ids from `id`, if they are free; whether they were.
    pub fn reserve(&mut self, id: u32, count: u32) -> bool {
        let free = self.is_free(id, count);
        if free {
            self.used.extend(id..id + count);
            self.next = self.next.max(id + count).min(self.max - count);
        }
        free
    }

    /// Gives ids back.
    pub fn release(&mut self, id: u32, count: u32) {
        (id..id + count).for_each(|id| {
            self.used.remove(&id);
        });
    }

    fn is_free(&self, id: u32, count: u32) -> bool {
        self.used.range(id..id + count).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, Contexts, FIRST, LANES, MAX, MOST, NONE_LEFT, Party};

    #[test]
    fn who_failed_goes_on_to_an_id_of_its_own() {
        let party = |number, failures| Party { over: 0, number, failures };
        let candidate = |number, failures, largest| party(number, failures).candidate(largest, MAX).unwrap();
        assert_eq!(candidate(7, 0, 1000), 1000);
        let ids: BTreeSet<u32> = (0..8).map(|number| candidate(number, 1, 1000)).collect();
        assert!(ids.len() > 5 && ids.iter().all(|&id| (1000..1024 + MOST * LANES).contains(&id)));
        let again = (1..9).any(|failures| candidate(1, failures, 1000) != candidate(2, failures, 1000));
        assert!(again, "two that chose the same one part later");
        assert_eq!(candidate(1, 1, MAX - 3), MAX - 3);
    }

    #[test]
    fn ids_come_back_after_the_last_one() {
        let mut contexts = Contexts { next: MAX - 3, ..Contexts::new() };
        assert!(contexts.reserve(FIRST, 1));
        assert_eq!(contexts.propose(2), MAX - 3);
        assert_eq!(contexts.propose(2), FIRST + 2);
    }

    #[test]
    fn a_narrow_layer_runs_out_of_ids() {
        let mut contexts = Contexts::new();
        contexts.limit(32);
        assert_eq!((contexts.max(), contexts.meeting()), (14, 15));
        let mut taken = BTreeSet::new();
        for _ in 0..12 {
            let id = contexts.propose(1);
            assert!(contexts.reserve(id, 1) && id < 14 && taken.insert(id));
        }
        assert_eq!(contexts.propose(1), NONE_LEFT);
        let party = Party { over: 0, number: 0, failures: 0 };
        assert_eq!(party.candidate(NONE_LEFT, 14).map_err(|error| error.class), Err(abi::ERR_OTHER));
        contexts.release(5, 1);
        assert_eq!(contexts.propose(1), 5);
    }

    #[test]
    fn what_is_reserved_is_not_free_until_released() {
        let mut contexts = Contexts::new();
        let id = contexts.propose(2);
        assert!(contexts.reserve(id, 2));
        assert!(!contexts.reserve(id + 1, 1));
        contexts.release(id, 2);
        assert!(contexts.reserve(id + 1, 1));
    }
}
