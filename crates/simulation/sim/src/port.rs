//! The port of a collective's schedule over a virtual rank's message layer and its node's area.

use crate::endpoint::Endpoint;
use abi::{Error, Result};
use coll::schedule::{Slot, Wake};
use coll::shared::SLOT_PAYLOAD;
use coll::{Base, Execution, Peer, Port, Region, Side, State, Ty};
use gni::Time;
use mem::{PeerBytes, UserMem};
use node::NodeArea;
use pml::ReqId;
use shm::area::Owner;

/// Where a call's buffers are. Elements lie side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) send: UserMem,
    pub(crate) recv: UserMem,
    pub(crate) arena: UserMem,
    /// Bytes of an element.
    pub(crate) element: usize,
}

/// One call's messages and memory.
pub(crate) struct RankPort<'a> {
    pub(crate) end: &'a mut Endpoint,
    pub(crate) places: Places,
    /// Of all its messages.
    pub(crate) context: u32,
    pub(crate) tag: i32,
    pub(crate) group: Group<'a>,
}

/// Which ranks those are that a schedule names.
#[derive(Clone, Copy)]
pub(crate) enum Group<'a> {
    /// They have all this much more.
    Shifted(u32),
    /// These, by number.
    Listed(&'a [u32]),
}

impl Group<'_> {
    fn rank(&self, peer: Peer) -> u32 {
        match self {
            Group::Shifted(shift) => peer.index() + shift,
            Group::Listed(ranks) => ranks[peer.index() as usize],
        }
    }
}

const NO_BLOCKS: Error = Error::new(abi::ERR_INTERN, "a virtual rank has no blocks");
const NO_AREA: Error = Error::new(abi::ERR_INTERN, "the ranks of a node share no memory");

/// The arguments of a call, or, for what is read from another rank's buffer, which part of it.
struct Part {
    offset: u64,
    bytes: usize,
}

impl Places {
    fn part(&self, region: &Region) -> Result<Part> {
        match *region {
            Region::Empty => Ok(Part { offset: 0, bytes: 0 }),
            Region::Span { ty, offset, count, .. } => {
                let element = if ty == Ty::Byte { 1 } else { self.element };
                Ok(Part { offset: offset as u64, bytes: count as usize * element })
            }
            Region::Block { .. } | Region::Piece { .. } => Err(NO_BLOCKS),
        }
    }
}

impl RankPort<'_> {
    /// Goes on with a call; whether it is over.
    pub(crate) fn advance(&mut self, execution: &mut Execution<ReqId>) -> Result<bool> {
        match execution.advance(self) {
            State::Done => Ok(true),
            State::Failed(error) => Err(error),
            State::Pending | State::UserReduce { .. } => Ok(false),
        }
    }

    fn memory(&mut self, region: &Region) -> Result<UserMem> {
        let Part { offset, bytes } = self.places.part(region)?;
        let whole = match *region {
            Region::Span { base: Base::Send, .. } => self.places.send,
            Region::Span { base: Base::Recv, .. } => self.places.recv,
            Region::Span { base: Base::Arena, .. } => self.places.arena,
            Region::Span { base: Base::Bounce { owner, epoch }, .. } => {
                self.area()?.payload(Owner::Member(owner as usize), epoch, 0, true)
            }
            _ => UserMem::EMPTY,
        };
        Ok(whole.part(offset as usize, bytes))
    }

    fn area(&mut self) -> Result<&mut NodeArea> {
        self.end.btl.node.as_mut().and_then(|node| node.area.as_deref_mut()).ok_or(NO_AREA)
    }

    fn spend(&self, nanoseconds: f64) {
        self.end.btl.spend(nanoseconds);
    }

    fn copying(&self, bytes: usize) -> f64 {
        bytes as f64 / self.end.btl.costs().copy_rate
    }

    fn line(&self) -> f64 {
        self.end.btl.costs().line
    }

    fn now(&self) -> Time {
        self.end.now()
    }

    fn published(&self, owner: Owner, epoch: u64, wake: Wake) {
        if let Some(node) = &self.end.btl.node {
            node.published(owner, epoch, wake, self.now());
        }
    }

    /// Whether there is room for a line with so many bytes; if not, this rank is woken when there may be.
    fn has_room(&mut self, epoch: u64, bytes: usize) -> Result<bool> {
        let area = self.area()?;
        let room = (bytes <= SLOT_PAYLOAD || area.has_bounce(epoch))
            && area.has_room(epoch, if bytes > SLOT_PAYLOAD { 0 } else { bytes });
        if let (false, Some(node)) = (room, &self.end.btl.node) {
            node.wants_line();
        }
        Ok(room)
    }

    fn announce(&mut self, owner: Owner, epoch: u64, words: &[u64], wake: Wake) -> Result<()> {
        self.area()?.slots().publish(owner, epoch, words);
        self.published(owner, epoch, wake);
        Ok(())
    }
}

