//! The port of a collective's schedule over a virtual rank's message layer and, where ranks of a node share memory, its area.

use crate::endpoint::Endpoint;
use abi::{Error, Result};
use coll::schedule::{Slot, Wake};
use coll::shared::SLOT_PAYLOAD;
use coll::{Base, Execution, Peer, Port, Region, Side, State, Ty};
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

/// What a schedule needs of the rank that it runs on.
pub(crate) trait Member {
    /// Starts to send, in a context. `None`: already complete.
    fn isend(&mut self, context: u32, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>>;

    /// Starts to receive, in a context.
    fn irecv(&mut self, context: u32, from: u32, tag: i32, into: UserMem) -> Result<ReqId>;

    /// Whether a request is complete; its name is free then.
    fn take(&mut self, id: ReqId) -> Result<bool>;

    /// The rank has copied so many bytes.
    fn copies(&self, bytes: usize);

    /// The rank, if its node may have an area.
    fn on_node(&mut self) -> Option<&mut Endpoint> {
        None
    }
}

impl Member for Endpoint {
    fn isend(&mut self, context: u32, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        self.isend_in(context, to, tag, from)
    }

    fn irecv(&mut self, context: u32, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        self.irecv_in(context, Some(from), tag, into)
    }

    fn take(&mut self, id: ReqId) -> Result<bool> {
        Ok(Endpoint::take(self, id))
    }

    fn copies(&self, bytes: usize) {
        Endpoint::copies(self, bytes);
    }

    fn on_node(&mut self) -> Option<&mut Endpoint> {
        Some(self)
    }
}

/// One call's messages and memory.
pub(crate) struct RankPort<'a, M> {
    pub(crate) rank: &'a mut M,
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

impl<M: Member> RankPort<'_, M> {
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
                self.on_node()?.area()?.payload(Owner::Member(owner as usize), epoch, 0, true)
            }
            _ => UserMem::EMPTY,
        };
        Ok(whole.part(offset as usize, bytes))
    }

    /// The rank, for what its node's memory has.
    fn on_node(&mut self) -> Result<&mut Endpoint> {
        self.rank.on_node().ok_or(NO_AREA)
    }
}

/// What a rank does in its node's area.
impl Endpoint {
    fn area(&mut self) -> Result<&mut NodeArea> {
        self.btl.node.as_mut().and_then(|node| node.area.as_deref_mut()).ok_or(NO_AREA)
    }

    fn published(&self, owner: Owner, epoch: u64, wake: Wake) {
        if let Some(node) = &self.btl.node {
            node.published(owner, epoch, wake, self.now());
        }
    }

