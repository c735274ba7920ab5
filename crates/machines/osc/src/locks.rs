//! The locks of a window (MPI-5.0 section 12.5.3), by atomic operations on shared words alone.
//!
//! ```text
//!   lock word of a target    bit 0: held exclusively    bit 1: counted in the group word    upper half: the holder's number
//!                            or, shared, the number of holders times 4
//!   group word of a window   upper half: exclusive locks    lower half: ranks that hold MPI_Win_lock_all
//! ```
//! `MPI_Win_lock_all` is one addition to the group word. It excludes exclusive locks of every target, so these add to
//! the other half: one half is zero at any time. That is not done before the first `MPI_Win_lock_all` of a window,
//! which therefore has exclusive locks counted from then on, and waits until none is held that was not:
//!
//! ```text
//!   exclusive lock                               the first MPI_Win_lock_all
//!   lock word: 0 ─► held                         counted = ASKED
//!   counted == NOT? the lock is taken            a lock word is held and not counted? wait
//!   else the word is given back, and             counted = SETTLED
//!   both words are taken
//! ```
//!
//! A turnstile stands before each word. A process that cannot have its lock at once takes a ticket; the process whose
//! turn it is waits for the word, takes it and lets the next one through. So a waiting writer stops new readers, and
//! no process starves. A process that holds a lock of any window goes past the turnstiles: two that share locks
//! crosswise behind two waiting writers would otherwise wait for each other. A process that waits in a turnstile holds
//! nothing, so waits for holders alone can be circular, and only where the program's own order of locks is.
//!
//! An exclusive lock waits at the turnstile of its target first, then at that of the group, and takes both words in
//! one attempt that leaves nothing behind if it fails.

use shm::sync::{AtomicU64, Ordering};

use crate::control::{Turnstile, View, order};

const EXCLUSIVE: u64 = 1;
/// Together with [`EXCLUSIVE`].
const COUNTED: u64 = 2;
const SHARED: u64 = 4;

/// Whether exclusive locks are counted in the group word.
const NOT: u64 = 0;
/// From now on; those that are held may not be.
const ASKED: u64 = 1;
/// All held exclusive locks are counted.
const SETTLED: u64 = 2;

/// In the group word.
const ONE_EXCLUSIVE: u64 = 1 << 32;
const ONE_ALL: u64 = 1;
const ALL_MASK: u64 = ONE_EXCLUSIVE - 1;

/// Which lock a process wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// `MPI_LOCK_SHARED` of a rank.
    Shared(u32),
    /// `MPI_LOCK_EXCLUSIVE` of a rank.
    Exclusive(u32),
    /// `MPI_Win_lock_all`.
    All,
}

impl Wish {
    fn target(self) -> Option<u32> {
        match self {
            Wish::Shared(rank) | Wish::Exclusive(rank) => Some(rank),
            Wish::All => None,
        }
    }

    fn concerns_group(self) -> bool {
        !matches!(self, Wish::Shared(_))
    }
}

/// A lock that is being acquired.
#[derive(Debug)]
pub struct Acquire {
    wish: Wish,
    /// The process that wants it, as others read in the word of an exclusive lock.
    owner: u32,
    /// The process holds a lock of a window already.
    holds: bool,
    target_ticket: Option<u32>,
    group_ticket: Option<u32>,
    announced: bool,
}

/// The words for which waiters of this process are announced, and how many of its threads wait.
#[derive(Default, Debug)]
pub struct Announced {
    threads: u32,
    targets: Vec<u32>,
    group: bool,
}

impl Acquire {
    /// Begins to acquire a lock for `owner`, any number that [`holder`] gives others. `holds`: it holds a lock of a
    /// window.
    pub fn new(wish: Wish, owner: u32, holds: bool) -> Acquire {
        Acquire { wish, owner, holds, target_ticket: None, group_ticket: None, announced: false }
    }

    /// Tries to take the lock; whether it was taken. If it was not, rank `me` is rung when another try is worth
    /// while: the owner, or the rank that acquires the lock for it. `ring` wakes a rank.
    #[inline]
    pub fn poll(
        &mut self,
        view: View<'_>,
        me: u32,
        announced: &mut Announced,
        mut ring: impl FnMut(u32),
    ) -> bool {
        // With a ticket in hand there are others to be let through.
        if !self.announced && self.attempt(view, &mut ring) {
            return true;
        }
        self.poll_again(view, me, announced, ring)
    }

