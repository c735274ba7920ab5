//! Context ids: what keeps the messages of one communicator from those of another (MPI-5.0 section 7.2.4).
//!
//! The members of a new communicator agree on an id that none of them uses. Each proposes the next one it has
//! not used, the largest proposal is taken, and everyone says whether it is still free there; when two
//! communicators are made at once, by threads or by `MPI_Comm_idup`, the slower one is asked again.

use std::collections::BTreeSet;

/// Largest id. One bit of a message's context tells the library's own messages from the program's; and the handle of a window has
/// room for an id ([`crate::handle`]).
const MAX: u32 = (1 << 26) - 2;
/// Ids of `MPI_COMM_WORLD` and `MPI_COMM_SELF` lie below.
const FIRST: u32 = 2;

/// Where communicators made from groups alone agree on their id.
pub(crate) const MEETING: u32 = MAX + 1;

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
    pub fn candidate(self, largest: u32) -> u32 {
        if self.failures == 0 {
            return largest;
        }
        let mixed = [self.over, self.number, self.failures]
            .into_iter()
            .fold(0, |mixed: u32, word| (mixed.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1));
        let lane = mixed >> (u32::BITS - LANES.ilog2());
        let id = largest.next_multiple_of(MOST * LANES) + MOST * lane;
        if id > MAX - MOST { largest } else { id }
    }
}

/// The ids in use in this process.
pub(crate) struct Contexts {
    next: u32,
    used: BTreeSet<u32>,
}

impl Contexts {
    pub const fn new() -> Contexts {
        Contexts { next: FIRST, used: BTreeSet::new() }
    }

    /// An id that this process could use for `count` consecutive ones. Never the same one twice in a row.
    pub fn propose(&mut self, count: u32) -> u32 {
        loop {
            let id = self.next;
            self.next = if id > MAX - 2 * count { FIRST } else { id + count };
            if self.is_free(id, count) {
                return id;
            }
        }
    }

    /// Takes `count` ids from `id`, if they are free; whether they were.
    pub fn reserve(&mut self, id: u32, count: u32) -> bool {
        let free = self.is_free(id, count);
        if free {
            self.used.extend(id..id + count);
            self.next = self.next.max(id + count).min(MAX - count);
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
    use super::{BTreeSet, Contexts, FIRST, LANES, MAX, MOST, Party};

    #[test]
    fn who_failed_goes_on_to_an_id_of_its_own() {
        let party = |number, failures| Party { over: 0, number, failures };
        assert_eq!(party(7, 0).candidate(1000), 1000);
        let ids: BTreeSet<u32> = (0..8).map(|number| party(number, 1).candidate(1000)).collect();
        assert!(ids.len() > 5 && ids.iter().all(|&id| (1000..1024 + MOST * LANES).contains(&id)));
        let again =
            (1..9).any(|failures| party(1, failures).candidate(1000) != party(2, failures).candidate(1000));
        assert!(again, "two that chose the same one part later");
        assert_eq!(party(1, 1).candidate(MAX - 3), MAX - 3);
    }

    #[test]
    fn ids_come_back_after_the_last_one() {
        let mut contexts = Contexts { next: MAX - 3, ..Contexts::new() };
        assert!(contexts.reserve(FIRST, 1));
        assert_eq!(contexts.propose(2), MAX - 3);
        assert_eq!(contexts.propose(2), FIRST + 2);
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
