//! Runs schedules for any number of virtual ranks in one process, with byte-accurate buffers and random
//! interleavings.
//!
//! Tests compare the result with a naive computation; a simulator uses the same parts with its own clock.
//! The network here is as unfriendly as the standard allows: a send completes when it likes (some at once,
//! some only when matched), received memory is poisoned until the message arrives and all memory when the
//! call is over, ranks are advanced in random order and some are slow.

mod area;
mod memory;
mod network;

pub use area::Area;
pub use memory::{Block, Buffer, Memory, Type};
pub use network::Network;

use crate::execution::{Execution, Shape, State};
use crate::port::{Base, Port, Region, Side, Ty};
use crate::schedule::{Peer, Schedule, Slot, Wake};
use crate::shared::part_limit;
use abi::Result;
use chance::Rng;
use std::collections::VecDeque;
use std::sync::Arc;

/// A reduction on packed elements: `right = left op right`.
pub type OpFn = dyn Fn(&[u8], &mut [u8]);

/// One virtual rank's part in a collective call.
pub struct Call {
    /// What it runs.
    pub schedule: Arc<Schedule>,
    /// Counts and types.
    pub shape: Shape,
    /// Irregular block counts, in elements.
    pub irregular: Vec<u64>,
    /// Its buffers.
    pub memory: Memory,
}

/// A set of virtual ranks in the middle of one or more collective calls.
pub struct VirtualRanks<'a> {
    /// What is still to be called, per rank.
    ahead: Vec<VecDeque<Call>>,
    /// Results of the calls that are done, per rank.
    results: Vec<Vec<Memory>>,
    executions: Vec<Execution<u64>>,
    memories: Vec<Memory>,
    epochs: Vec<u64>,
    done: Vec<bool>,
    network: Network,
    area: Area,
    node_of: Vec<u32>,
    /// Ranks of the first group; the rest form the other group of an inter-communicator.
    first_group: usize,
    op: &'a OpFn,
    user_op: bool,
    random: Rng,
}