    #[cold]
    fn poll_again(
        &mut self,
        view: View<'_>,
        me: u32,
        announced: &mut Announced,
        mut ring: impl FnMut(u32),
    ) -> bool {
        if !std::mem::replace(&mut self.announced, true) {
            announced.add(view, me, self.wish);
        }
        // A process that releases after the last attempt sees what was announced and joined before it.
        loop {
            if self.attempt(view, &mut ring) {
                self.leave(view, &mut ring);
                announced.remove(view, me);
                return true;
            }
            if !self.join(view) {
                return false;
            }
        }
    }

    /// Gives up, since a holder has ended: others that wait find that out as well.
    pub fn abandon(&mut self, view: View<'_>, me: u32, announced: &mut Announced) {
        if std::mem::take(&mut self.announced) {
            announced.remove(view, me);
        }
    }

    /// One attempt that takes the lock or changes nothing.
    #[inline]
    pub fn attempt(&self, view: View<'_>, mut ring: impl FnMut(u32)) -> bool {
        let (ring, owner) = (&mut ring, self.owner);
        match self.wish {
            Wish::Shared(rank) => {
                self.is_target_turn(view, rank) && enter(view.lock(rank), SHARED, EXCLUSIVE)
            }
            Wish::Exclusive(rank) => {
                self.is_target_turn(view, rank)
                    && view.lock(rank).load(Ordering::SeqCst) == 0
                    && (exclude(view, rank, owner, ring)
                        || self.is_group_turn(view) && exclude_counted(view, rank, owner, ring))
            }
            Wish::All => {
                self.is_group_turn(view) && is_settled(view) && enter(view.group(), ONE_ALL, !ALL_MASK)
            }
        }
    }

    fn is_target_turn(&self, view: View<'_>, rank: u32) -> bool {
        self.may_pass(view.turnstile(rank), self.target_ticket)
    }

    fn is_group_turn(&self, view: View<'_>) -> bool {
        self.may_pass(view.group_turnstile(), self.group_ticket)
    }

    fn may_pass(&self, turnstile: Turnstile<'_>, ticket: Option<u32>) -> bool {
        self.holds
            || match ticket {
                Some(ticket) => turnstile.is_turn(ticket),
                None => turnstile.is_empty(),
            }
    }

    /// Takes the next ticket that this lock needs; whether there was one to take.
    fn join(&mut self, view: View<'_>) -> bool {
        if self.holds {
            return false;
        }
        if let Some(rank) = self.wish.target() {
            if self.target_ticket.is_none() {
                self.target_ticket = Some(view.turnstile(rank).join());
                return true;
            }
            // The target comes first: while others have it, the group is not held up.
            if !self.is_target_turn(view, rank) || view.lock(rank).load(Ordering::SeqCst) != 0 {
                return false;
            }
        }
        if self.wish.concerns_group() && self.group_ticket.is_none() {
            self.group_ticket = Some(view.group_turnstile().join());
            return true;
        }
        false
    }

    /// Lets the next ones through, after the lock was taken.
    fn leave(&self, view: View<'_>, ring: &mut impl FnMut(u32)) {
        if let (Some(rank), Some(_)) = (self.wish.target(), self.target_ticket) {
            view.turnstile(rank).leave();
            view.waiters(rank).ring(ring);
        }
        if self.group_ticket.is_some() {
            view.group_turnstile().leave();
            view.group_waiters().ring(ring);
        }
    }
}

impl Announced {
    fn add(&mut self, view: View<'_>, me: u32, wish: Wish) {
        self.threads += 1;
        if let Some(rank) = wish.target() {
            view.waiters(rank).announce(me);
            self.targets.push(rank);
        }
        if wish.concerns_group() {
            view.group_waiters().announce(me);
            self.group = true;
        }
    }

    /// The last thread that waits takes the announcements of all of them back.
    fn remove(&mut self, view: View<'_>, me: u32) {
        self.threads -= 1;
        if self.threads > 0 {
            return;
        }
        self.targets.drain(..).for_each(|rank| view.waiters(rank).withdraw(me));
        if std::mem::take(&mut self.group) {
            view.group_waiters().withdraw(me);
        }
    }
}

