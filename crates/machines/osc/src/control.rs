//! The words that the processes of a window on one node share.
//!
//! ```text
//!   |<-- 2 lines: group -->|<- line: barrier ->|<-- waiters of group -->|<-- block of rank 0 -->|<-- block of rank 1 …
//!     word, turnstile,       arrivals             a bit for each rank       lock word, turnstile, accumulate lock,
//!     counted                                                               version, table, length of regions, way | waiters
//!                                                                           | busy, ready | notices | posts | completed
//! ```
//! A line is 128 bytes, since processors fetch two cache lines of 64 bytes at once. The words that lockers of one
//! target use are in one line.

use shm::sync::{AtomicU64, Ordering};

/// Words of a line.
const LINE: usize = 16;

const GROUP: usize = 0;
const GROUP_TURNSTILE: usize = 1;
const COUNTED: usize = 2;
const ARRIVALS: usize = LINE;
const GROUP_WAITERS: usize = 2 * LINE;

const LOCK: usize = 0;
const TURNSTILE: usize = 1;
const ACCUMULATE: usize = 2;
const REGIONS: usize = 3;
const WAY: usize = 6;
const WAITERS: usize = 8;

/// Words that hold a bit for each rank.
const fn bits(ranks: usize) -> usize {
    ranks.div_ceil(64)
}

/// Notices of each rank.
pub const NOTICES: u32 = LINE as u32;

/// Where the words of a window are that the ranks of one node share. They have numbers of their own, from 0 on: all
/// that is called a rank here is such a number.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    ranks: usize,
    /// Where the first block begins, and the words of each.
    begin: usize,
    block: usize,
    /// Where the line begins in a block that the rank writes whenever it combines. The notices follow, then the posts, then
    /// the completions.
    busy: usize,
    /// All words.
    words: usize,
}

impl Shape {
    /// Of so many ranks of a node.
    pub const fn all(ranks: usize) -> Shape {
        let busy = (WAITERS + bits(ranks)).next_multiple_of(LINE);
        let block = (busy + LINE + NOTICES as usize + 2 * ranks).next_multiple_of(LINE);
        let begin = (GROUP_WAITERS + bits(ranks)).next_multiple_of(LINE);
        let words = begin + ranks * block;
        Shape { ranks, begin, block, busy, words }
    }

    /// How many words there are.
    #[inline]
    pub const fn words(&self) -> usize {
        self.words
    }
}

/// The shared words of a window, with their meaning.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    words: &'a [AtomicU64],
    shape: Shape,
}

impl<'a> View<'a> {
    /// The view of as many words as `shape` has, all of them zero at first.
    pub fn new(words: &'a [AtomicU64], shape: Shape) -> View<'a> {
        assert!(words.len() >= shape.words(), "all words");
        View { words, shape }
    }

    /// Ranks that share the words.
    pub fn ranks(self) -> usize {
        self.shape.ranks
    }

    pub(crate) fn group(self) -> &'a AtomicU64 {
        &self.words[GROUP]
    }

