//! The locks of a process that ranks of other nodes want or hold: what they may ask for next.
//!
//! A rank has one lock of a target at a time (MPI-5.0 section 12.5.3), so it wants one at most. It gives back what it
//! has, and nothing else: a lock that it does not hold is another one's.

/// The ranks that want or hold a lock of this process, each of which has its turn once.
#[derive(Debug, Default)]
pub struct Holders(Vec<(u32, HoldState)>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HoldState {
    Wanted,
    Held { exclusive: bool },
}

impl Holders {
    fn find(&self, rank: u32) -> Option<usize> {
        self.0.iter().position(|&(one, _)| one == rank)
    }

    /// `rank` wants a lock; `false`: it wants or holds one already.
    #[must_use]
    pub fn want(&mut self, rank: u32) -> bool {
        let is_new = self.find(rank).is_none();
        if is_new {
            self.0.push((rank, HoldState::Wanted));
        }
        is_new
    }

    /// `rank` has got the lock that it wanted.
    pub fn hold(&mut self, rank: u32, exclusive: bool) {
        if let Some(found) = self.find(rank) {
            self.0[found].1 = HoldState::Held { exclusive };
        }
    }

    /// `rank` has not got the lock that it wanted, and wants it no more.
    pub fn forget(&mut self, rank: u32) {
        self.0.retain(|&one| one != (rank, HoldState::Wanted));
    }

    /// `rank` gives its lock back: whether that is an exclusive one. `None`: it holds none.
    #[must_use]
    pub fn give_back(&mut self, rank: u32) -> Option<bool> {
        let found = self.find(rank)?;
        let HoldState::Held { exclusive } = self.0[found].1 else { return None };
        self.0.swap_remove(found);
        Some(exclusive)
    }

    /// The locks that are held: whether each is an exclusive one.
    pub fn held(&self) -> impl Iterator<Item = bool> {
        self.0.iter().filter_map(|&(_, state)| match state {
            HoldState::Held { exclusive } => Some(exclusive),
            HoldState::Wanted => None,
        })
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_by_its_holder_alone() {
        let mut holders = Holders::default();
        assert_eq!(holders.give_back(1), None, "it never wanted one");
        assert!(holders.want(1) && holders.want(2));
        assert_eq!(holders.give_back(1), None, "it only wants it");
        holders.hold(1, true);
        assert!(!holders.want(1) && !holders.want(2));
        assert!(holders.held().eq([true]));
        assert_eq!(holders.give_back(2), None);
        assert_eq!((holders.give_back(1), holders.give_back(1)), (Some(true), None));
        holders.forget(2);
        assert!(holders.want(2));
        holders.hold(2, false);
        holders.forget(2);
        assert_eq!(holders.give_back(2), Some(false), "what is held is not forgotten");
        holders.hold(3, true);
        assert_eq!(holders.give_back(3), None, "nothing is held that was not wanted");
    }
}