/// Adds `one` to a word, unless a bit of `against` is set in it.
#[inline]
fn enter(word: &AtomicU64, one: u64, against: u64) -> bool {
    let mut seen = word.load(Ordering::SeqCst);
    while seen & against == 0 {
        match word.compare_exchange_weak(seen, seen.wrapping_add(one), Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(now) => seen = now,
        }
    }
    false
}

/// Takes the lock word of an exclusive lock alone, unless exclusive locks are counted.
#[inline]
fn exclude(view: View<'_>, rank: u32, owner: u32, ring: &mut impl FnMut(u32)) -> bool {
    if view.counted().load(Ordering::SeqCst) != NOT || !take(view.lock(rank), EXCLUSIVE, owner) {
        return false;
    }
    order();
    if view.counted().load(Ordering::SeqCst) == NOT {
        return true;
    }
    view.lock(rank).store(0, Ordering::SeqCst);
    // Others may have seen the word held meanwhile.
    view.waiters(rank).ring(ring);
    view.group_waiters().ring(ring);
    false
}

/// Takes both words of an exclusive lock, or none.
fn exclude_counted(view: View<'_>, rank: u32, owner: u32, ring: &mut impl FnMut(u32)) -> bool {
    if view.counted().load(Ordering::SeqCst) == NOT || !enter(view.group(), ONE_EXCLUSIVE, ALL_MASK) {
        return false;
    }
    if take(view.lock(rank), EXCLUSIVE | COUNTED, owner) {
        return true;
    }
    view.group().fetch_sub(ONE_EXCLUSIVE, Ordering::SeqCst);
    // One that wants all may have seen this process in the group meanwhile.
    view.group_waiters().ring(ring);
    false
}

