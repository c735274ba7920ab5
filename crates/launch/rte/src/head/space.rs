//! The key space and the name service of a job on several hosts, without sockets.
//!
//! Each host keeps all keys for its own ranks, which never ask further. A barrier brings what was put since the last
//! one here once for each host, and to all hosts in one message.

use inquest::Status;
use pmi::wire::Line;
use pmi::wireup::{self, Gather};

use crate::messages::Pairs;
use pmi::server::Services;

/// What is shared by the hosts of a job.
pub(super) struct Space {
    /// What each host has brought to the barrier: keys, and the record of our own ranks.
    fence: Gather<(Pairs, Vec<u8>)>,
    services: Services,
    /// Most MPI programs that have called `MPI_Init` in the place of one rank, one after the other.
    pub newest: u32,
    /// Of the ranks that have ended, one with the fewest such programs.
    first_to_end: Option<(u32, Status, u32)>,
}

impl Space {
    /// For so many hosts.
    pub fn new(hosts: usize) -> Space {
        Space {
            fence: Gather::of(0..hosts as u32),
            services: Services::default(),
            newest: 0,
            first_to_end: None,
        }
    }

    /// All ranks of `host` are in a barrier and have put `pairs` and what is in `record`. Returns the keys of all hosts
    /// and the table of all records, empty where none holds anything, once the last host has come.
    pub fn fence(&mut self, host: usize, pairs: Pairs, record: Vec<u8>) -> Option<(Pairs, Vec<u8>)> {
        let all = self.fence.add(host as u32, [(host as u32, (pairs, record))])?;
        Some(Space::merge(all))
    }

    /// All ranks of `host` have ended, and others do not wait for them. Returns what [`Space::fence`] does, if they have waited.
    pub fn come_no_more(&mut self, host: usize) -> Option<(Pairs, Vec<u8>)> {
        let all = self.fence.remove(host as u32)?;
        Some(Space::merge(all))
    }

    /// The keys of all hosts, and the table of their records.
    fn merge(all: Vec<(u32, (Pairs, Vec<u8>))>) -> (Pairs, Vec<u8>) {
        let (pairs, records): (Vec<Pairs>, Vec<Vec<u8>>) = all.into_iter().map(|(_, part)| part).unzip();
        let table = match records.iter().all(Vec::is_empty) {
            true => Vec::new(),
            false => wireup::build(&records),
        };
        (pairs.into_iter().flatten().collect(), table)
    }

    /// `rank` has ended after so many MPI programs in its place.
    pub fn ended(&mut self, rank: u32, status: Status, programs: u32) {
        if self.first_to_end.is_none_or(|(_, _, fewest)| programs < fewest) {
            self.first_to_end = Some((rank, status, programs));
        }
    }

    /// A rank that has ended without the `MPI_Init` that others have called.
    pub fn missing(&self) -> Option<(u32, Status)> {
        let (rank, status, programs) = self.first_to_end?;
        (programs < self.newest).then_some((rank, status))
    }

    /// Answers a command of the name service; `None`: it is none.
    pub fn name_service(&mut self, line: &str) -> Option<String> {
        let line = Line::new(line.as_bytes())?;
        let known = matches!(line.command(), "publish_name" | "unpublish_name" | "lookup_name");
        known.then(|| self.services.answer(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str) -> (String, String) {
        (key.to_owned(), "value".to_owned())
    }

    #[test]
    fn a_barrier_ends_when_the_last_host_has_come() {
        let mut space = Space::new(2);
        assert_eq!(space.fence(1, vec![pair("b")], vec![]), None);
        assert_eq!(space.fence(0, vec![pair("a")], vec![]), Some((vec![pair("a"), pair("b")], vec![])));
        assert_eq!(space.fence(0, vec![], vec![7]), None);
        assert_eq!(
            space.fence(1, vec![pair("c")], vec![]),
            Some((vec![pair("c")], wireup::build(&[vec![7], vec![]])))
        );
    }

    #[test]
    fn a_barrier_does_not_wait_for_a_host_that_is_gone() {
        let mut space = Space::new(3);
        assert_eq!(space.fence(1, vec![pair("b")], vec![]), None);
        assert_eq!(space.fence(0, vec![pair("a")], vec![]), None);
        assert_eq!(space.come_no_more(2), Some((vec![pair("a"), pair("b")], vec![])));
        assert_eq!(space.come_no_more(2), None);
        assert_eq!(space.fence(1, vec![pair("b")], vec![]), None);
        // What it had put is there.
        assert_eq!(space.come_no_more(1), None);
        assert_eq!(space.fence(0, vec![], vec![]), Some((vec![pair("b")], vec![])));
        assert_eq!(space.come_no_more(0), None);
    }

    #[test]
    fn a_rank_that_ends_is_missed_by_those_with_more_programs() {
        let mut space = Space::new(2);
        space.newest = 1;
        space.ended(1, Status::Exited(0), 1);
        assert_eq!(space.missing(), None);
        space.newest = 2;
        assert_eq!(space.missing(), Some((1, Status::Exited(0))));
        space.ended(0, Status::Exited(3), 0);
        assert_eq!(space.missing(), Some((0, Status::Exited(3))));
    }

    #[test]
    fn names_are_found_from_everywhere() {
        let mut space = Space::new(2);
        let mut ask = |line: &str| space.name_service(line);
        assert!(ask("cmd=publish_name service=s port=p 1").unwrap().contains("rc=0"));
        assert!(ask("cmd=lookup_name service=s").unwrap().contains("port=p 1"));
        assert_eq!(ask("cmd=put key=s"), None);
    }
}
