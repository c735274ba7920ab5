//! When a link or port is taken.

/// Picoseconds, in which links count.
pub(crate) type Picos = u64;

/// The stretches of time in which one resource is taken, in order, never touching each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    taken: Vec<(Picos, Picos)>,
}

/// How far the submissions of a simulation may lie apart: no submission asks about what ended longer ago.
const SKEW: Picos = 5_000_000;

impl Occupancy {
    /// Takes the resource for `held`, as soon as possible from `head` on; returns when. `now` is the moment of
    /// submission, by which past stretches are forgotten.
    pub(crate) fn take(&mut self, now: Picos, head: Picos, held: Picos) -> Picos {
        let past = self.taken.partition_point(|&(_, end)| end + SKEW < now);
        if past > self.taken.len() / 2 {
            self.taken.drain(..past);
        }
        let (at, start) = self.gap(head, held);
        self.insert(at, start, start + held);
        start
    }

    /// When the resource could be taken for `held`, from `head` on.
    pub(crate) fn free_at(&self, head: Picos, held: Picos) -> Picos {
        self.gap(head, held).1
    }

    /// The first gap from `head` on that is long enough: the stretch it ends before, and when it begins.
    fn gap(&self, head: Picos, held: Picos) -> (usize, Picos) {
        let mut at = self.taken.partition_point(|&(_, end)| end <= head);
        let mut start = head;
        while let Some(&(taken, until)) = self.taken.get(at) {
            if taken >= start + held {
                break;
            }
            start = until;
            at += 1;
        }
        (at, start)
    }

    /// Inserts a stretch before the one at `at`, joining those that it touches.
    fn insert(&mut self, at: usize, start: Picos, end: Picos) {
        let joins_left = at > 0 && self.taken[at - 1].1 == start;
        let joins_right = self.taken.get(at).is_some_and(|&(taken, _)| taken == end);
        match (joins_left, joins_right) {
            (true, true) => {
                self.taken[at - 1].1 = self.taken[at].1;
                self.taken.remove(at);
            }
            (true, false) => self.taken[at - 1].1 = end,
            (false, true) => self.taken[at].0 = start,
            (false, false) => self.taken.insert(at, (start, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Occupancy;
    use proptest::prelude::*;

    #[test]
    fn a_later_head_does_not_block_an_earlier_one() {
        let mut link = Occupancy::default();
        assert_eq!(link.take(0, 1000, 10), 1000);
        assert_eq!(link.take(0, 0, 10), 0);
        assert_eq!(link.take(0, 995, 10), 1010);
        assert_eq!(link.take(0, 5, 980), 10);
        assert_eq!(link.taken, [(0, 990), (1000, 1020)]);
    }

    proptest! {
        #[test]
        fn nothing_overlaps_and_nothing_waits_without_reason(
            wishes in prop::collection::vec((0..2000u64, 1..50u64), 1..100)
        ) {
            let mut link = Occupancy::default();
            let mut slots = vec![false; 10_000];
            for (head, held) in wishes {
                let start = link.take(0, head, held);
                let free = |from: u64| slots[from as usize..][..held as usize].iter().all(|taken| !taken);
                prop_assert_eq!(Some(start), (head..10_000).find(|&from| free(from)));
                slots[start as usize..][..held as usize].fill(true);
            }
        }
    }
}
