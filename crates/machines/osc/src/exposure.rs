//! General active target synchronisation and the barrier of a fence (MPI-5.0 sections 12.5.1 and 12.5.2), over shared
//! counters.
//!
//! ```text
//!   target                            origin
//!   post:  posts[origin] += 1  ─────► start:     waits until posts[target] has grown
//!   wait:  waits until completed      puts, gets, accumulates
//!          of each has grown      ◄── complete:  completed[target][origin] += 1
//! ```
//! Each counter only ever grows. Each origin has one of its own, so that a target knows of an origin that has ended whether
//! it had completed its access.

use shm::sync::Ordering;

use crate::control::View;

/// What one process remembers of its posts and starts.
#[derive(Debug)]
pub struct Exposure {
    /// Accesses that were started so far, by target.
    started: Box<[u64]>,
    /// Accesses for which this process has posted so far, by origin.
    posted: Box<[u64]>,
}

impl Exposure {
    /// Of a process of a window of so many ranks.
    pub fn new(ranks: usize) -> Exposure {
        Exposure { started: vec![0; ranks].into(), posted: vec![0; ranks].into() }
    }

    /// This process, `target`, posts for `origin`, a rank of the same node that is to be rung afterwards.
    pub fn post(&mut self, view: View<'_>, origin: u32, target: u32) {
        let posted = &mut self.posted[origin as usize];
        *posted = posted.wrapping_add(1);
        // Release: what this process has stored before is seen by the origin, which loads with Acquire in `posted`.
        view.posts(origin, target).fetch_add(1, Ordering::Release);
    }

    /// How often `target` has posted for `me`, a rank of the same node.
    pub fn posted(view: View<'_>, me: u32, target: u32) -> u64 {
        view.posts(me, target).load(Ordering::Acquire)
    }

    /// Begins one more access to each rank of `group`.
    pub fn start(&mut self, group: &[u32]) {
        for &target in group {
            let started = &mut self.started[target as usize];
            *started = started.wrapping_add(1);
        }
    }

    /// The access to `group` that was started last does not begin: a rank has not posted, and never will.
    pub fn give_up(&mut self, group: &[u32]) {
        for &target in group {
            let started = &mut self.started[target as usize];
            *started = started.wrapping_sub(1);
        }
    }

    /// Whether every rank of `group` has posted for the access that was started last; `posted`: how often a rank has.
    pub fn is_posted(&self, group: &[u32], posted: impl Fn(u32) -> u64) -> bool {
        // The difference is small, also after the counters have wrapped.
        let is_posted = |target: u32| posted(target).wrapping_sub(self.started[target as usize]) as i64 >= 0;
        group.iter().all(|&target| is_posted(target))
    }

    /// `origin` has done with `target`, a rank of the same node that is to be rung afterwards.
    pub fn complete(view: View<'_>, origin: u32, target: u32) {
        // Release: what was written in the access is seen by the target, which loads with Acquire in `has_completed`.
        view.completed(target, origin).fetch_add(1, Ordering::Release);
    }

    /// Whether `origin`, a rank of the same node, has completed each access for which `me` has posted.
    pub fn has_completed(&self, view: View<'_>, origin: u32, me: u32) -> bool {
        let completed = view.completed(me, origin).load(Ordering::Acquire);
        completed.wrapping_sub(self.posted[origin as usize]) as i64 >= 0
    }
}

impl View<'_> {
    /// Enters the barrier of all ranks. The number for [`View::is_open`], and whether this was the last rank, which
    /// is to ring the others.
    pub fn arrive(self) -> (u64, bool) {
        let ranks = self.ranks() as u64;
        let arrived = self.arrivals().fetch_add(1, Ordering::AcqRel);
        let goal = (arrived / ranks + 1) * ranks;
        (goal, arrived + 1 == goal)
    }

    /// Whether all ranks have entered.
    #[inline]
    pub fn is_open(self, goal: u64) -> bool {
        self.arrivals().load(Ordering::Acquire) >= goal
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::Shape;
    use shm::sync::AtomicU64;

    #[test]
    fn an_access_waits_for_its_own_post_and_an_exposure_for_its_own_completions() {
        let words: Vec<AtomicU64> = (0..Shape::all(3).words()).map(|_| AtomicU64::new(0)).collect();
        let view = View::new(&words, Shape::all(3));
        let (mut origin, mut other, mut target) = (Exposure::new(3), Exposure::new(3), Exposure::new(3));
        let is_posted = |origin: &Exposure, group: &[u32]| {
            origin.is_posted(group, |target| Exposure::posted(view, 0, target))
        };
        for _ in 0..3 {
            target.post(view, 0, 2);
            assert!(!target.has_completed(view, 0, 2));
            origin.start(&[2]);
            assert!(is_posted(&origin, &[2]));
            origin.start(&[1, 2]);
            assert!(!is_posted(&origin, &[1, 2]), "there is no second post");
            target.post(view, 0, 2);
            assert!(!is_posted(&origin, &[1, 2]), "one of two");
            other.post(view, 0, 1);
            assert!(is_posted(&origin, &[1, 2]));
            Exposure::complete(view, 0, 2);
            assert!(!target.has_completed(view, 0, 2), "one of two");
            Exposure::complete(view, 1, 2);
            assert!(!target.has_completed(view, 0, 2), "another one's");
            Exposure::complete(view, 0, 2);
            assert!(target.has_completed(view, 0, 2));
        }
        assert!(target.has_completed(view, 1, 2), "it was not posted for");
    }

    #[test]
    fn a_barrier_opens_for_all_at_once_and_again() {
        let words: Vec<AtomicU64> = (0..Shape::all(3).words()).map(|_| AtomicU64::new(0)).collect();
        let view = View::new(&words, Shape::all(3));
        for _ in 0..3 {
            let (goal, last) = view.arrive();
            assert!(!last && !view.is_open(goal));
            assert_eq!(view.arrive(), (goal, false));
            assert_eq!(view.arrive(), (goal, true));
            assert!(view.is_open(goal));
        }
    }
}
