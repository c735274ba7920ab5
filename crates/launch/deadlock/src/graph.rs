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
//!
//! **Collective calls go on by themselves.** A rank that has begun one makes its steps in whatever it waits. So what a step of another rank
//! needs of it is not that the rank is free, but that its own call can go on; only a rank that has not begun the call must be free.
//!
//! ```text
//!   0 waits for call A, which lacks 1      1 has begun A, which lacks 2, and waits for a message of 0      2 runs
//!   free {2} ──► 1's call A goes on ──► 0 is free ──► 1 is free
//! ```

use std::collections::{BTreeSet, HashSet};

use observe::{Begun, Kind, Need, Part, Targets, Wait};

/// How a rank stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// It may do anything.
    Runs,
    /// It does nothing any more.
    Ended,
    /// Each of its threads that may act waits in MPI.
    Waits(Blocked),
}

/// What a rank waits for, and what goes on meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blocked {
    /// The waits of its threads.
    pub waits: Vec<Wait>,
    /// Collective calls that it has begun, beside those that it waits for.
    pub begun: Begun,
}

impl Blocked {
    /// The collective calls that it has begun, with what they lack.
    fn calls(&self) -> impl Iterator<Item = &Part> {
        let waited = self.waits.iter().flat_map(|wait| &wait.parts);
        waited.filter(|part| part.kind == Kind::Collective).chain(&self.begun.calls)
    }
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

/// How a collective call stands at a rank.
enum Call<'g> {
    /// It goes on or has come to where it is wanted, or that is not known.
    MayCome,
    /// It has begun, and stands still.
    Lacks(&'g Part),
    /// It has not begun.
    NotBegun,
}

/// What the reduction has found so far.
struct Reduced {
    /// The ranks that are free.
    free: Vec<bool>,
    /// How many of the ranks before each are free, so that a run of targets costs two look-ups.
    free_before: Vec<u32>,
    /// Which of each rank's collective calls can go on, in the order of [`Blocked::calls`].
    moves: Vec<Vec<bool>>,
}

impl Reduced {
    fn of(graph: &Graph) -> Reduced {
        let calls = |node: &Node| if let Node::Waits(blocked) = node { blocked.calls().count() } else { 0 };
        let mut reduced = Reduced {
            free: graph.0.iter().map(|node| *node == Node::Runs).collect(),
            free_before: Vec::new(),
            moves: graph.0.iter().map(|node| vec![false; calls(node)]).collect(),
        };
        reduced.count();
        while reduced.go_on(graph) {
            reduced.count();
        }
        reduced
    }

    fn count(&mut self) {
        self.free_before.clear();
        self.free_before.push(0);
        self.free_before.extend(self.free.iter().scan(0, |sum, &is_free| {
            *sum += u32::from(is_free);
            Some(*sum)
        }));
    }

    /// Finds what can go on by what was found before; whether there is more.
    fn go_on(&mut self, graph: &Graph) -> bool {
        let mut changed = false;
        for (rank, node) in graph.0.iter().enumerate() {
            let Node::Waits(blocked) = node else { continue };
            if self.free[rank] {
                continue;
            }
            for (at, call) in blocked.calls().enumerate() {
                if !self.moves[rank][at] && self.can_come(graph, call) {
                    self.moves[rank][at] = true;
                    changed = true;
                }
            }
            if blocked.waits.iter().any(|wait| self.can_end(graph, wait)) {
                self.free[rank] = true;
                changed = true;
            }
        }
        changed
    }

    fn can_end(&self, graph: &Graph, wait: &Wait) -> bool {
        let mut parts = wait.parts.iter().map(|part| self.can_come(graph, part));
        match wait.need {
            Need::All => parts.all(|can| can),
            Need::Any => parts.any(|can| can),
        }
    }

    fn can_come(&self, graph: &Graph, part: &Part) -> bool {
        let Targets::Ranks(runs) = &part.targets else { return true };
        let mut runs = runs.iter().map(|&(first, last)| {
            let end = last.saturating_add(1).min(graph.size());
            let first = first.min(end);
            let free = self.free_before[end as usize] - self.free_before[first as usize];
            (free, end - first - free, first..end)
        });
        match part.need {
            Need::Any => runs.any(|(free, ..)| free > 0),
            Need::All => {
                runs.all(|(_, bound, mut run)| bound == 0 || run.all(|rank| self.brings(graph, part, rank)))
            }
        }
    }

