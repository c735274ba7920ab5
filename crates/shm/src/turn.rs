//! Whose turn comes next, where the members of an area share processors.
//!
//! A member that finds nothing makes way for the next one on its processor, and comes round again after all others there.
//! Where calls depend on each other from member to member, as broadcasts do whose roots take turns, only one of those is
//! of use at a time. Lines go on from it; all others copy what has come meanwhile, and could as well do so later:
//!
//! ```text
//!   awaited line     of member 3, on another processor
//!   this processor   5, 6, 7 make way at once;  4 looks on for a while: it comes next after 3
//! ```
//! What others say here is a hint; a wrong one costs time, nothing else.

use crate::area::{Area, Tells};
use crate::sync::Ordering;

impl Area {
    /// This member waits, on processor `processor`.
    pub fn wait_on(&self, processor: u32) {
        let place = self.word(Tells::Processor, self.me);
        let here = u64::from(processor) + 1;
        // The others keep the line while nothing changes.
        if place.load(Ordering::Relaxed) != here {
            place.store(here, Ordering::Relaxed);
        }
        self.word(Tells::Waiting, self.me).store(1, Ordering::Relaxed);
    }

    /// This member does not wait any more.
    pub fn go_on(&self) {
        self.word(Tells::Waiting, self.me).store(0, Ordering::Relaxed);
    }

    /// Whether this member, which waits for a line of `awaited`, had better look on than make way: that one is on another
    /// processor, and of all others here, which wait as well, none comes between the two.
    pub fn is_next_after(&self, awaited: usize) -> bool {
        let here = self.word(Tells::Processor, self.me).load(Ordering::Relaxed);
        let is_here = |member: usize| self.word(Tells::Processor, member).load(Ordering::Relaxed) == here;
        let waits = |member: usize| self.word(Tells::Waiting, member).load(Ordering::Relaxed) != 0;
        let ahead = (self.me + self.members - awaited) % self.members;
        let after = |distance: usize| (awaited + distance) % self.members;
        !(0..ahead).map(after).any(is_here)
            && (ahead..self.members).map(after).all(|member| !is_here(member) || waits(member))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::area::{Area, tests::shared};

    /// The members' areas, of which those of each group wait on a processor of their own.
    fn waiting(members: usize, groups: &[&[usize]]) -> Vec<Area> {
        let memory = shared(members);
        let areas: Vec<Area> = (0..members).map(|me| Area::new(memory, members, me)).collect();
        for (processor, group) in groups.iter().enumerate() {
            group.iter().for_each(|&member| areas[member].wait_on(processor as u32));
        }
        areas
    }

    fn next_after(areas: &[Area], awaited: usize) -> Vec<usize> {
        (0..areas.len()).filter(|&me| me != awaited && areas[me].is_next_after(awaited)).collect()
    }

    #[test]
    fn one_of_the_other_processor_comes_next() {
        let areas = waiting(8, &[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
        assert_eq!(next_after(&areas, 3), [4]);
        assert_eq!(next_after(&areas, 1), [4]);
        assert_eq!(next_after(&areas, 7), [0]);
        let mixed = waiting(6, &[&[0, 3, 4], &[1, 2, 5]]);
        assert_eq!(next_after(&mixed, 0), [1]);
        assert_eq!(next_after(&mixed, 2), [3]);
    }

    #[test]
    fn nobody_keeps_a_processor_from_one_that_does_not_wait() {
        let areas = waiting(4, &[&[0, 1], &[2, 3]]);
        areas[3].go_on();
        assert_eq!(next_after(&areas, 1), []);
        assert_eq!(next_after(&areas, 3), [0]);
    }
}