    pub(crate) fn group_turnstile(self) -> Turnstile<'a> {
        Turnstile(&self.words[GROUP_TURNSTILE])
    }

    /// Whether the group word counts exclusive locks.
    pub(crate) fn counted(self) -> &'a AtomicU64 {
        &self.words[COUNTED]
    }

    pub(crate) fn group_waiters(self) -> Waiters<'a> {
        Waiters(&self.words[GROUP_WAITERS..][..bits(self.shape.ranks)])
    }

    pub(crate) fn arrivals(self) -> &'a AtomicU64 {
        &self.words[ARRIVALS]
    }

    /// A word of the rank's block.
    #[inline(always)]
    fn word(self, rank: u32, word: usize) -> &'a AtomicU64 {
        &self.words[self.at(rank) + word]
    }

    /// Where the rank's block begins.
    #[inline(always)]
    fn at(self, rank: u32) -> usize {
        let Shape { ranks, begin, block, .. } = self.shape;
        assert!((rank as usize) < ranks, "a rank that has words");
        begin + rank as usize * block
    }

    pub(crate) fn lock(self, rank: u32) -> &'a AtomicU64 {
        self.word(rank, LOCK)
    }

    pub(crate) fn turnstile(self, rank: u32) -> Turnstile<'a> {
        Turnstile(self.word(rank, TURNSTILE))
    }

    pub(crate) fn waiters(self, rank: u32) -> Waiters<'a> {
        Waiters(&self.words[self.at(rank) + WAITERS..][..bits(self.shape.ranks)])
    }

    /// The lock under which elements of the rank's memory are combined that have no atomic operation of the processor.
    pub(crate) fn accumulate_lock(self, rank: u32) -> &'a AtomicU64 {
        self.word(rank, ACCUMULATE)
    }

    /// How elements of the rank's memory are combined that have an atomic operation of the processor.
    pub(crate) fn way(self, rank: u32) -> &'a AtomicU64 {
        self.word(rank, WAY)
    }

    /// The target, plus one, whose elements the rank combines by atomic operations right now; or 0.
    pub(crate) fn busy(self, rank: u32) -> &'a AtomicU64 {
        self.word(rank, self.shape.busy)
    }

    /// Whether the rank is registered for membarrier.
    pub(crate) fn ready(self, rank: u32) -> &'a AtomicU64 {
        self.word(rank, self.shape.busy + 1)
    }

    /// A counter for the program: how often other ranks have notified this one by it (the light interface).
    pub fn notice(self, rank: u32, notice: u32) -> &'a AtomicU64 {
        assert!(notice < NOTICES, "a notice of the rank");
        self.word(rank, self.shape.busy + LINE + notice as usize)
    }

    /// How often `target` has posted for `origin`; in the origin's block, since it polls.
    pub(crate) fn posts(self, origin: u32, target: u32) -> &'a AtomicU64 {
        self.word(origin, self.shape.busy + LINE + NOTICES as usize + target as usize)
    }

    /// How often `origin` has completed its access to `target`; in the target's block, since it polls.
    pub(crate) fn completed(self, target: u32, origin: u32) -> &'a AtomicU64 {
        self.word(target, self.shape.busy + LINE + NOTICES as usize + self.shape.ranks + origin as usize)
    }

    /// Version, address and length of the table of regions that the rank has attached.
    pub(crate) fn regions(self, rank: u32) -> [&'a AtomicU64; 3] {
        [0, 1, 2].map(|word| self.word(rank, REGIONS + word))
    }
}

/// A queue of numbered tickets: those that join are let through in that order.
///
/// ```text
///   63 ............ 32   31 ............ 0
///   next ticket           ticket whose turn it is
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turnstile<'a>(&'a AtomicU64);

impl Turnstile<'_> {
    /// Whether no process waits here.
    #[inline]
    pub fn is_empty(self) -> bool {
        let word = self.0.load(Ordering::SeqCst);
        (word >> 32) as u32 == word as u32
    }

    /// Takes a ticket.
    pub fn join(self) -> u32 {
        // The upper half wraps around and carries into nothing.
        (self.0.fetch_add(1 << 32, Ordering::SeqCst) >> 32) as u32
    }

    pub fn is_turn(self, ticket: u32) -> bool {
        self.0.load(Ordering::SeqCst) as u32 == ticket
    }

    /// The holder of the ticket whose turn it is lets the next one through.
    pub fn leave(self) {
        let next = |word: u64| Some(word & !u64::from(u32::MAX) | u64::from((word as u32).wrapping_add(1)));
        // The update always gives a value, so it never fails.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
    }
}

/// Loom takes operations that are sequentially consistent for acquiring and releasing ones; so a fence stands for
/// what they promise where a process writes one word and then reads another.
#[inline]
pub(crate) fn order() {
    #[cfg(loom)]
    shm::sync::fence(Ordering::SeqCst);
}

/// A bit for each rank that waits for a change of some word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiters<'a>(&'a [AtomicU64]);

