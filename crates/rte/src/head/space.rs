//! The key space and the name service of a job on several hosts, without sockets.
//!
//! Each host keeps all keys for its own ranks, who never ask further. A barrier brings what was put since the last one
//! here once for each host, and to all hosts in one message.

use pmi::wire::Line;
use wireup::Gather;

use crate::messages::Pairs;
use crate::status::Status;
use pmi::server::Services;

/// What is shared by the hosts of a job.
pub(super) struct Space {
    /// What each host has brought to the barrier: keys, and the record of our own ranks.
    fence: Gather<(Pairs, Vec<u8>)>,
    services: Services,
    /// Some rank has called `MPI_Init`.
    pub greeted: bool,
    /// A rank that has ended without `MPI_Init`.
    pub missing: Option<(u32, Status)>,
}

impl Space {
    /// For so many hosts.
    pub fn new(hosts: usize) -> Space {
        Space {
            fence: Gather::of(0..hosts as u32),
            services: Services::default(),
            greeted: false,
            missing: None,
        }
    }

    /// All ranks of `host` are in a barrier and have put `pairs` and what is in `record`. Returns the keys of all hosts and the
    /// table of all records, empty where none says anything, once the last host has come.
    pub fn fence(&mut self, host: usize, pairs: Pairs, record: Vec<u8>) -> Option<(Pairs, Vec<u8>)> {
        let all = self.fence.add(host as u32, [(host as u32, (pairs, record))])?;
        let (pairs, records): (Vec<Pairs>, Vec<Vec<u8>>) = all.into_iter().map(|(_, part)| part).unzip();
        let table = match records.iter().all(Vec::is_empty) {
            true => Vec::new(),
            false => wireup::build(&records),
        };
        Some((pairs.into_iter().flatten().collect(), table))
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
    fn names_are_found_from_everywhere() {
        let mut space = Space::new(2);
        let mut ask = |line: &str| space.name_service(line);
        assert!(ask("cmd=publish_name service=s port=p 1").unwrap().contains("rc=0"));
        assert!(ask("cmd=lookup_name service=s").unwrap().contains("port=p 1"));
        assert_eq!(ask("cmd=put key=s"), None);
    }
}
