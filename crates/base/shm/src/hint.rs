//! Whose turn comes next, where the members of an area share processors.
//!
//! A member that finds nothing yields to the next one on its processor, and runs again after all others there.
//! Where calls depend on each other from member to member, as broadcasts do whose roots take turns, only one of those is
//! of use at a time. Slots go on from it; all others copy what has come meanwhile, and could as well do so later:
//!
//! ```text
//!   awaited slot     of member 3, on another processor
//!   this processor   5, 6, 7 yield at once;  4 keeps polling for a while: it is next after 3
//! ```
//! So it is with messages. There no process knows the order beforehand; but each names the process that it waits for
//! ([`Waiting`]), and the one that went on last is where things move.
//!
//! What others write here is a hint; a wrong one costs time, nothing else.

use crate::area::{Area, Tells};
use crate::sync::{AtomicU32, Ordering};

/// What a process that waits for a message and shares its processor shows the others of its node, in a cache line of
/// its own. It is written after a failed poll, so that messages which are there cost nothing more.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Waiting {
    /// The processor, counted from 1; 0: never waited.
    processor: AtomicU32,
    /// The place on the node of the awaited process, counted from 1.
    awaited: AtomicU32,
    /// Of the first process of the node: the place of the one that went on last, counted from 1.
    latest: AtomicU32,
}

impl Default for Waiting {
    fn default() -> Waiting {
        let none = || AtomicU32::new(0);
        Waiting { processor: none(), awaited: none(), latest: none() }
    }
}

impl Waiting {
    /// Owner: waits on `processor` for the process at place `awaited`.
    pub fn wait_on(&self, processor: u32, awaited: u32) {
        let tell = |place: &AtomicU32, value: u32| {
            // The others keep the cache line while nothing changes.
            if place.load(Ordering::Relaxed) != value {
                place.store(value, Ordering::Relaxed);
            }
        };
        tell(&self.processor, processor.wrapping_add(1));
        tell(&self.awaited, awaited.wrapping_add(1));
    }

    /// To the first process of the node: the one at `place` goes on, which had to wait.
    pub fn tell_latest(&self, place: u32) {
        self.latest.store(place.wrapping_add(1), Ordering::Relaxed);
    }
}

/// Whether the process at place `me`, which waits for the one at place `awaited`, had better keep polling than yield:
/// from it, one waits for another up to the one that went on last, and none of those before that is on this processor.
///
/// ```text
///   processor    0    1    0    1    0
///   process     10 ◄ 11 ◄ 12 ◄ 13 ◄ 14    each waits for the one to its left, 10 went on last:
///                                         11 and 12 keep polling, 13 yields to 11, 14 to 12
/// ```
pub fn is_next<'a>(me: u32, awaited: u32, of_node: u32, at: impl Fn(u32) -> Option<&'a Waiting>) -> bool {
    let processor = |place: u32| at(place).map(|waiting| waiting.processor.load(Ordering::Relaxed));
    let here = processor(me);
    let latest = at(0).map_or(0, |first| first.latest.load(Ordering::Relaxed));
    if latest == 0 || processor(awaited) == here {
        return false;
    }
    let mut place = awaited;
    for _ in 0..of_node {
        if place == latest - 1 {
            return true;
        }
        if processor(place) == here {
            return false;
        }
        let Some(waiting) = at(place) else { return false };
        place = waiting.awaited.load(Ordering::Relaxed).wrapping_sub(1);
    }
    false
}

/// How often a process keeps polling rather than yields: once between two times that it yields, and seldom after that was
/// of no use several times.
#[derive(Debug, Default)]
pub struct Hint {
    /// Has kept polling since it yielded.
    has_polled: bool,
    /// How often in a row that was or would have been of no use.
    useless: u32,
}

/// How often in a row a process keeps polling without success; and after that only one time in so many.
const USELESS: u32 = 4;
const SELDOM: u32 = 32;

impl Hint {
    /// Whether a process that waits had better keep polling; `comes_next`: its turn is next. If so, the caller reports the
    /// outcome by [`Hint::kept_polling`]; if not, it yields.
    pub fn may_keep_polling(&mut self, comes_next: impl FnOnce() -> bool) -> bool {
        let has_polled = core::mem::take(&mut self.has_polled);
        let comes_next = !has_polled && comes_next();
        self.useless += u32::from(comes_next);
        comes_next && (self.useless <= USELESS || self.useless.is_multiple_of(SELDOM))
    }