impl Waiters<'_> {
    pub fn announce(self, rank: u32) {
        self.0[rank as usize / 64].fetch_or(1 << (rank % 64), Ordering::SeqCst);
        order();
    }

    pub fn withdraw(self, rank: u32) {
        self.0[rank as usize / 64].fetch_and(!(1 << (rank % 64)), Ordering::SeqCst);
    }

    /// Calls `ring` with each rank that waits; to be called after the change.
    #[inline]
    pub fn ring(self, ring: &mut impl FnMut(u32)) {
        order();
        for (index, word) in self.0.iter().enumerate() {
            let mut waiting = word.load(Ordering::SeqCst);
            while waiting != 0 {
                ring(index as u32 * 64 + waiting.trailing_zeros());
                waiting &= waiting - 1;
            }
        }
    }
}

/// The shared words of a window in memory that its processes share.
#[cfg(not(loom))]
#[derive(Debug)]
pub struct Control {
    segment: node::SharedSegment,
    shape: Shape,
}

#[cfg(not(loom))]
impl Control {
    /// Bytes that the words take at the beginning of a segment; a multiple of a page.
    pub fn bytes(shape: Shape) -> usize {
        (shape.words() * size_of::<u64>()).next_multiple_of(4096)
    }

    /// The words at the beginning of `segment`; `None` if it is too short for them.
    pub fn new(segment: node::SharedSegment, shape: Shape) -> Option<Control> {
        (segment.len() >= Control::bytes(shape)).then_some(Control { segment, shape })
    }

    /// The words.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View { words: self.segment.words(self.shape.words()), shape: self.shape }
    }

    /// Where the memory behind the words is in this process, and how many bytes it has.
    pub fn memory(&self) -> (usize, usize) {
        let words = Control::bytes(self.shape);
        (self.segment.address() + words, self.segment.len() - words)
    }

    /// No other process can map the segment from now on.
    pub fn withdraw(&mut self) {
        self.segment.withdraw();
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn words_of_different_meaning_are_different() {
        for ranks in [1, 2, 63, 64, 65, 130] {
            let shape = Shape::all(ranks);
            let words: Vec<AtomicU64> = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
            let view = View::new(&words, shape);
            let all = ranks as u32;
            view.group().fetch_add(1, Ordering::SeqCst);
            view.group_turnstile().0.fetch_add(1, Ordering::SeqCst);
            view.counted().fetch_add(1, Ordering::SeqCst);
            view.arrivals().fetch_add(1, Ordering::SeqCst);
            view.group_waiters().announce(all - 1);
            for rank in 0..all {
                view.lock(rank).fetch_add(1, Ordering::SeqCst);
                view.turnstile(rank).0.fetch_add(1, Ordering::SeqCst);
                view.accumulate_lock(rank).fetch_add(1, Ordering::SeqCst);
                view.way(rank).fetch_add(1, Ordering::SeqCst);
                view.busy(rank).fetch_add(1, Ordering::SeqCst);
                view.ready(rank).fetch_add(1, Ordering::SeqCst);
                view.notice(rank, NOTICES - 1).fetch_add(1, Ordering::SeqCst);
                for word in view.regions(rank) {
                    word.fetch_add(1, Ordering::SeqCst);
                }
                for other in 0..all {
                    view.posts(rank, other).fetch_add(1, Ordering::SeqCst);
                    view.completed(rank, other).fetch_add(1, Ordering::SeqCst);
                }
                view.waiters(rank).announce(all - 1);
            }
            let bit = 1 << ((all - 1) % 64);
            assert!(words.iter().all(|word| [0, 1, bit].contains(&word.load(Ordering::SeqCst))));
            let set = words.iter().filter(|word| word.load(Ordering::SeqCst) != 0).count();
            assert_eq!(set, 5 + ranks * (11 + 2 * ranks));
        }
    }

    #[test]
    fn a_turnstile_counts_on_after_its_last_number() {
        let word = AtomicU64::new(u64::MAX);
        let turnstile = Turnstile(&word);
        assert!(turnstile.is_empty());
        let (first, second) = (turnstile.join(), turnstile.join());
        assert_eq!((first, second), (u32::MAX, 0));
        assert!(turnstile.is_turn(first) && !turnstile.is_turn(second));
        turnstile.leave();
        assert!(turnstile.is_turn(second) && !turnstile.is_empty());
        turnstile.leave();
        assert!(turnstile.is_empty());
    }
}
