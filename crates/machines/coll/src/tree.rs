//! Shapes of trees: which process is whose parent. Indices are those of a [`crate::builder::Group`].

/// A process's place in a tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Node {
    /// `None` at the root.
    pub(crate) parent: Option<u32>,
    /// In the order a broadcast serves them. In k-nomial trees and chains rooted at 0 that is descending,
    /// and each child's subtree is a run of indices that ends where the next higher child's begins.
    pub(crate) children: Vec<u32>,
}

impl Node {
    /// The place of the leader of a group with this place in it, whose group hangs below `above`: what is farther away is
    /// served first.
    pub(crate) fn under(mut self, above: Node) -> Node {
        let mut children = above.children;
        children.append(&mut self.children);
        Node { parent: above.parent, children }
    }
}

/// A k-nomial tree over the indices in `list`, with `top` at its root.
pub(crate) fn among(list: &[u32], me: u32, top: u32, k: u32) -> Node {
    let position = |index: u32| list.iter().position(|&i| i == index).unwrap_or(0) as u32;
    let node = knomial(position(me), list.len() as u32, position(top), k);
    let back = |i: u32| list[i as usize];
    Node { parent: node.parent.map(back), children: node.children.into_iter().map(back).collect() }
}

/// A k-nomial tree over the leaders of groups, with such a tree below each, whose members may be groups again.
/// `groups` names an index's group on each level, the outermost first. `top` leads all groups that it belongs to,
/// elsewhere the first one does. Where the indices of each group follow one another and `top` is the first, the
/// children are those of [`Node::children`].
///
/// ```text
///  0 ═══════════════ 8          ══ between memory nodes
///  ├───── 4          ├───── c   ── between caches
///  1 2 3  5 6 7      9 a b  d e f
/// ```
pub(crate) fn nested(me: u32, indices: &[u32], top: u32, k: u32, groups: &[&dyn Fn(u32) -> u32]) -> Node {
    let [outer, inner @ ..] = groups else { return among(indices, me, top, k) };
    let mut leaders: Vec<u32> = vec![];
    for &index in indices {
        match leaders.iter_mut().find(|leader| outer(**leader) == outer(index)) {
            Some(leader) if index == top => *leader = top,
            Some(_) => {}
            None => leaders.push(index),
        }
    }
    let is_near = |index: &u32| outer(*index) == outer(me);
    let leader = leaders.iter().copied().find(is_near).unwrap_or(me);
    let mates: Vec<u32> = indices.iter().copied().filter(is_near).collect();
    let within = nested(me, &mates, leader, k, inner);
    if me == leader { within.under(among(&leaders, me, top, k)) } else { within }
}

/// Renumbers so that `root` is 0, makes the node, and numbers back.
fn rotated(me: u32, size: u32, root: u32, shape: impl FnOnce(u32) -> Node) -> Node {
    let node = shape((me + size - root) % size);
    let back = |v: u32| (v + root) % size;
    Node { parent: node.parent.map(back), children: node.children.into_iter().map(back).collect() }
}

/// A k-nomial tree; `k` = 2 gives the binomial tree.
///
/// ```text
///            0                 k = 2, size 8: the parent clears the lowest digit that is not zero
///       ┌────┼──┐
///       4    2  1
///      ┌┴┐   │
///      6 5   3
///      │
///      7
/// ```
pub(crate) fn knomial(me: u32, size: u32, root: u32, k: u32) -> Node {
    rotated(me, size, root, |v| {
        let (v, size, k) = (u64::from(v), u64::from(size), u64::from(k));
        let mut node = Node::default();
        let mut mask = 1;
        while mask < size {
            let digit = v / mask % k;
            if digit != 0 {
                node.parent = Some((v - digit * mask) as u32);
                break;
            }
            node.children.extend((1..k).map(|j| v + j * mask).take_while(|&c| c < size).map(|c| c as u32));
            mask *= k;
        }
        node.children.reverse();
        node
    })
}

/// Indices in the subtree of `v` in a binomial tree of `size` rooted at 0; they follow `v`.
pub(crate) fn subtree(v: u32, size: u32) -> u32 {
    if v == 0 { size } else { (1u32 << v.trailing_zeros()).min(size - v) }
}

/// A complete k-ary tree: children of `v` are `k·v+1 ..= k·v+k`. `k` = 2 is the binary tree.
pub(crate) fn kary(me: u32, size: u32, root: u32, k: u32) -> Node {
    rotated(me, size, root, |v| {
        let first = u64::from(v) * u64::from(k) + 1;
        Node {
            parent: (v > 0).then(|| (v - 1) / k),
            children: (first..first + u64::from(k))
                .take_while(|&c| c < u64::from(size))
                .map(|c| c as u32)
                .collect(),
        }
    })
}