impl Port for RankPort<'_> {
    type Op = ReqId;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<ReqId>> {
        let from = self.memory(from)?;
        self.end.isend_in(self.context, self.group.rank(peer), self.tag, from)
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<ReqId>> {
        let into = self.memory(into)?;
        self.end.irecv_in(self.context, Some(self.group.rank(peer)), self.tag, into).map(Some)
    }

    fn test(&mut self, op: ReqId) -> Result<bool> {
        Ok(self.end.take(op))
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        let (from, into) = (self.memory(from)?, self.memory(into)?);
        from.copy_to(into);
        self.spend(self.copying(from.len()));
        Ok(())
    }

    /// Sums of 64-bit integers.
    fn reduce(&mut self, into: &Region, left: &Region, right: &Region) -> Result<()> {
        let (left, right) = (self.memory(left)?.as_bytes().to_vec(), self.memory(right)?);
        let right = right.as_bytes();
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let sums = left.chunks_exact(8).enumerate().map(|(at, left)| word(left).wrapping_add(right.word(at)));
        let bytes: Vec<u8> = sums.flat_map(u64::to_ne_bytes).collect();
        self.memory(into)?.write(PeerBytes::of(&bytes));
        self.spend(self.copying(bytes.len()));
        Ok(())
    }

    fn block_bytes(&self, _side: Side, _index: u32) -> u64 {
        0
    }

    fn publish(&mut self, line: Slot, epoch: u64, from: &Region, wake: Wake) -> Result<bool> {
        let from = self.memory(from)?;
        if !self.has_room(epoch, from.len())? {
            return Ok(false);
        }
        let area = self.area()?;
        let owner = match line {
            Slot::Of(_) => area.own(),
            Slot::Flag => Owner::Flag,
        };
        from.copy_to(area.payload(owner, epoch, from.len(), from.len() > SLOT_PAYLOAD));
        self.spend(self.copying(from.len()));
        self.announce(owner, epoch, &[], wake)?;
        Ok(true)
    }

    fn observe(&mut self, line: Slot, epoch: u64, into: &Region) -> Result<bool> {
        let into = self.memory(into)?;
        let owner = match line {
            Slot::Of(member) => Owner::Member(member as usize),
            Slot::Flag => Owner::Flag,
        };
        let area = self.area()?;
        if !area.slots().carries(owner, epoch) {
            return Ok(false);
        }
        area.payload(owner, epoch, into.len(), into.len() > SLOT_PAYLOAD).part(0, into.len()).copy_to(into);
        let mut line = 0.0;
        if let Some(node) = &self.end.btl.node {
            let costs = self.end.btl.costs();
            line = node.line_from(owner, costs);
            self.end.sleep_until(node.readable_at(owner, epoch, costs));
        }
        self.spend(line + self.copying(into.len()));
        Ok(true)
    }

    fn arrive(&mut self, epoch: u64) -> Result<bool> {
        self.spend(self.line());
        let last = self.area()?.slots().arrive(epoch);
        let now = self.now();
        if let Some(node) = &self.end.btl.node {
            let latest = node.arrived(epoch, now, self.end.btl.costs());
            if last {
                self.end.sleep_until(latest);
            }
        }
        Ok(last)
    }

    fn retire(&mut self, epoch: u64) -> Result<()> {
        self.area()?.retire(epoch);
        if let Some(node) = &self.end.btl.node {
            node.retired(self.now());
        }
        Ok(())
    }

    fn claim(&mut self, epoch: u64) -> Result<bool> {
        let free = self.area()?.has_bounce(epoch);
        if let (false, Some(node)) = (free, &self.end.btl.node) {
            node.wants_line();
        }
        Ok(free)
    }

    fn expose(&mut self, epoch: u64, buf: &Region, wake: Wake) -> Result<bool> {
        let memory = self.memory(buf)?;
        if !self.has_room(epoch, 0)? {
            return Ok(false);
        }
        let own = self.area()?.own();
        self.announce(own, epoch, &[memory.address() as u64, memory.len() as u64], wake)?;
        Ok(true)
    }

    fn get(&mut self, owner: u32, epoch: u64, from: &Region, into: &Region) -> Result<()> {
        let (offset, into) = (self.places.part(from)?.offset, self.memory(into)?);
        let mut words = [0; 2];
        let area = self.area()?;
        area.slots().observe(Owner::Member(owner as usize), epoch, &mut words);
        let refused = |_| Error::new(abi::ERR_OTHER, "a virtual rank's memory cannot be read");
        area.node().read(btl::Peer(owner), words[0] + offset, into).map_err(refused)?;
        self.spend(self.end.btl.costs().single_copy + self.copying(into.len()));
        Ok(())
    }
}