    /// Whether polling on found anything; if not, the process yields now.
    pub fn kept_polling(&mut self, found: bool) {
        self.has_polled = found;
        if found {
            self.useless = 0;
        }
    }
}

impl Area {
    /// This member waits, on processor `processor`.
    pub fn wait_on(&self, processor: u32) {
        let place = self.word(Tells::Processor, self.me);
        let here = u64::from(processor) + 1;
        // The others keep the cache line while nothing changes.
        if place.load(Ordering::Relaxed) != here {
            place.store(here, Ordering::Relaxed);
        }
        self.word(Tells::Waiting, self.me).store(1, Ordering::Relaxed);
    }

    /// This member does not wait any more.
    pub fn go_on(&self) {
        self.word(Tells::Waiting, self.me).store(0, Ordering::Relaxed);
    }

    /// Whether this member, which waits for a slot of `awaited`, had better keep polling than yield: that one is on
    /// another processor, and of all others here, which wait as well, none comes between the two.
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
    use super::{Hint, SELDOM, USELESS, Waiting, is_next};
    use crate::area::{Area, tests::shared};

    /// Which keep polling in a ring, where each waits for the one before it, by their processors and the one that went
    /// on last.
    fn next_in_ring(processors: &[u32], latest: u32) -> Vec<u32> {
        let count = processors.len() as u32;
        let before = |place: u32| (place + count - 1) % count;
        let waiting: Vec<Waiting> = processors.iter().map(|_| Waiting::default()).collect();
        for (place, processor) in (0..).zip(processors) {
            waiting[place as usize].wait_on(*processor, before(place));
        }
        waiting[0].tell_latest(latest);
        let at = |place: u32| waiting.get(place as usize);
        (0..count).filter(|&me| is_next(me, before(me), count, at)).collect()
    }

    #[test]
    fn the_next_of_the_other_processor_keeps_polling_in_a_ring() {
        assert_eq!(next_in_ring(&[0, 0, 0, 0, 1, 1, 1, 1], 1), [4]);
        assert_eq!(next_in_ring(&[0, 0, 0, 0, 1, 1, 1, 1], 7), [0, 4]);
        assert_eq!(next_in_ring(&[0, 1, 0, 1, 0, 1], 2), [3, 4]);
        assert_eq!(next_in_ring(&[0, 0, 0], 1), []);
    }

    #[test]
    fn no_rank_keeps_polling_before_one_went_on() {
        let waiting = [Waiting::default(), Waiting::default()];
        waiting[0].wait_on(0, 1);
        assert!(!is_next(0, 1, 2, |place| waiting.get(place as usize)));
        // A place that no process has.
        waiting[1].wait_on(1, 7);
        assert!(!is_next(0, 1, 2, |place| waiting.get(place as usize)));
        waiting[0].tell_latest(1);
        assert!(is_next(0, 1, 2, |place| waiting.get(place as usize)));
    }

    #[test]
    fn a_process_that_polls_without_success_does_so_seldom() {
        let mut hint = Hint::default();
        let polls = |hint: &mut Hint, found: bool| {
            let polls = hint.may_keep_polling(|| true);
            if polls {
                hint.kept_polling(found);
            }
            polls
        };
        let waits = USELESS + 10 * SELDOM;
        assert_eq!((0..waits).filter(|_| polls(&mut hint, false)).count() as u32, USELESS + 10);
        // After it was of use, the process yields once and then keeps polling as at first.
        while !polls(&mut hint, true) {}
        assert!(!polls(&mut hint, false));
        assert_eq!((0..USELESS).filter(|_| polls(&mut hint, false)).count() as u32, USELESS);
        assert!(!hint.may_keep_polling(|| false));
    }

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
    fn no_rank_keeps_a_processor_from_one_that_does_not_wait() {
        let areas = waiting(4, &[&[0, 1], &[2, 3]]);
        areas[3].go_on();
        assert_eq!(next_after(&areas, 1), []);
        assert_eq!(next_after(&areas, 3), [0]);
    }
}