    /// Whether `rank` does what the part wants of it: it is free, or it is about a collective call that goes on there.
    fn brings(&self, graph: &Graph, part: &Part, rank: u32) -> bool {
        self.free[rank as usize] || matches!(self.call_of(graph, part, rank), Call::MayCome)
    }

    /// How the call that a part is about stands at `rank`.
    fn call_of<'g>(&self, graph: &'g Graph, part: &Part, rank: u32) -> Call<'g> {
        let Some(Node::Waits(blocked)) = graph.0.get(rank as usize) else { return Call::NotBegun };
        if part.kind != Kind::Collective {
            return Call::NotBegun;
        }
        let mut found = match blocked.begun.is_whole || part.tag.is_none() {
            true => Call::NotBegun,
            false => Call::MayCome,
        };
        for (at, call) in blocked.calls().enumerate().filter(|(_, call)| call.is_of_call(part)) {
            let has_come = part.round.is_some() && call.round == part.round;
            if has_come || self.moves[rank as usize][at] {
                return Call::MayCome;
            }
            found = Call::Lacks(call);
        }
        found
    }
}

impl Graph {
    fn size(&self) -> u32 {
        self.0.len() as u32
    }

    /// The ranks that wait and will do so for good, ascending.
    pub fn dead(&self) -> Vec<u32> {
        let free = Reduced::of(self).free;
        let is_dead = |(rank, node): (usize, &Node)| matches!(node, Node::Waits(_)) && !free[rank];
        (0..self.0.len()).filter(|&rank| is_dead((rank, &self.0[rank]))).map(|rank| rank as u32).collect()
    }

    /// Ranks of `bound` that will never do what a dead one waits for, with the wait and the part.
    fn links<'g>(&'g self, reduced: &Reduced, rank: u32, is_bound: &[bool]) -> Vec<Link<'g>> {
        let Node::Waits(blocked) = &self.0[rank as usize] else { return Vec::new() };
        let mut links = Vec::new();
        for wait in &blocked.waits {
            for part in &wait.parts {
                let bound = self.lacked(reduced, part).into_iter().filter(|&next| is_bound[next as usize]);
                links.extend(bound.map(|next| Link { rank, wait, part, next }));
            }
        }
        links
    }

    /// The ranks that do not do what a part wants. Where one stands still in a collective call that it has begun, those that it lacks
    /// in it.
    fn lacked(&self, reduced: &Reduced, part: &Part) -> BTreeSet<u32> {
        let still = |part: &Part| {
            let bound = part.targets.ranks(self.size()).filter(|&rank| !reduced.free[rank as usize]);
            bound.collect::<Vec<u32>>()
        };
        let (mut lacked, mut seen, mut open) = (BTreeSet::new(), HashSet::new(), vec![part]);
        while let Some(part) = open.pop() {
            for rank in still(part) {
                match reduced.call_of(self, part, rank) {
                    Call::MayCome => {}
                    Call::Lacks(call) => open.extend(seen.insert(std::ptr::from_ref(call)).then_some(call)),
                    Call::NotBegun => {
                        lacked.insert(rank);
                    }
                }
            }
        }
        // Calls that lack each other.
        if lacked.is_empty() { still(part).into_iter().collect() } else { lacked }
    }

    /// The shortest circle among `dead` ranks; where there is none, the shortest way to a rank that has ended, or one rank that
    /// waits for nothing that there is.
    pub fn circle(&self, dead: &[u32]) -> Vec<Link<'_>> {
        let reduced = Reduced::of(self);
        let mut is_bound: Vec<bool> = self.0.iter().map(|node| *node == Node::Ended).collect();
        dead.iter().for_each(|&rank| is_bound[rank as usize] = true);
        let links: Vec<Vec<Link<'_>>> = (0..self.size())
            .map(|rank| if dead.contains(&rank) { self.links(&reduced, rank, &is_bound) } else { Vec::new() })
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