/// `chains` chains below the root, as equal in length as can be. One chain is the pipeline.
///
/// ```text
///   0 → 1 → 2 → 3        size 6, two chains
///   └─→ 4 → 5
/// ```
pub(crate) fn chain(me: u32, size: u32, root: u32, chains: u32) -> Node {
    let below = size - 1;
    let chains = chains.clamp(1, below.max(1));
    let start = |i: u32| 1 + i * (below / chains) + i.min(below % chains);
    rotated(me, size, root, |v| {
        if v == 0 {
            return Node {
                parent: None,
                children: (0..chains).rev().map(start).filter(|&c| c < size).collect(),
            };
        }
        let head = (0..chains).any(|i| start(i) == v);
        let next_is_head = (0..=chains).any(|i| start(i) == v + 1);
        Node {
            parent: Some(if head { 0 } else { v - 1 }),
            children: if next_is_head { vec![] } else { vec![v + 1] },
        }
    })
}

/// The root serves every process.
pub(crate) fn linear(me: u32, size: u32, root: u32) -> Node {
    if me == root {
        Node { parent: None, children: (0..size).filter(|&c| c != root).collect() }
    } else {
        Node { parent: Some(root), children: vec![] }
    }
}

/// A node of the in-order binary tree: everything in the left subtree has lower indices, everything right
/// higher.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct InOrder {
    pub(crate) parent: Option<u32>,
    pub(crate) left: Option<u32>,
    pub(crate) right: Option<u32>,
}

/// The binary tree whose in-order walk is 0, 1, … size-1 and whose root is `root`; below it ranges are
/// halved.
///
/// ```text
///         3            size 7, root 3
///      1     5
///     0 2   4 6
/// ```
pub(crate) fn in_order(me: u32, size: u32, root: u32) -> InOrder {
    let middle = |lo: u32, hi: u32| (lo < hi).then(|| lo + (hi - lo) / 2);
    let (mut lo, mut hi, mut node, mut parent) = (0, size, root, None);
    loop {
        if me == node {
            return InOrder { parent, left: middle(lo, node), right: middle(node + 1, hi) };
        }
        parent = Some(node);
        if me < node {
            hi = node;
        } else {
            lo = node + 1;
        }
        node = lo + (hi - lo) / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(size: u32, root: u32, name: &str, shape: impl Fn(u32) -> Node) {
        let nodes: Vec<Node> = (0..size).map(&shape).collect();
        for (me, node) in nodes.iter().enumerate() {
            assert_eq!(node.parent.is_none(), me as u32 == root, "{name} {size} {root} {me}");
            if let Some(parent) = node.parent {
                let count = nodes[parent as usize].children.iter().filter(|&&c| c == me as u32).count();
                assert_eq!(count, 1, "{name}: {me} is its parent's child once");
            }
            for &c in &node.children {
                assert_eq!(
                    nodes[c as usize].parent,
                    Some(me as u32),
                    "{name} {size} {root}: child {c} of {me}"
                );
            }
        }
        let edges: usize = nodes.iter().map(|n| n.children.len()).sum();
        assert_eq!(edges as u32, size - 1, "{name}");
    }

    #[test]
    fn parents_and_children_agree() {
        for size in 1..70 {
            for root in [0, size / 2, size - 1] {
                for k in 2..6 {
                    check(size, root, "knomial", |me| knomial(me, size, root, k));
                    check(size, root, "kary", |me| kary(me, size, root, k));
                }
                for k in 1..6 {
                    check(size, root, "chain", |me| chain(me, size, root, k));
                }
                check(size, root, "linear", |me| linear(me, size, root));
                let indices: Vec<u32> = (0..size).collect();
                for k in [2, 5, 16] {
                    let groups: &[&dyn Fn(u32) -> u32] = &[&|i| i / 20, &|i| i / 7];
                    check(size, root, "runs", |me| nested(me, &indices, root, k, groups));
                    let groups: &[&dyn Fn(u32) -> u32] = &[&|i| i % 3, &|i| i * i % 5];
                    check(size, root, "scattered", |me| nested(me, &indices, root, k, groups));
                }
            }
        }
    }

    #[test]
    fn in_order_walk_is_rank_order() {
        fn walk(me: u32, size: u32, root: u32, out: &mut Vec<u32>) {
            let n = in_order(me, size, root);
            if let Some(l) = n.left {
                assert_eq!(in_order(l, size, root).parent, Some(me));
                walk(l, size, root, out);
            }
            out.push(me);
            if let Some(r) = n.right {
                assert_eq!(in_order(r, size, root).parent, Some(me));
                walk(r, size, root, out);
            }
        }
        for size in 1..40 {
            for root in 0..size {
                let mut out = vec![];
                walk(root, size, root, &mut out);
                assert!(out.iter().copied().eq(0..size), "{size} {root}: {out:?}");
            }
        }
    }
}