impl<'a> VirtualRanks<'a> {
    /// Starts the first of perhaps several `calls`, one per rank; those from `first_group` on belong to the
    /// other group of an inter-communicator. `node_of` gives which ranks share memory (all on one node if
    /// empty). `op` serves every reduction; with `user_op` it is called the way a user's function is.
    pub fn new(
        calls: Vec<Call>,
        first_group: usize,
        node_of: &[u32],
        op: &'a OpFn,
        user_op: bool,
        seed: u64,
    ) -> Result<VirtualRanks<'a>> {
        let n = calls.len();
        let node_of = if node_of.is_empty() { vec![0; n] } else { node_of.to_vec() };
        let nothing = Type::contiguous(1);
        let mut world = VirtualRanks {
            ahead: calls.into_iter().map(|call| VecDeque::from([call])).collect(),
            results: vec![vec![]; n],
            executions: (0..n).map(|_| Execution::new()).collect(),
            memories: vec![Memory::new(Buffer::default(), nothing, Buffer::default(), nothing); n],
            epochs: vec![1; n],
            done: vec![false; n],
            network: Network::new(n),
            area: Area::new(&node_of),
            node_of,
            first_group,
            op,
            user_op,
            random: Rng::new(seed),
        };
        for rank in 0..n {
            world.start_next(rank)?;
        }
        Ok(world)
    }

    /// Another call that each rank makes as soon as it is done with those before.
    pub fn then(mut self, calls: Vec<Call>) -> VirtualRanks<'a> {
        for (queue, call) in self.ahead.iter_mut().zip(calls) {
            queue.push_back(call);
        }
        self
    }

    /// Starts a rank's next call; false if there is none.
    fn start_next(&mut self, rank: usize) -> Result<bool> {
        let Some(call) = self.ahead[rank].pop_front() else { return Ok(false) };
        let epoch = self.epochs[rank];
        self.epochs[rank] += u64::from(call.schedule.rounds());
        let execution = &mut self.executions[rank];
        execution.start(&call.schedule, &call.shape, call.irregular.into_iter(), epoch, self.user_op)?;
        self.memories[rank] = call.memory;
        self.memories[rank].arena = vec![0xEE; execution.arena_bytes()];
        Ok(true)
    }

    /// Runs all ranks to the end and hands back the memories of the last call.
    pub fn run(self) -> core::result::Result<Vec<Memory>, String> {
        Ok(self.run_all()?.into_iter().filter_map(|mut calls| calls.pop()).collect())
    }

    /// Runs all ranks to the end and hands back each rank's memories, call by call. Fails with a
    /// description if no rank can go on, a port call fails, or a message is left over.
    pub fn run_all(mut self) -> core::result::Result<Vec<Vec<Memory>>, String> {
        let n = self.executions.len();
        let mut order: Vec<usize> = (0..n).collect();
        // Some ranks are slow: others run ahead of them as far as they can.
        let slowness: Vec<u64> = (0..n).map(|_| 1 << (2 * self.random.below(4))).collect();
        while self.done.iter().any(|d| !d) {
            self.random.shuffle(&mut order);
            if !self.pass(&order, &slowness)? && !self.pass(&order, &vec![1; n])? {
                return Err(self.describe_deadlock());
            }
        }
        match self.network.left_over() {
            None => Ok(self.results),
            Some((from, to)) => Err(format!("a message from {from} to {to} was never received")),
        }
    }

    /// Advances each rank with one chance in its slowness; returns whether anything happened.
    fn pass(&mut self, order: &[usize], slowness: &[u64]) -> core::result::Result<bool, String> {
        let mut moved = false;
        for &rank in order {
            if !self.done[rank] && self.random.below(slowness[rank]) == 0 {
                moved |= self.advance(rank)?;
            }
        }
        Ok(moved)
    }

    /// Advances one rank; returns whether anything happened.
    fn advance(&mut self, rank: usize) -> core::result::Result<bool, String> {
        let before = (self.executions[rank].position(), self.network.events);
        loop {
            let mut port = RankPort {
                rank,
                memories: &mut self.memories,
                network: &mut self.network,
                area: &mut self.area,
                node_of: &self.node_of,
                call: self.results[rank].len(),
                first_group: self.first_group,
                op: self.op,
                random: &mut self.random,
            };
            match self.executions[rank].advance(&mut port) {
                State::Done => {
                    self.results[rank].push(self.memories[rank].clone());
                    // From now on the caller may do with its buffers what it likes.
                    self.memories[rank].scribble();
                    self.done[rank] = !self.start_next(rank).map_err(|e| e.to_string())?;
                    return Ok(true);
                }
                State::Pending => {
                    return Ok(before != (self.executions[rank].position(), self.network.events));
                }
                State::UserReduce { left, inout } => {
                    if !self.user_op {
                        return Err(format!("rank {rank}: a user reduction that is not one"));
                    }
                    port.reduce(&inout, &left, &inout).map_err(|e| e.to_string())?;
                    self.executions[rank].reduced();
                }
                State::Failed(error) => return Err(format!("rank {rank}: {error}")),
            }
        }
    }

    fn describe_deadlock(&self) -> String {
        let waiting = self.executions.iter().zip(&self.done).enumerate().filter(|(_, (_, done))| !**done);
        let slots: Vec<String> = waiting.map(|(r, (e, _))| format!("rank {r}: {:?}", e.waiting())).collect();
        format!("deadlock:\n{}", slots.join("\n"))
    }
}

/// The port of one virtual rank.
struct RankPort<'w> {
    rank: usize,
    memories: &'w mut [Memory],
    network: &'w mut Network,
    area: &'w mut Area,
    node_of: &'w [u32],
    /// Number of the call, which its messages carry.
    call: usize,
    first_group: usize,
    op: &'w OpFn,
    random: &'w mut Rng,
}

impl RankPort<'_> {
    /// Index in the world of a peer.
    fn world_index(&self, peer: Peer) -> usize {
        let inter = self.first_group < self.memories.len();
        let in_second = inter && ((self.rank >= self.first_group) == peer.is_local());
        let start = if in_second { self.first_group } else { 0 };
        start + peer.index() as usize
    }

    fn read(&self, region: &Region) -> Vec<u8> {
        match *region {
            Region::Span { base: Base::Bounce { owner, epoch }, offset, count, ty } => {
                let size = self.memories[self.rank].type_of(ty).size;
                let bounce = self.area.bounce(self.node(), owner, epoch);
                bounce[offset as usize..][..count as usize * size].to_vec()
            }
            Region::Piece { side, index, offset, bytes } => {
                let block = self.read(&Region::Block { side, index });
                block[offset as usize..][..bytes as usize].to_vec()
            }
            _ => self.memories[self.rank].pack(region),
        }
    }

    fn write(&mut self, region: &Region, data: &[u8]) {
        match *region {
            Region::Span { base: Base::Bounce { owner, epoch }, offset, .. } => {
                assert_eq!(owner, self.area.index_of(self.rank), "a rank writes only its own bounce buffers");
                let node = self.node();
                self.area.bounce_mut(node, owner, epoch)[offset as usize..][..data.len()]
                    .copy_from_slice(data);
            }
            Region::Piece { side, index, offset, .. } => {
                let block = Region::Block { side, index };
                let mut whole = self.read(&block);
                whole[offset as usize..][..data.len()].copy_from_slice(data);
                self.write(&block, &whole);
            }
            _ => self.memories[self.rank].unpack(region, data),
        }
    }

    fn node(&self) -> u32 {
        self.node_of[self.rank]
    }
}

