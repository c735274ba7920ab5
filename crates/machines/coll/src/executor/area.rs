//! The shared area of each node, as [`crate::shared`] specifies it, over plain vectors.

use crate::port::Base;
use crate::schedule::Slot;
use crate::shared::{BOUNCE_BUFFERS, BOUNCE_BYTES, DEPTH, PAYLOAD, SLOT_PAYLOAD};

#[derive(Clone, Default)]
struct SlotState {
    epoch: u64,
    payload: Vec<u8>,
    /// Where each part of the payload ends, if it has parts.
    ends: Vec<usize>,
    exposed: Option<(usize, Base, i64)>,
}

struct Node {
    ranks: Vec<usize>,
    /// `ranks.len() + 1` groups of `DEPTH` slots; the last group is the release flag's.
    slots: Vec<SlotState>,
    arrived: [usize; DEPTH],
    /// Last epoch each rank retired.
    retired: Vec<u64>,
    bounce_buffers: Vec<Vec<u8>>,
}

/// The shared areas of all nodes.
pub struct Area {
    nodes: Vec<Node>,
    place: Vec<(u32, u32)>,
}

impl Area {
    /// Areas for ranks distributed over nodes.
    pub fn new(node_of: &[u32]) -> Area {
        let count = node_of.iter().max().map_or(0, |&n| n as usize + 1);
        let mut place = Vec::new();
        let mut ranks: Vec<Vec<usize>> = vec![vec![]; count];
        for (rank, &node) in node_of.iter().enumerate() {
            place.push((node, ranks[node as usize].len() as u32));
            ranks[node as usize].push(rank);
        }
        let nodes = ranks.into_iter().map(|ranks| {
            let n = ranks.len();
            Node {
                ranks,
                slots: vec![SlotState::default(); (n + 1) * DEPTH],
                arrived: [0; DEPTH],
                retired: vec![0; n],
                bounce_buffers: vec![vec![]; n * BOUNCE_BUFFERS],
            }
        });
        Area { nodes: nodes.collect(), place }
    }

    pub(super) fn index_of(&self, rank: usize) -> u32 {
        self.place[rank].1
    }

    fn of(&mut self, rank: usize) -> (&mut Node, usize) {
        let (node, index) = self.place[rank];
        (&mut self.nodes[node as usize], index as usize)
    }

    pub(super) fn publish(&mut self, rank: usize, slot: Slot, epoch: u64, payload: &[u8]) -> bool {
        let most = if slot == Slot::Flag { SLOT_PAYLOAD } else { PAYLOAD };
        assert!(payload.len() <= most, "{} bytes in a slot", payload.len());
        if payload.len() > SLOT_PAYLOAD && !self.claim(rank, epoch) {
            return false;
        }
        self.put(rank, slot, epoch, SlotState { epoch, payload: payload.to_vec(), ..SlotState::default() })
    }

    pub(super) fn publish_parts(&mut self, rank: usize, epoch: u64, parts: &[Vec<u8>]) -> bool {
        let published = self.publish(rank, Slot::Of(self.index_of(rank)), epoch, &parts.concat());
        let (node, index) = self.of(rank);
        if published {
            let lengths = parts.iter().map(Vec::len);
            let ends = lengths.scan(0, |end, len| Some(std::mem::replace(end, *end + len) + len));
            node.slots[index * DEPTH + epoch as usize % DEPTH].ends = ends.collect();
        }
        published
    }

    /// The part for `rank` of a slot.
    pub(super) fn observe_part(&self, rank: usize, owner: u32, epoch: u64) -> Option<Vec<u8>> {
        let (node, index) = self.place[rank];
        let payload = self.observe(node, Slot::Of(owner), epoch)?;
        let ends = &self.slot(node, Slot::Of(owner), epoch).ends;
        let start = if index == 0 { 0 } else { ends[index as usize - 1] };
        Some(payload[start..ends[index as usize]].to_vec())
    }

    /// Ranks on the node of `rank`.
    pub(super) fn ranks_beside(&self, rank: usize) -> usize {
        self.nodes[self.place[rank].0 as usize].ranks.len()
    }

    pub(super) fn expose(&mut self, rank: usize, epoch: u64, base: Base, offset: i64) -> bool {
        let own = Slot::Of(self.index_of(rank));
        let state = SlotState { epoch, exposed: Some((rank, base, offset)), ..SlotState::default() };
        self.put(rank, own, epoch, state)
    }

    fn put(&mut self, rank: usize, slot: Slot, epoch: u64, state: SlotState) -> bool {
        let (node, index) = self.of(rank);
        if node.retired.iter().any(|&r| r + (DEPTH as u64) < epoch) {
            return false;
        }
        let who = match slot {
            Slot::Of(i) => {
                assert_eq!(i as usize, index, "a rank writes only its own slot");
                index
            }
            Slot::Flag => node.ranks.len(),
        };
        let slot = &mut node.slots[who * DEPTH + epoch as usize % DEPTH];
        assert!(slot.epoch < epoch, "a slot is written once an epoch");
        *slot = state;
        true
    }

    fn slot(&self, node: u32, slot: Slot, epoch: u64) -> &SlotState {
        let node = &self.nodes[node as usize];
        let who = match slot {
            Slot::Of(i) => i as usize,
            Slot::Flag => node.ranks.len(),
        };
        &node.slots[who * DEPTH + epoch as usize % DEPTH]
    }

    pub(super) fn observe(&self, node: u32, slot: Slot, epoch: u64) -> Option<Vec<u8>> {
        let state = self.slot(node, slot, epoch);
        assert!(state.epoch <= epoch, "a slot was overwritten before it was read");
        (state.epoch == epoch).then(|| state.payload.clone())
    }

    pub(super) fn exposed(&self, node: u32, owner: u32, epoch: u64) -> (usize, Base, i64) {
        let state = self.slot(node, Slot::Of(owner), epoch);
        assert_eq!(state.epoch, epoch, "the exposing slot was observed before");
        state.exposed.expect("a buffer was exposed in this slot")
    }

    pub(super) fn arrive(&mut self, rank: usize, epoch: u64) -> bool {
        let (node, _) = self.of(rank);
        let counter = &mut node.arrived[epoch as usize % DEPTH];
        *counter += 1;
        let last = *counter == node.ranks.len();
        if last {
            *counter = 0;
        }
        last
    }

    pub(super) fn retire(&mut self, rank: usize, epoch: u64) {
        let (node, index) = self.of(rank);
        assert!(node.retired[index] <= epoch, "epochs are retired in order");
        node.retired[index] = epoch;
    }

    pub(super) fn claim(&mut self, rank: usize, epoch: u64) -> bool {
        let (node, index) = self.of(rank);
        let free = node.retired.iter().all(|&r| r + BOUNCE_BUFFERS as u64 >= epoch);
        if free {
            node.bounce_buffers[index * BOUNCE_BUFFERS + epoch as usize % BOUNCE_BUFFERS] =
                vec![0xC3; BOUNCE_BYTES];
        }
        free
    }

    pub(super) fn bounce(&self, node: u32, owner: u32, epoch: u64) -> &[u8] {
        &self.nodes[node as usize].bounce_buffers
            [owner as usize * BOUNCE_BUFFERS + epoch as usize % BOUNCE_BUFFERS]
    }

    pub(super) fn bounce_mut(&mut self, node: u32, owner: u32, epoch: u64) -> &mut [u8] {
        &mut self.nodes[node as usize].bounce_buffers
            [owner as usize * BOUNCE_BUFFERS + epoch as usize % BOUNCE_BUFFERS]
    }
}
