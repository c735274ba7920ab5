//! Which rank runs on which host.

use rte::Unit;

use crate::hosts::Host;
use crate::options::JobOptions;

/// The rule for a job.
///
/// ```text
///   -ppn 2                    0 0 1 1 0 0 …    each host gets two ranks in turn
///   -map-by node              0 1 2 0 1 2 …    each host gets one rank in turn, as long as it has slots
///   slots are known           0 0 0 1 2 2 …    as many ranks as slots, then again from the first host
///   otherwise                 0 0 1 1 2 2      even shares of at least one
/// ```
#[derive(Debug)]
pub struct Spread {
    slots: Vec<Option<u32>>,
    per_host: Option<u32>,
    in_turn: bool,
}

impl Spread {
    /// The rule that `job` asks for.
    pub fn new(job: &JobOptions) -> Spread {
        let in_turn = job.placement.map.is_some_and(|map| map.unit == Unit::Host && map.per_object.is_none());
        Spread {
            slots: job.hosts.iter().map(|host: &Host| host.slots).collect(),
            per_host: job.per_host,
            in_turn,
        }
    }

    /// The host of each of `count` ranks.
    pub fn ranks(&self, count: u32) -> Vec<u32> {
        let hosts = self.slots.len() as u32;
        let count = count as usize;
        let known: Option<Vec<u32>> = self.slots.iter().copied().collect();
        let known = known.filter(|slots| slots.iter().any(|&slots| slots > 0));
        match (self.per_host, known) {
            (Some(each), _) => repeat(&vec![each; hosts as usize], count),
            (None, known) if self.in_turn => {
                in_turn(&known.unwrap_or_else(|| vec![u32::MAX; hosts as usize]), count)
            }
            (None, Some(slots)) => repeat(&slots, count),
            (None, None) => {
                let used = count.min(hosts as usize);
                (0..count).map(|rank| (rank * used / count) as u32).collect()
            }
        }
    }
}

/// Each host gets its share, and all of them again if there are more ranks.
fn repeat(shares: &[u32], count: usize) -> Vec<u32> {
    let round = shares.iter().enumerate().flat_map(|(host, &share)| (0..share).map(move |_| host as u32));
    round.cycle().take(count).collect()
}

/// Each host gets one rank, and one more, until its slots are full; all over again if there are more ranks.
fn in_turn(slots: &[u32], count: usize) -> Vec<u32> {
    let mut ranks = Vec::with_capacity(count);
    let mut left = slots.to_vec();
    while ranks.len() < count {
        if left.iter().all(|&left| left == 0) {
            left = slots.to_vec();
        }
        for (host, left) in left.iter_mut().enumerate() {
            if *left > 0 && ranks.len() < count {
                *left -= 1;
                ranks.push(host as u32);
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(slots: &[Option<u32>], per_host: Option<u32>, in_turn: bool, count: u32) -> Vec<u32> {
        Spread { slots: slots.to_vec(), per_host, in_turn }.ranks(count)
    }

    #[test]
    fn each_rule_places_all_ranks() {
        assert_eq!(spread(&[None, None], None, false, 5), [0, 0, 0, 1, 1]);
        assert_eq!(spread(&[Some(3), Some(1)], None, false, 4), [0, 0, 0, 1]);
        assert_eq!(spread(&[Some(1), Some(1)], None, false, 5), [0, 1, 0, 1, 0]);
        assert_eq!(spread(&[Some(3), None], Some(1), false, 3), [0, 1, 0]);
        assert_eq!(spread(&[Some(1), Some(3)], None, true, 4), [0, 1, 1, 1]);
        assert_eq!(spread(&[None, None, None], None, true, 4), [0, 1, 2, 0]);
        assert_eq!(spread(&[None, None, None], None, false, 1), [0]);
    }
}
