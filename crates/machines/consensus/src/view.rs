//! The members that are not known to be dead, and the tree over them.

/// Children of a member at most. A wider tree is lower, and its inner members have more to do.
const ARITY: u32 = 4;

/// How another member's dead lie to this one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// They are the same.
    Same,
    /// There are some among them that this one does not know of.
    Ahead,
    /// They are fewer.
    Behind,
}

/// A member's view.
#[derive(Clone, Debug)]
pub struct View {
    members: u32,
    me: u32,
    /// Ascending.
    dead: Vec<u32>,
}

impl View {
    /// Of the member `me` of `members`.
    pub fn new(members: u32, me: u32, dead: impl IntoIterator<Item = u32>) -> View {
        let mut view = View { members, me, dead: Vec::new() };
        for rank in dead {
            view.bury(rank);
        }
        view
    }

    /// Those that are dead, ascending.
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// One more is dead; whether that is new. This member itself never is.
    pub fn bury(&mut self, rank: u32) -> bool {
        match self.dead.binary_search(&rank) {
            Err(place) if rank != self.me && rank < self.members => {
                self.dead.insert(place, rank);
                true
            }
            _ => false,
        }
    }

    /// How the dead of a message lie to those of this view.
    pub fn compare(&self, dead: &[u32]) -> Order {
        if dead == self.dead {
            Order::Same
        } else if dead.iter().all(|rank| self.dead.binary_search(rank).is_ok()) {
            Order::Behind
        } else {
            Order::Ahead
        }
    }

    /// The member that this one reports to; the root has none.
    pub fn parent(&self) -> Option<u32> {
        self.place(self.me).checked_sub(1).map(|above| self.at(above / ARITY))
    }

    /// Those that report to this member.
    pub fn children(&self) -> impl Iterator<Item = u32> + '_ {
        let first = u64::from(self.place(self.me)) * u64::from(ARITY) + 1;
        let live = u64::from(self.members) - self.dead.len() as u64;
        (first..(first + u64::from(ARITY)).min(live).max(first)).map(|place| self.at(place as u32))
    }

    /// The parent and the children.
    pub fn neighbours(&self) -> impl Iterator<Item = u32> + '_ {
        self.parent().into_iter().chain(self.children())
    }

    /// Whether `rank` reports to this member.
    pub fn is_child(&self, rank: u32) -> bool {
        self.children().any(|child| child == rank)
    }

    /// Whether `rank` is its parent or a child.
    pub fn is_neighbour(&self, rank: u32) -> bool {
        self.neighbours().any(|neighbour| neighbour == rank)
    }

    /// The place of a live member among the live ones.
    fn place(&self, rank: u32) -> u32 {
        rank - self.dead.partition_point(|&dead| dead < rank) as u32
    }

    /// The live member at a place.
    fn at(&self, place: u32) -> u32 {
        let mut rank = place;
        for &dead in &self.dead {
            if dead > rank {
                break;
            }
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, View};

    #[test]
    fn each_live_member_but_one_has_a_parent_that_has_it_as_a_child() {
        for (members, dead) in [(1, vec![]), (7, vec![0, 3]), (40, vec![39, 1, 2, 0, 17]), (3, vec![1, 2])] {
            let live: Vec<u32> = (0..members).filter(|rank| !dead.contains(rank)).collect();
            let view = |me| View::new(members, me, dead.clone());
            let roots = live.iter().filter(|&&me| view(me).parent().is_none()).count();
            assert_eq!(roots, 1);
            for &me in &live {
                view(me).children().for_each(|child| assert_eq!(view(child).parent(), Some(me)));
                view(me).parent().into_iter().for_each(|parent| assert!(view(parent).is_child(me)));
            }
        }
    }

    #[test]
    fn views_grow_and_are_compared() {
        let mut view = View::new(5, 2, [4]);
        assert!(!view.bury(4) && !view.bury(2) && !view.bury(5) && view.bury(0));
        assert_eq!(view.compare(&[0, 4]), Order::Same);
        assert_eq!(view.compare(&[4]), Order::Behind);
        assert_eq!(view.compare(&[1, 4]), Order::Ahead);
        assert_eq!(view.compare(&[0, 1, 4]), Order::Ahead);
    }
}