impl Port for RankPort<'_> {
    type Op = u64;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<u64>> {
        let to = self.world_index(peer);
        let eager = self.random.coin();
        Ok(self.network.send(self.memories, (self.rank, to, self.call), from, eager))
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<u64>> {
        let from = self.world_index(peer);
        Ok(self.network.recv(self.memories, (from, self.rank, self.call), into))
    }

    fn test(&mut self, op: u64) -> Result<bool> {
        Ok(self.network.test(op))
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        let data = self.read(from);
        self.write(into, &data);
        Ok(())
    }

    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()> {
        let left = self.read(left);
        let mut right = self.read(right);
        assert_eq!(left.len(), right.len(), "operands of one size");
        let size = self.memories[self.rank].recv_type.size;
        for (l, r) in left.chunks(size).zip(right.chunks_mut(size)) {
            (self.op)(l, r);
        }
        self.write(into, &right);
        Ok(())
    }

    fn block_bytes(&self, side: Side, index: u32) -> u64 {
        self.memories[self.rank].block(side, index).bytes() as u64
    }

    fn publish(&mut self, slot: Slot, epoch: u64, from: &Region, _: Wake) -> Result<bool> {
        let payload = self.read(from);
        Ok(self.area.publish(self.rank, slot, epoch, &payload))
    }

    fn observe(&mut self, slot: Slot, epoch: u64, into: &Region) -> Result<bool> {
        let node = self.node();
        let Some(payload) = self.area.observe(node, slot, epoch) else { return Ok(false) };
        if !matches!(into, Region::Empty) {
            self.write(into, &payload);
        }
        Ok(true)
    }

    fn publish_parts(&mut self, epoch: u64, side: Side, limit: u32, _: Wake) -> Result<bool> {
        assert!(limit <= part_limit(self.area.ranks_beside(self.rank) as u32), "all parts fit a slot");
        let part = |index| match self.block_bytes(side, index) {
            bytes if bytes > u64::from(limit) || index == self.area.index_of(self.rank) => vec![],
            _ => self.read(&Region::Block { side, index }),
        };
        let parts: Vec<_> = (0..self.area.ranks_beside(self.rank) as u32).map(part).collect();
        Ok(self.area.publish_parts(self.rank, epoch, &parts))
    }

    fn observe_part(&mut self, owner: u32, epoch: u64, into: &Region) -> Result<bool> {
        let Some(part) = self.area.observe_part(self.rank, owner, epoch) else { return Ok(false) };
        assert_eq!(part.len(), self.read(into).len(), "a part has the length that its reader expects");
        self.write(into, &part);
        Ok(true)
    }

    fn arrive(&mut self, epoch: u64) -> Result<bool> {
        Ok(self.area.arrive(self.rank, epoch))
    }

    fn retire(&mut self, epoch: u64) -> Result<()> {
        self.area.retire(self.rank, epoch);
        Ok(())
    }

    fn claim(&mut self, epoch: u64) -> Result<bool> {
        Ok(self.area.claim(self.rank, epoch))
    }

    fn expose(&mut self, epoch: u64, buf: &Region, _: Wake) -> Result<bool> {
        let (base, offset) = match *buf {
            Region::Span { base, offset, .. } => (base, offset),
            Region::Block { side, index } => {
                let base = if side == Side::Send { Base::Send } else { Base::Recv };
                (base, self.memories[self.rank].block(side, index).offset)
            }
            // An empty buffer, of which no rank reads.
            Region::Empty | Region::Piece { .. } => (Base::Arena, 0),
        };
        Ok(self.area.expose(self.rank, epoch, base, offset))
    }

    fn get(&mut self, owner: u32, epoch: u64, from: &Region, into: &Region) -> Result<()> {
        let (peer, base, start) = self.area.exposed(self.node(), owner, epoch);
        let remote = match *from {
            Region::Empty | Region::Piece { .. } => return Ok(()),
            Region::Span { ty, offset, count, .. } => {
                Region::Span { base, ty, offset: start + offset, count }
            }
            Region::Block { side, index } => {
                let count = self.block_bytes(side, index);
                Region::Span { base, ty: Ty::Byte, offset: start, count }
            }
        };
        let data = self.memories[peer].pack(&remote);
        self.write(into, &data);
        Ok(())
    }
}
