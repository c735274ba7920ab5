//! Ordered messages between virtual ranks.

use super::memory::Memory;
use crate::port::Region;
use std::collections::{HashMap, HashSet, VecDeque};

enum Payload {
    /// The data left the sender already.
    Eager(Vec<u8>),
    /// The data is read when a receive matches, and the send completes then.
    Rendezvous { region: Region, op: u64 },
}

/// Sender, receiver, and the number of the call: messages of different calls do not match.
pub(super) type Channel = (usize, usize, usize);

/// Per channel: sends without receive, or receives without send.
#[derive(Default)]
struct Pair {
    sends: VecDeque<Payload>,
    recvs: VecDeque<(Region, u64)>,
}

/// All messages under way.
pub struct Network {
    ranks: usize,
    pairs: HashMap<Channel, Pair>,
    complete: HashSet<u64>,
    next: u64,
    /// Counts starts and matches, so that a standstill is seen.
    pub(super) events: u64,
}

impl Network {
    /// An empty network of `ranks` ranks.
    pub fn new(ranks: usize) -> Network {
        Network { ranks, pairs: HashMap::new(), complete: HashSet::new(), next: 0, events: 0 }
    }

    pub(super) fn send(
        &mut self,
        memories: &mut [Memory],
        channel: Channel,
        region: &Region,
        eager: bool,
    ) -> Option<u64> {
        let (from, to, _) = channel;
        assert!(to < self.ranks, "rank {from} sends to {to} of {}", self.ranks);
        self.events += 1;
        let pair = self.pairs.entry(channel).or_default();
        if let Some((place, recv)) = pair.recvs.pop_front() {
            let data = memories[from].pack(region);
            memories[to].unpack(&place, &data);
            self.complete.insert(recv);
            return None;
        }
        if eager {
            let data = memories[from].pack(region);
            pair.sends.push_back(Payload::Eager(data));
            return None;
        }
        self.next += 1;
        pair.sends.push_back(Payload::Rendezvous { region: *region, op: self.next });
        Some(self.next)
    }

    pub(super) fn recv(&mut self, memories: &mut [Memory], channel: Channel, region: &Region) -> Option<u64> {
        let (from, to, _) = channel;
        assert!(from < self.ranks, "rank {to} receives from {from} of {}", self.ranks);
        self.events += 1;
        let pair = self.pairs.entry(channel).or_default();
        let data = match pair.sends.pop_front() {
            Some(Payload::Eager(data)) => data,
            Some(Payload::Rendezvous { region, op }) => {
                self.complete.insert(op);
                memories[from].pack(&region)
            }
            None => {
                let poison = vec![0xA5; memories[to].pack(region).len()];
                memories[to].unpack(region, &poison);
                self.next += 1;
                pair.recvs.push_back((*region, self.next));
                return Some(self.next);
            }
        };
        memories[to].unpack(region, &data);
        None
    }

    pub(super) fn test(&mut self, op: u64) -> bool {
        self.complete.remove(&op)
    }

    /// A pair with a message or a receive that found no counterpart.
    pub fn left_over(&self) -> Option<(usize, usize)> {
        let mut open = self.pairs.iter().filter(|(_, p)| !p.sends.is_empty() || !p.recvs.is_empty());
        open.next().map(|(&(from, to, _), _)| (from, to))
    }
}
