//! The table of peers: which process of which job a [`Peer`] is.
//!
//! The processes of a process's own job are the peers of the same numbers as their ranks, so they take no room here. Peers
//! of other jobs get the numbers after them, in the order in which the process met them.

use std::collections::{HashMap, HashSet};

use btl::Peer;

/// A process of some job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// The job's random number.
    pub job: u64,
    /// Rank in that job's `MPI_COMM_WORLD`.
    pub rank: u32,
}

/// The peers that a process knows, itself included.
#[derive(Debug)]
pub struct Peers {
    /// The number of the process's own job.
    job: u64,
    /// Ranks of the own job.
    size: u32,
    /// The processes behind the numbers from `size` on, also those that have ended.
    met: Vec<Process>,
    numbers: HashMap<Process, Peer>,
    /// Numbers that may become another process's.
    free: Vec<Peer>,
    /// Peers from which this process never parts.
    bound: HashSet<Peer>,
    /// Peers from which this process does not part for now, and for how many reasons.
    held: HashMap<Peer, u32>,
}

impl Peers {
    /// The peers of a process whose job has `size` ranks.
    pub fn of_job(job: u64, size: u32) -> Peers {
        Peers {
            job,
            size,
            met: Vec::new(),
            numbers: HashMap::new(),
            free: Vec::new(),
            bound: HashSet::new(),
            held: HashMap::new(),
        }
    }

    /// Ranks of the own job.
    pub fn own_size(&self) -> u32 {
        self.size
    }

    /// The process's number, if it is known.
    pub fn find(&self, process: Process) -> Option<Peer> {
        if process.job == self.job {
            return (process.rank < self.size).then_some(Peer(process.rank));
        }
        self.numbers.get(&process).copied()
    }

    /// The process behind a number.
    pub fn process(&self, peer: Peer) -> Option<Process> {
        if peer.0 < self.size {
            return Some(Process { job: self.job, rank: peer.0 });
        }
        self.met.get((peer.0 - self.size) as usize).copied()
    }

    /// The rank in `MPI_COMM_WORLD`, of a peer of the own job.
    pub fn own_rank(&self, peer: Peer) -> Option<u32> {
        (peer.0 < self.size).then_some(peer.0)
    }

    /// The number that the next process of another job gets.
    pub fn next(&self) -> Peer {
        Peer(self.size + self.met.len() as u32)
    }

    /// Gives a process of another job a number: the next one, or one that was free.
    pub(crate) fn put(&mut self, peer: Peer, process: Process) {
        match self.met.get_mut((peer.0 - self.size) as usize) {
            Some(place) => *place = process,
            None => self.met.push(process),
        }
        self.free.retain(|&free| free != peer);
        self.numbers.insert(process, peer);
    }

    /// The peers of other jobs.
    pub(crate) fn others(&self) -> impl Iterator<Item = Peer> {
        self.numbers.values().copied()
    }

    /// The process never parts from `peer`.
    pub(crate) fn bind(&mut self, peer: Peer) {
        if peer.0 >= self.size {
            self.bound.insert(peer);
        }
    }

    /// The process does not part from `peer` until [`Peers::release`].
    pub(crate) fn hold(&mut self, peer: Peer) {
        if peer.0 >= self.size {
            *self.held.entry(peer).or_default() += 1;
        }
    }

    /// A reason to stay with `peer` is over.
    pub(crate) fn release(&mut self, peer: Peer) {
        if let Some(reasons) = self.held.get_mut(&peer) {
            *reasons -= 1;
            if *reasons == 0 {
                self.held.remove(&peer);
            }
        }
    }

    /// Whether this process does not part from `peer`, now or ever.
    pub(crate) fn is_bound(&self, peer: Peer) -> bool {
        peer.0 < self.size || self.bound.contains(&peer) || self.held.contains_key(&peer)
    }

    /// Nothing comes from a peer of another job any more: its number is free.
    pub(crate) fn is_gone(&mut self, peer: Peer) {
        if let Some(process) = self.process(peer) {
            self.numbers.remove(&process);
        }
        self.free.push(peer);
    }