/// Takes a lock word that no process holds.
#[inline]
fn take(word: &AtomicU64, held: u64, owner: u32) -> bool {
    word.compare_exchange(0, u64::from(owner) << 32 | held, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Has exclusive locks counted from now on; whether all that are held were.
#[inline]
fn is_settled(view: View<'_>) -> bool {
    view.counted().load(Ordering::SeqCst) == SETTLED || settle(view)
}

#[cold]
fn settle(view: View<'_>) -> bool {
    view.counted().fetch_max(ASKED, Ordering::SeqCst);
    order();
    let is_counted = |rank| view.lock(rank).load(Ordering::SeqCst) & (EXCLUSIVE | COUNTED) != EXCLUSIVE;
    let all = (0..view.ranks() as u32).all(is_counted);
    if all {
        view.counted().store(SETTLED, Ordering::SeqCst);
    }
    all
}

/// The owner of an exclusive lock that stands against `wish`; `None`: none, or several may hold it.
pub fn holder(view: View<'_>, wish: Wish) -> Option<u32> {
    let word = view.lock(wish.target()?).load(Ordering::SeqCst);
    (word & EXCLUSIVE != 0).then_some((word >> 32) as u32)
}

/// Gives a lock back, and calls `ring` with the ranks that wait for it.
#[inline]
pub fn release(view: View<'_>, wish: Wish, mut ring: impl FnMut(u32)) {
    match wish {
        Wish::Shared(rank) => {
            view.lock(rank).fetch_sub(SHARED, Ordering::SeqCst);
            view.waiters(rank).ring(&mut ring);
        }
        Wish::Exclusive(rank) => {
            if view.lock(rank).swap(0, Ordering::SeqCst) & COUNTED != 0 {
                view.group().fetch_sub(ONE_EXCLUSIVE, Ordering::SeqCst);
            }
            view.waiters(rank).ring(&mut ring);
            view.group_waiters().ring(&mut ring);
        }
        Wish::All => {
            view.group().fetch_sub(ONE_ALL, Ordering::SeqCst);
            view.group_waiters().ring(&mut ring);
        }
    }
}

impl View<'_> {
    /// Whether no lock is held and no process waits for one.
    pub fn is_unlocked(self) -> bool {
        let is_free = |rank| self.lock(rank).load(Ordering::SeqCst) == 0 && self.turnstile(rank).is_empty();
        let group = self.group().load(Ordering::SeqCst) == 0 && self.group_turnstile().is_empty();
        group && (0..self.ranks() as u32).all(is_free)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::Shape;

    struct Window(Vec<AtomicU64>);

    impl Window {
        fn new() -> Window {
            Window((0..Shape::all(4).words()).map(|_| AtomicU64::new(0)).collect())
        }

        fn view(&self) -> View<'_> {
            View::new(&self.0, Shape::all(4))
        }

        fn take(&self, wish: Wish, holds: bool) -> bool {
            Acquire::new(wish, 0, holds).attempt(self.view(), |_| {})
        }
    }

    #[test]
    fn locks_exclude_each_other_as_they_must() {
        let window = Window::new();
        let view = window.view();
        assert!(window.take(Wish::Shared(1), false) && window.take(Wish::Shared(1), false));
        assert!(window.take(Wish::All, false) && window.take(Wish::All, false));
        assert!(!window.take(Wish::Exclusive(2), false), "all are locked");
        release(view, Wish::All, |_| {});
        release(view, Wish::All, |_| {});
        assert!(!window.take(Wish::Exclusive(1), false), "it is shared");
        assert!(window.take(Wish::Exclusive(2), false) && window.take(Wish::Exclusive(3), false));
        assert!(!window.take(Wish::Shared(2), false) && !window.take(Wish::All, false));
        release(view, Wish::Exclusive(2), |_| {});
        assert!(!window.take(Wish::All, false), "one exclusive lock is left");
        release(view, Wish::Exclusive(3), |_| {});
        release(view, Wish::Shared(1), |_| {});
        release(view, Wish::Shared(1), |_| {});
        assert!(view.is_unlocked(), "nothing is left behind");
    }

    #[test]
    fn the_first_that_locks_all_waits_for_locks_that_were_not_counted() {
        let window = Window::new();
        let view = window.view();
        assert!(window.take(Wish::Exclusive(2), false) && view.group().load(Ordering::SeqCst) == 0);
        assert!(!window.take(Wish::All, false));
        assert!(
            window.take(Wish::Exclusive(3), false) && view.group().load(Ordering::SeqCst) == ONE_EXCLUSIVE
        );
        release(view, Wish::Exclusive(3), |_| {});
        assert!(!window.take(Wish::All, false), "the other is held");
        release(view, Wish::Exclusive(2), |_| {});
        assert!(window.take(Wish::All, false) && !window.take(Wish::Exclusive(2), false));
        release(view, Wish::All, |_| {});
        assert!(view.is_unlocked());
    }

    #[test]
    fn a_waiting_writer_stops_readers_that_hold_nothing() {
        let window = Window::new();
        let view = window.view();
        let mut announced = Announced::default();
        let mut writer = Acquire::new(Wish::Exclusive(0), 1, false);
        assert!(window.take(Wish::Shared(0), false));
        assert!(!writer.poll(view, 1, &mut announced, |_| {}));
        assert!(!window.take(Wish::Shared(0), false), "a writer waits");
        assert!(window.take(Wish::Shared(0), true), "who holds a lock goes past");
        let mut rung = Vec::new();
        release(view, Wish::Shared(0), |rank| rung.push(rank));
        release(view, Wish::Shared(0), |rank| rung.push(rank));
        assert_eq!(rung, [1, 1]);
        assert!(writer.poll(view, 1, &mut announced, |_| {}));
        release(view, Wish::Exclusive(0), |_| panic!("no rank waits any more"));
        assert!(window.take(Wish::Shared(0), false));
    }

    #[test]
    fn a_writer_waits_for_those_that_have_all_and_stops_new_ones() {
        let window = Window::new();
        let view = window.view();
        let mut announced = Announced::default();
        assert!(window.take(Wish::All, false));
        let mut writer = Acquire::new(Wish::Exclusive(2), 0, false);
        assert!(!writer.poll(view, 0, &mut announced, |_| {}));
        assert!(!window.take(Wish::All, false), "a writer waits");
        release(view, Wish::All, |_| {});
        assert!(writer.poll(view, 0, &mut announced, |_| {}));
        let mut all = Acquire::new(Wish::All, 3, false);
        assert!(!all.poll(view, 3, &mut announced, |_| {}));
        let mut rung = Vec::new();
        release(view, Wish::Exclusive(2), |rank| rung.push(rank));
        assert_eq!(rung, [3]);
        assert!(all.poll(view, 3, &mut announced, |_| {}));
    }
}
