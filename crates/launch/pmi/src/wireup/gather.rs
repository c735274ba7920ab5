//! Collecting records up a tree: a member waits for its own record and for those of its children, then passes all of
//! them on.

/// A node's place in a tree of all nodes: the children of node i are `k i + 1` to `k i + k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreePlace {
    /// This node.
    pub node: u32,
    /// Nodes of the job.
    pub nodes: u32,
    /// Most children of a node; at least 1.
    pub fan_out: u32,
}

impl TreePlace {
    /// The node that this one reports to; `None`: it is the root.
    pub fn parent(&self) -> Option<u32> {
        self.node.checked_sub(1).map(|before| before / self.fan_out.max(1))
    }

    /// The nodes that report to this one.
    pub fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let first = u64::from(self.node) * u64::from(self.fan_out.max(1)) + 1;
        let end = (first + u64::from(self.fan_out.max(1))).min(u64::from(self.nodes));
        (first..end).map(|child| child as u32)
    }
}

/// What has come of one exchange. Records are known by their node.
#[derive(Clone, Debug)]
pub struct Gather<T> {
    /// Whose parts are waited for, and whether they have come.
    members: Vec<(u32, bool)>,
    collected: Vec<(u32, T)>,
}

impl<T> Gather<T> {
    /// Waits for the parts of these members: a node itself, and its children.
    pub fn of(members: impl IntoIterator<Item = u32>) -> Gather<T> {
        Gather { members: members.into_iter().map(|member| (member, false)).collect(), collected: Vec::new() }
    }

    /// The part of `member`: its own, and those of all below it. Returns all parts, by node, once the last one has
    /// come, and is ready for the next exchange. A second part of one member, or that of any other node, is left out.
    pub fn add(&mut self, member: u32, part: impl IntoIterator<Item = (u32, T)>) -> Option<Vec<(u32, T)>> {
        let place = self.members.iter_mut().find(|(one, has_come)| *one == member && !has_come)?;
        place.1 = true;
        self.collected.extend(part);
        self.finish()
    }

    /// No more parts come from `member`. Returns all others' if they have waited for it alone.
    pub fn remove(&mut self, member: u32) -> Option<Vec<(u32, T)>> {
        let place = self.members.iter().position(|(one, _)| *one == member)?;
        self.members.remove(place);
        self.finish()
    }

    fn finish(&mut self) -> Option<Vec<(u32, T)>> {
        if self.members.is_empty() || !self.members.iter().all(|(_, has_come)| *has_come) {
            return None;
        }
        self.members.iter_mut().for_each(|(_, has_come)| *has_come = false);
        let mut all = std::mem::take(&mut self.collected);
        all.sort_by_key(|(node, _)| *node);
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exchange_ends_with_the_last_part_and_the_next_one_begins() {
        let mut gather = Gather::of([4, 9]);
        assert_eq!(gather.add(9, [(9, 'b'), (10, 'c')]), None);
        assert_eq!(gather.add(9, [(9, 'x')]), None);
        assert_eq!(gather.add(7, [(7, 'x')]), None);
        assert_eq!(gather.add(4, [(4, 'a')]), Some(vec![(4, 'a'), (9, 'b'), (10, 'c')]));
        assert_eq!(gather.add(4, []), None);
        assert_eq!(gather.add(9, [(9, 'd')]), Some(vec![(9, 'd')]));
    }

    proptest! {
        #[test]
        fn children_know_their_parents(nodes in 1u32..200, fan_out in 1u32..9) {
            let place = |node| TreePlace { node, nodes, fan_out };
            let mut reached = vec![0];
            let mut at = 0;
            while at < reached.len() {
                for child in place(reached[at]).children() {
                    prop_assert_eq!(place(child).parent(), Some(reached[at]));
                    reached.push(child);
                }
                at += 1;
            }
            prop_assert_eq!(reached, (0..nodes).collect::<Vec<_>>());
        }
    }
}