    /// A free number that may be used; [`Peers::put`] takes it.
    pub(crate) fn free(&self, may_be_used: impl Fn(Peer) -> bool) -> Option<Peer> {
        self.free.iter().copied().find(|&peer| may_be_used(peer))
    }
}

#[cfg(test)]
mod tests {
    use super::{Peers, Process};
    use crate::{Layer, P2p};
    use bml::{Bml, Unreachable};
    use btl::Peer;
    use pml_ob1::{Config, Ob1};

    #[test]
    fn the_own_jobs_numbers_are_its_ranks() {
        let peers = Peers::of_job(7, 3);
        for rank in 0..3 {
            assert_eq!(peers.find(Process { job: 7, rank }), Some(Peer(rank)));
            assert_eq!(peers.process(Peer(rank)), Some(Process { job: 7, rank }));
            assert_eq!(peers.own_rank(Peer(rank)), Some(rank));
        }
        assert_eq!(peers.find(Process { job: 7, rank: 3 }), None);
        assert_eq!(peers.find(Process { job: 8, rank: 0 }), None);
        assert_eq!(peers.process(Peer(3)), None);
    }

    #[test]
    fn processes_of_other_jobs_are_numbered_as_they_are_met_and_keep_their_numbers() {
        let mut peers = Peers::of_job(7, 3);
        let (first, second) = (Process { job: 9, rank: 1 }, Process { job: 8, rank: 1 });
        for process in [first, second] {
            peers.put(peers.next(), process);
        }
        assert_eq!(peers.next(), Peer(5));
        for (peer, process) in [(Peer(3), first), (Peer(4), second)] {
            assert_eq!(peers.find(process), Some(peer));
            assert_eq!(peers.process(peer), Some(process));
            assert_eq!(peers.own_rank(peer), None);
        }
    }

    #[test]
    fn numbers_of_peers_that_are_gone_are_used_again() {
        let mut peers = Peers::of_job(7, 2);
        let process = |rank| Process { job: 9, rank };
        (0..3).for_each(|rank| peers.put(peers.next(), process(rank)));
        peers.bind(Peer(2));
        assert!(peers.is_bound(Peer(1)) && peers.is_bound(Peer(2)) && !peers.is_bound(Peer(3)));
        (0..2).for_each(|_| peers.hold(Peer(3)));
        peers.release(Peer(3));
        assert!(peers.is_bound(Peer(3)), "one reason is left");
        peers.release(Peer(3));
        assert!(!peers.is_bound(Peer(3)));
        assert_eq!(peers.free(|_| true), None, "all live");
        peers.is_gone(Peer(3));
        assert_eq!((peers.find(process(1)), peers.process(Peer(3))), (None, Some(process(1))));
        assert_eq!(peers.free(|_| false), None, "a group has it");
        assert_eq!(peers.free(|_| true), Some(Peer(3)));
        peers.put(Peer(3), process(7));
        assert_eq!((peers.find(process(7)), peers.next()), (Some(Peer(3)), Peer(5)));
        assert_eq!(peers.others().count(), 3);
    }

    #[test]
    fn a_process_that_no_transport_reaches_stays_unknown() {
        let layer = Layer::ob1(Ob1::new(Config::new(1)));
        let mut p2p = P2p::new(Bml::solo(), layer, Peers::of_job(7, 1));
        let stranger = Process { job: 9, rank: 0 };
        let stays_unknown = |p2p: &mut P2p| {
            for _ in 0..2 {
                let introduction = format!("{:032x} 4711 127.0.0.1", 7);
                let met = p2p.meet(stranger, &introduction, |_| true);
                assert_eq!(met.map_err(|Unreachable(peer)| peer), Err(Peer(1)));
                assert_eq!(p2p.peers().find(stranger), None);
            }
        };
        stays_unknown(&mut p2p);
        // The same where the number was another process's: it stays free.
        p2p.peers.put(Peer(1), Process { job: 8, rank: 0 });
        p2p.peers.is_gone(Peer(1));
        stays_unknown(&mut p2p);
        assert_eq!(p2p.meet(Process { job: 7, rank: 0 }, "", |_| true).ok(), Some((Peer(0), false)));
    }
}
