//! Which rank runs on which host.

use hardware::Unit;

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
///
/// Where no program names hosts of its own, all ranks are one row. Otherwise each program is a row on its hosts, which goes on
/// where the programs before it have left slots, or fewest ranks.
#[derive(Debug)]
pub struct Spread {
    slots: Vec<Option<u32>>,
    per_host: Option<u32>,
    in_turn: bool,
}

/// What one program asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Number of its ranks.
    pub count: u32,
    /// Its own hosts by their places among those of the job, with their slots; none: any host.
    pub hosts: Option<Vec<(u32, Option<u32>)>>,
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

    /// The host of each rank of these programs.
    pub fn ranks(&self, programs: &[Wanted]) -> Vec<u32> {
        if self.slots.is_empty() {
            // All run here.
            return vec![0; programs.iter().map(|program| program.count as usize).sum()];
        }
        let all: Vec<(u32, Option<u32>)> = (0..).zip(self.slots.iter().copied()).collect();
        let mut used = vec![0; self.slots.len()];
        if programs.iter().all(|program| program.hosts.is_none()) {
            return self.row(&all, &used, programs.iter().map(|program| program.count).sum());
        }
        let mut ranks = Vec::new();
        for program in programs {
            let row = self.row(program.hosts.as_ref().unwrap_or(&all), &used, program.count);
            row.iter().for_each(|&host| used[host as usize] += 1);
            ranks.extend(row);
        }
        ranks
    }

    /// The host of each of `count` ranks, on these hosts with their slots. `used`: the ranks that each host has already.
    fn row(&self, hosts: &[(u32, Option<u32>)], used: &[u32], count: u32) -> Vec<u32> {
        let mut hosts = hosts.to_vec();
        let slots = |&(_, slots): &(u32, Option<u32>)| self.per_host.or(slots);
        let known: Option<Vec<u32>> = hosts.iter().map(slots).collect();
        let places = match known.filter(|slots| slots.iter().any(|&slots| slots > 0)) {
            Some(slots) => {
                let taken = |(&slots, &(host, _)): (&u32, &(u32, _))| {
                    let most = self.per_host.or(self.slots[host as usize]).unwrap_or(slots);
                    slots.min(most.saturating_sub(used[host as usize]))
                };
                let left: Vec<u32> = slots.iter().zip(&hosts).map(taken).collect();
                let free = count.min(left.iter().fold(0, |sum: u32, &left| sum.saturating_add(left)));
                let turn = |slots: &[u32], count: u32| match self.in_turn && self.per_host.is_none() {
                    true => in_turn(slots, count as usize),
                    false => repeat(slots, count as usize),
                };
                [turn(&left, free), turn(&slots, count - free)].concat()
            }
            None => {
                hosts.sort_by_key(|&(host, _)| used[host as usize]);
                match self.in_turn {
                    true => in_turn(&vec![u32::MAX; hosts.len()], count as usize),
                    false => even(hosts.len(), count as usize),
                }
            }
        };
        places.into_iter().map(|place| hosts[place as usize].0).collect()
    }
}

/// Even shares of at least one rank.
fn even(hosts: usize, count: usize) -> Vec<u32> {
    let used = count.min(hosts);
    (0..count).map(|rank| (rank * used / count) as u32).collect()
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
        Spread { slots: slots.to_vec(), per_host, in_turn }.ranks(&[Wanted { count, hosts: None }])
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

    #[test]
    fn programs_share_the_slots_of_their_hosts() {
        type Hosts<'a> = &'a [(u32, Option<u32>)];
        let spread = |slots: &[Option<u32>], per_host, programs: &[(u32, Option<Hosts<'_>>)]| {
            let wanted =
                |&(count, hosts): &(u32, Option<&[_]>)| Wanted { count, hosts: hosts.map(<[_]>::to_vec) };
            let programs: Vec<Wanted> = programs.iter().map(wanted).collect();
            Spread { slots: slots.to_vec(), per_host, in_turn: false }.ranks(&programs)
        };
        let (first, second) = (&[(0, None)][..], &[(1, None)][..]);
        assert_eq!(spread(&[None; 2], None, &[(2, Some(second)), (1, Some(first))]), [1, 1, 0]);
        // Those without hosts of their own go where there is most room.
        assert_eq!(spread(&[None; 2], None, &[(1, Some(first)), (1, None)]), [0, 1]);
        assert_eq!(spread(&[None; 2], None, &[(1, None), (2, Some(second)), (1, None)]), [0, 1, 1, 0]);
        let slots = [Some(2), Some(2)];
        let first = &[(0, Some(2))][..];
        assert_eq!(spread(&slots, None, &[(1, Some(first)), (3, None)]), [0, 0, 1, 1]);
        assert_eq!(spread(&slots, None, &[(3, Some(first)), (2, None)]), [0, 0, 0, 1, 1]);
        assert_eq!(spread(&[None; 3], Some(1), &[(1, Some(first)), (2, None)]), [0, 1, 2]);
        let halves = [(0, Some(2))];
        assert_eq!(spread(&[Some(4)], None, &[(2, Some(&halves)), (2, Some(&halves))]), [0, 0, 0, 0]);
    }
}
