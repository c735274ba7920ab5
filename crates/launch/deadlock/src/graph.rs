//! The wait-for graph and its reduction.
//!
//! A rank waits in one or several threads; any of them may go on. A thread waits for all or any of some parts, a part for all
//! or any of some ranks. In such graphs neither a cycle nor a knot decides; the reduction does: ranks that run are free, a rank is
//! free if what it waits for can be brought about by free ranks alone, and what is not free at the end never will be.
//!
//! ```text
//!   0 waits for all of {1}      1 waits for any of {0, 2}      2 runs
//!   round 1: free {2}           round 2: free {2, 1}           round 3: all are free
//! ```

use observe::{Kind, Need, Part, Targets, Wait};

/// How a rank stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// It may do anything.
    Runs,
    /// It does nothing any more.
    Ended,
    /// Each of its threads that may act waits in MPI.
    Waits(Vec<Wait>),
}

/// The ranks of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph(pub Vec<Node>);

/// An arc of a circle: a rank, the wait by which it depends on the next one, and the part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link<'g> {
    /// The rank.
    pub rank: u32,
    /// What it waits in.
    pub wait: &'g Wait,
    /// What of that the next rank does not bring about.
    pub part: &'g Part,
    /// The rank that does not.
    pub next: u32,
}

impl Graph {
    fn size(&self) -> u32 {
        self.0.len() as u32
    }

    /// The ranks that wait and will do so for good, ascending.
    pub fn dead(&self) -> Vec<u32> {
        let free = self.free();
        let is_dead = |(rank, node): (usize, &Node)| matches!(node, Node::Waits(_)) && !free[rank];
        (0..self.0.len()).filter(|&rank| is_dead((rank, &self.0[rank]))).map(|rank| rank as u32).collect()
    }

    /// Which ranks are free, in the end.
    fn free(&self) -> Vec<bool> {
        let mut free: Vec<bool> = self.0.iter().map(|node| *node == Node::Runs).collect();
        loop {
            // How many of the ranks before each are free, so that a run of targets costs two look-ups.
            let mut before = vec![0u32];
            before.extend(free.iter().scan(0, |sum, &is_free| {
                *sum += u32::from(is_free);
                Some(*sum)
            }));
            let mut changed = false;
            for (rank, node) in self.0.iter().enumerate() {
                if let (Node::Waits(waits), false) = (node, free[rank])
                    && waits.iter().any(|wait| self.can_end(wait, &before))
                {
                    free[rank] = true;
                    changed = true;
                }
            }
            if !changed {
                return free;
            }
        }
    }

    fn can_end(&self, wait: &Wait, free_before: &[u32]) -> bool {
        let mut parts = wait.parts.iter().map(|part| self.can_come(part, free_before));
        match wait.need {
            Need::All => parts.all(|can| can),
            Need::Any => parts.any(|can| can),
        }
    }

    fn can_come(&self, part: &Part, free_before: &[u32]) -> bool {
        let Targets::Ranks(runs) = &part.targets else { return true };
        let mut runs = runs.iter().map(|&(first, last)| {
            let end = last.saturating_add(1).min(self.size());
            let first = first.min(end);
            let free = free_before[end as usize] - free_before[first as usize];
            (free, end - first - free, first..end)
        });
        match part.need {
            Need::Any => runs.any(|(free, ..)| free > 0),
            Need::All => runs.all(|(_, bound, mut run)| {
                bound == 0 || run.all(|rank| self.is_there(part, rank, free_before))
            }),
        }
    }

    /// Whether `rank` is free, or has done its part of a collective call already, since it waits in the same one.
    fn is_there(&self, part: &Part, rank: u32, free_before: &[u32]) -> bool {
        free_before[rank as usize + 1] > free_before[rank as usize] || self.has_come(part, rank)
    }

    fn has_come(&self, part: &Part, rank: u32) -> bool {
        let is_same = |other: &Part| {
            other.kind == Kind::Collective && (other.context, other.tag) == (part.context, part.tag)
        };
        let Some(Node::Waits(waits)) = self.0.get(rank as usize) else { return false };
        part.kind == Kind::Collective && waits.iter().flat_map(|wait| &wait.parts).any(is_same)
    }

    /// Ranks that will never do what a dead one waits for, with the wait and the part.
    fn links<'g>(&'g self, rank: u32, is_bound: &[bool]) -> Vec<Link<'g>> {
        let Node::Waits(waits) = &self.0[rank as usize] else { return Vec::new() };
        let mut links = Vec::new();
        for wait in waits {
            for part in &wait.parts {
                let bound = part.targets.ranks(self.size()).filter(|&next| is_bound[next as usize]);
                let bound = bound.filter(|&next| !self.has_come(part, next));
                links.extend(bound.map(|next| Link { rank, wait, part, next }));
            }
        }
        links
    }

    /// The shortest circle among `dead` ranks; where there is none, the shortest way to a rank that has ended, or one rank that
    /// waits for nothing that there is.
    pub fn circle(&self, dead: &[u32]) -> Vec<Link<'_>> {
        let mut is_bound: Vec<bool> = self.0.iter().map(|node| *node == Node::Ended).collect();
        dead.iter().for_each(|&rank| is_bound[rank as usize] = true);
        let links: Vec<Vec<Link<'_>>> = (0..self.size())
            .map(|rank| if dead.contains(&rank) { self.links(rank, &is_bound) } else { Vec::new() })
            .collect();
        let starts = dead.iter().copied().take(MOST_STARTS);
        let circles = starts.clone().filter_map(|start| way(&links, start, |rank| rank == start));
        if let Some(circle) = circles.min_by_key(Vec::len) {
            return circle;
        }
        let ended = |rank: u32| self.0[rank as usize] == Node::Ended;
        starts.filter_map(|start| way(&links, start, ended)).min_by_key(Vec::len).unwrap_or_default()
    }
}

/// From so many ranks a circle is looked for.
const MOST_STARTS: usize = 256;

/// The shortest way from `start` to a rank that `is_end` names, of one arc at least.
fn way<'g>(links: &[Vec<Link<'g>>], start: u32, is_end: impl Fn(u32) -> bool) -> Option<Vec<Link<'g>>> {
    let mut by: Vec<Option<Link<'g>>> = vec![None; links.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(rank) = queue.pop_front() {
        for &link in &links[rank as usize] {
            if is_end(link.next) {
                let mut way = vec![link];
                while way[way.len() - 1].rank != start {
                    way.push(by[way[way.len() - 1].rank as usize]?);
                }
                way.reverse();
                return Some(way);
            }
            if by[link.next as usize].is_none() && link.next != start {
                by[link.next as usize] = Some(link);
                queue.push_back(link.next);
            }
        }
    }
    None
}