    /// Whether there is room for a line with so many bytes; if not, this rank is woken when there may be.
    fn has_room(&mut self, epoch: u64, bytes: usize) -> Result<bool> {
        let area = self.area()?;
        let room = (bytes <= SLOT_PAYLOAD || area.has_bounce(epoch))
            && area.has_room(epoch, if bytes > SLOT_PAYLOAD { 0 } else { bytes });
        if let (false, Some(node)) = (room, &self.btl.node) {
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

impl<M: Member> Port for RankPort<'_, M> {
    type Op = ReqId;

    fn isend(&mut self, peer: Peer, from: &Region) -> Result<Option<ReqId>> {
        let from = self.memory(from)?;
        self.rank.isend(self.context, self.group.rank(peer), self.tag, from)
    }

    fn irecv(&mut self, peer: Peer, into: &Region) -> Result<Option<ReqId>> {
        let into = self.memory(into)?;
        self.rank.irecv(self.context, self.group.rank(peer), self.tag, into).map(Some)
    }

    fn test(&mut self, op: ReqId) -> Result<bool> {
        self.rank.take(op)
    }

    fn copy(&mut self, into: &Region, from: &Region) -> Result<()> {
        let (from, into) = (self.memory(from)?, self.memory(into)?);
        from.copy_to(into);
        self.rank.copies(from.len());
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
        self.rank.copies(bytes.len());
        Ok(())
    }

    fn block_bytes(&self, _side: Side, _index: u32) -> u64 {
        0
    }

    fn publish(&mut self, line: Slot, epoch: u64, from: &Region, wake: Wake) -> Result<bool> {
        let from = self.memory(from)?;
        let rank = self.on_node()?;
        if !rank.has_room(epoch, from.len())? {
            return Ok(false);
        }
        let area = rank.area()?;
        let owner = match line {
            Slot::Of(_) => area.own(),
            Slot::Flag => Owner::Flag,
        };
        from.copy_to(area.payload(owner, epoch, from.len(), from.len() > SLOT_PAYLOAD));
        rank.copies(from.len());
        rank.announce(owner, epoch, &[], wake)?;
        Ok(true)
    }

    fn observe(&mut self, line: Slot, epoch: u64, into: &Region) -> Result<bool> {
        let into = self.memory(into)?;
        let owner = match line {
            Slot::Of(member) => Owner::Member(member as usize),
            Slot::Flag => Owner::Flag,
        };
        let rank = self.on_node()?;
        let area = rank.area()?;
        if !area.slots().carries(owner, epoch) {
            return Ok(false);
        }
        area.payload(owner, epoch, into.len(), into.len() > SLOT_PAYLOAD).part(0, into.len()).copy_to(into);
        let mut line = 0.0;
        let costs = *rank.btl.costs();
        if let Some(node) = &rank.btl.node {
            line = node.line_from(owner, &costs);
            rank.sleep_until(node.readable_at(owner, epoch, &costs));
        }
        rank.btl.spend(line + into.len() as f64 / costs.copy_rate);
        Ok(true)
    }

    fn arrive(&mut self, epoch: u64) -> Result<bool> {
        let rank = self.on_node()?;
        rank.btl.spend(rank.btl.costs().line);
        let last = rank.area()?.slots().arrive(epoch);
        let now = rank.now();
        if let Some(node) = &rank.btl.node {
            let latest = node.arrived(epoch, now, rank.btl.costs());
            if last {
                rank.sleep_until(latest);
            }
        }
        Ok(last)
    }

    fn retire(&mut self, epoch: u64) -> Result<()> {
        let rank = self.on_node()?;
        rank.area()?.retire(epoch);
        if let Some(node) = &rank.btl.node {
            node.retired(rank.now());
        }
        Ok(())
    }

    fn claim(&mut self, epoch: u64) -> Result<bool> {
        let rank = self.on_node()?;
        let free = rank.area()?.has_bounce(epoch);
        if let (false, Some(node)) = (free, &rank.btl.node) {
            node.wants_line();
        }
        Ok(free)
    }

    fn expose(&mut self, epoch: u64, buf: &Region, wake: Wake) -> Result<bool> {
        let memory = self.memory(buf)?;
        let rank = self.on_node()?;
        if !rank.has_room(epoch, 0)? {
            return Ok(false);
        }
        let own = rank.area()?.own();
        rank.announce(own, epoch, &[memory.address() as u64, memory.len() as u64], wake)?;
        Ok(true)
    }

    fn get(&mut self, owner: u32, epoch: u64, from: &Region, into: &Region) -> Result<()> {
        let (offset, into) = (self.places.part(from)?.offset, self.memory(into)?);
        let mut words = [0; 2];
        let rank = self.on_node()?;
        let area = rank.area()?;
        area.slots().observe(Owner::Member(owner as usize), epoch, &mut words);
        let refused = |_| Error::new(abi::ERR_OTHER, "a virtual rank's memory cannot be read");
        area.node().read(btl::Peer(owner), words[0] + offset, into).map_err(refused)?;
        let costs = rank.btl.costs();
        rank.btl.spend(costs.single_copy + into.len() as f64 / costs.copy_rate);
        Ok(())
    }
}
